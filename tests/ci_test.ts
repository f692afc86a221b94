/** `.ci/run`: what it runs and how it adds up, with programs in place of npm and Deno that only say that they ran. */
import { expect } from "expect";
import { testWith } from "./tools.ts";

const ROOT = `${import.meta.dirname}/..`;

interface Ran {
  readonly code: number;
  /** The last line. */
  readonly summary: string;
  /** What it ran, in that order. */
  readonly commands: readonly string[];
}

/**
 * Runs it where `npm install` makes a Deno that says `tests` when it is told to test.
 *
 * @param deno what npm has the program as, in its package
 */
async function ci(tests: string, deno: string): Promise<Ran> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-ci-" });
  try {
    const write = (name: string, script: string): Promise<void> =>
      Deno.writeTextFile(`${directory}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await write("deno", `echo "$NAME $*" >>"${directory}/commands"; case $* in *" test") ${tests} ;; esac`);
    await write("npx", `NAME=npx; export NAME; shift; exec "${directory}/deno" "$@"`);
    await write(
      "npm",
      `while [ "$1" != --prefix ]; do shift; done
      package=$2/node_modules/@deno/${deno}
      mkdir -p "$(dirname "$package")" "$2/node_modules/@deno/deno"
      { echo "#!/bin/sh"; echo "NAME=$3; export NAME; exec '${directory}/deno' \\"\\$@\\""; } >"$package"
      chmod +x "$package"`,
    );
    // It would install what tests use, where that is not.
    await Promise.all(["apt-get", "sudo"].map((name) => write(name, "exit 1")));
    await Deno.mkdir(`${directory}/project/.ci`, { recursive: true });
    await Deno.copyFile(`${ROOT}/.ci/run`, `${directory}/project/.ci/run`);
    await Deno.copyFile(`${ROOT}/README.md`, `${directory}/project/README.md`);
    const { code, stdout } = await new Deno.Command("bash", {
      args: [`${directory}/project/.ci/run`],
      env: { PATH: `${directory}:${Deno.env.get("PATH")}` },
      stderr: "null",
    }).output();
    const commands = (await Deno.readTextFile(`${directory}/commands`)).trim().split("\n");
    return { code, summary: new TextDecoder().decode(stdout).trim().split("\n").at(-1) ?? "", commands };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function testCi(what: string, test: () => Promise<void>): void {
  testWith(["bash"], `.ci/run ${what}`, test);
}

for (const deno of ["linux-x64-glibc/deno", "win32-x64/deno.exe"]) {
  testCi(`runs the README's test command, checks, and tests on two versions of Deno, here as ${deno}`, async () => {
    const { code, summary, commands } = await ci('echo "ok | 20 passed | 0 failed | 3 ignored (1s)"', deno);
    expect(commands).toEqual([
      expect.stringMatching(/^npx deno@2\.\d+\.\d+ task test$/),
      "deno@2 task check",
      "deno@2 task test",
      "deno@2.7.14 task test",
      "deno@2.7.14 check main.ts scripts tests",
    ]);
    expect({ code, summary }).toEqual({ code: 0, summary: "62 passed, 0 failed" });
  });
}

testCi("adds up what failed, and fails", async () => {
  const { code, summary } = await ci('echo "FAILED | 5 passed (2 steps) | 2 failed (1s)"; exit 1', "darwin-arm64/deno");
  expect({ code, summary }).toEqual({ code: 1, summary: "17 passed, 6 failed" });
});

testCi("takes tests that end before they have said anything for a failure", async () => {
  const { code, summary } = await ci("exit 1", "linux-arm64-glibc/deno");
  expect({ code, summary }).toEqual({ code: 1, summary: "2 passed, 3 failed" });
});
