/** `.ci/run`: the commands that it runs and the tests that it counts. Scripts stand in for npm, npx and Deno. */
import { expect } from "expect";
import { findProgram, testWith } from "../tools.ts";

const ROOT = `${import.meta.dirname}/../..`;

interface Outcome {
  readonly code: number;
  /** The last line of standard output. */
  readonly summary: string;
  /** The lines before the last one. */
  readonly failures: readonly string[];
  /** The Deno commands that `.ci/run` ran, in order. */
  readonly commands: readonly string[];
}

interface Installed {
  /** The path of the Deno executable below `node_modules/@deno/`. */
  readonly program?: string;
  /** The version of the newest Deno 2.x. */
  readonly newest?: string;
  /** Where the runtime base comes from. */
  readonly base?: string;
}

/** Runs `.ci/run` with a stand-in for Deno that runs the shell command `tests` instead of the tests. */
async function ci(
  tests: string,
  { program = "linux-x64-glibc/deno", newest = "2.99.0", base = "from Deno's download host" }: Installed = {},
): Promise<Outcome> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-ci-" });
  try {
    const write = (name: string, script: string): Promise<void> =>
      Deno.writeTextFile(`${directory}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await write(
      "deno",
      `[ "$*" != --version ] || { echo "deno ${newest} (stable)"; exit; }
      [ "$1" != eval ] || { echo "Runtime base: ${base}"; exit; }
      echo "$NAME $*" >>"${directory}/commands"
      case "$* " in *" test "* | "test "*) ${tests} ;; esac`,
    );
    await write("npx", `NAME=npx; export NAME; shift; exec "${directory}/deno" "$@"`);
    await write(
      "npm",
      `while [ "$1" != --prefix ]; do shift; done
      package=$2/node_modules/@deno/${program}
      mkdir -p "$(dirname "$package")" "$2/node_modules/@deno/deno"
      { echo "#!/bin/sh"; echo "NAME=$3; export NAME; exec '${directory}/deno' \\"\\$@\\""; } >"$package"
      chmod +x "$package"`,
    );
    // These stand-ins fail, so that `.ci/run` installs no programs on this machine.
    await Promise.all(["apt-get", "sudo"].map((name) => write(name, "exit 1")));
    await Promise.all([".ci", "tests"].map((name) => Deno.mkdir(`${directory}/project/${name}`, { recursive: true })));
    await Promise.all(
      [".ci/run", "README.md", "deno.json"].map((name) =>
        Deno.copyFile(`${ROOT}/${name}`, `${directory}/project/${name}`)
      ),
    );
    const { code, stdout } = await new Deno.Command(findProgram("bash") ?? "bash", {
      args: [`${directory}/project/.ci/run`],
      env: { PATH: `${directory}:${Deno.env.get("PATH")}`, TEST_WINDOWS_RUN: "" },
      stderr: "null",
    }).output();
    const commands = (await Deno.readTextFile(`${directory}/commands`)).trim().split("\n");
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    return { code, summary: lines.at(-1) ?? "", failures: lines.slice(0, -1), commands };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function testCi(rule: string, test: () => Promise<void>): void {
  testWith(["bash", "node"], `.ci/run ${rule}`, test);
}

/** The tests of the program on the oldest Deno. */
const OLDEST = expect.stringMatching(/^deno@2\.7\.14 task test --ignore=tests\/scripts\/,[\w/.,]+$/);

const PASSED = 'echo "ok | 20 passed | 0 failed | 3 ignored (1s)"';

testCi("leaves out only tests that exist on the oldest Deno", async () => {
  const { commands } = await ci(PASSED);
  const [, ignored = ""] = /--ignore=(\S+)$/.exec(commands.at(-1) ?? "") ?? [];
  await Promise.all(ignored.split(",").map((path) => Deno.stat(`${ROOT}/${path}`)));
});

for (const program of ["linux-x64-glibc/deno", "win32-x64/deno.exe"]) {
  testCi(
    `runs the tests with the README's command and on the newest and oldest Deno, installed as ${program}`,
    async () => {
      const { code, summary, commands } = await ci(PASSED, { program });
      // The checks run at the same time.
      expect([...commands.slice(0, 2).toSorted(), ...commands.slice(2)]).toEqual([
        "deno@2 task check",
        "deno@2.7.14 check --config tests/deno.json main.ts scripts tests",
        expect.stringMatching(/^npx deno@2\.\d+\.\d+ task test$/),
        "deno@2 task test",
        OLDEST,
      ]);
      expect({ code, summary }).toEqual({ code: 0, summary: "62 passed, 0 failed" });
    },
  );
}

testCi("does not repeat the tests on the newest Deno if the README's command uses that Deno", async () => {
  const [, version = ""] = /^npx -y deno@([\d.]+) task test$/m.exec(await Deno.readTextFile(`${ROOT}/README.md`)) ?? [];
  const { code, commands } = await ci(PASSED, { newest: version });
  expect(commands.slice(3)).toEqual([OLDEST]);
  expect(code).toBe(0);
});

testCi("attacks executables on the oldest Deno, unless their runtime base from npm was attacked before", async () => {
  const runs = await Promise.all([ci(PASSED), ci(PASSED, { base: "Deno 2.7.11, from npm" })]);
  expect(runs.map(({ commands }) => commands.at(-1)?.includes(",tests/faults/"))).toEqual([false, true]);
});

testCi("adds up the failed tests of all runs and fails", async () => {
  const { code, summary } = await ci('echo "FAILED | 5 passed (2 steps) | 2 failed (1s)"; exit 1');
  expect({ code, summary }).toEqual({ code: 1, summary: "17 passed, 6 failed" });
});

testCi("counts a test run that ends without a summary as a failure", async () => {
  const { code, summary } = await ci("exit 1");
  expect({ code, summary }).toEqual({ code: 1, summary: "2 passed, 3 failed" });
});

testCi("names the tests that failed at the end of its output", async () => {
  const { code, failures } = await ci(
    `printf '%s\\n' ' ERRORS ' '' 'a rule => ./tests/a_test.ts:12:8' 'error: Error: 1 is not 2' '    at line 3' '' \\
      ' FAILURES ' '' 'a rule => ./tests/a_test.ts:12:8' '' 'FAILED | 5 passed | 1 failed (1s)'
    exit 1`,
  );
  expect(code).toBe(1);
  expect(failures.slice(-3)).toEqual([
    "== the tests of the program on Deno 2.7.14: exit code 1",
    "a rule => ./tests/a_test.ts:12:8",
    "error: Error: 1 is not 2",
  ]);
});
