/** The shim of the npm package behaves like the executable that it starts: signals, terminal, streams, exit status. */
import { expect } from "expect";
import { readTarget } from "../../scripts/bundle.ts";
import { tarballName } from "../../scripts/npm/packages.ts";
import { command } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { asProcess, type Program, withEnv } from "../program/program.ts";
import { openTerminal } from "../program/terminal.ts";
import { Connection } from "../server/http/connection.ts";
import { findProgram, missingPrograms } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { entriesIn, PLATFORM_PACKAGE, writePackages } from "./npm_registry.ts";

const build = await buildExecutable();
const node = findProgram("node") ?? "";

/** A way in which the shim starts the executable. */
interface Way {
  readonly name: string;
  /** A script that Node runs before the shim, to make the shim start the executable in this way. */
  readonly script: string;
  /** Why the tests cannot use this way, or `undefined` if they can. */
  readonly missing: string | undefined;
}

/** Hides `process.execve`, which only newer versions of Node have, and logs the signals that the shim forwards. */
const AS_CHILD = `
  delete process.execve;
  const { ChildProcess: { prototype } } = require("node:child_process"), { kill } = prototype;
  prototype.kill = function (signal) {
    require("node:fs").appendFileSync(__dirname + "/forwarded", signal);
    return kill.call(this, signal);
  };`;

const canReplace = node !== "" && (await command(node, ["--print", "typeof process.execve"])).trim() === "function";
const WAYS: readonly Way[] = [
  { name: "a child process", script: AS_CHILD, missing: undefined },
  { name: "a replacement of Node", script: "", missing: canReplace ? undefined : "this Node cannot replace itself" },
];

/** The packages in a directory `node_modules`, and a store. */
interface Installed {
  readonly directory: string;
  /** The path of the executable in the platform package, a symbolic link. */
  readonly executable: string;
  /** The path of the shim. */
  readonly shim: string;
  /** Whether the shim forwards signals. It then logs them in the file `forwarded` in the directory. */
  readonly forwards: boolean;
  /** The variables for the shim. */
  readonly env: Readonly<Record<string, string>>;
  /** The shim. */
  readonly program: Program;
  /** The executable without the shim. */
  readonly bare: Program;
}

function testShim(rule: string, programs: readonly string[], test: (installed: Installed) => Promise<void>): void {
  const missing = missingPrograms(["node", ...programs]);
  for (const way of WAYS) {
    const name = `npm shim with ${way.name}: ${rule}`;
    const reason = Deno.build.os === "windows"
      ? "on Windows"
      : build.kind === "not built"
      ? build.reason
      : missing.length > 0
      ? `not installed: ${missing.join(", ")}`
      : way.missing;
    if (reason !== undefined || build.kind === "not built") Deno.test.ignore(`${name}: skipped, ${reason}`, () => {});
    else Deno.test(name, () => inTemporaryDirectory((directory) => install(directory, build.path, way).then(test)));
  }
}

/** Unpacks the packages. The executable is a symbolic link, because unpacking it takes seconds. */
async function install(directory: string, executable: string, way: Way): Promise<Installed> {
  await writePackages(directory);
  await Promise.all(["service-api", PLATFORM_PACKAGE].map((name) => unpack(directory, name)));
  const link = `${directory}/node_modules/${PLATFORM_PACKAGE}/bin/service-api`;
  await Deno.remove(link);
  await Deno.symlink(executable, link);
  await Deno.writeTextFile(`${directory}/way.cjs`, way.script);
  const shim = `${directory}/node_modules/service-api/bin/service-api.cjs`;
  const store = { SERVICE_API_DATA_DIR: `${directory}/data` };
  const env = { ...store, PATH: Deno.env.get("PATH") ?? "", NODE_OPTIONS: `--require ${directory}/way.cjs` };
  return {
    directory,
    executable: link,
    shim,
    forwards: way.script === AS_CHILD,
    env,
    program: withEnv(asProcess(shim), env),
    bare: withEnv(asProcess(executable), store),
  };
}

/** Unpacks a package into `node_modules`. */
async function unpack(directory: string, name: string): Promise<void> {
  const folder = `${directory}/node_modules/${name}`;
  const entries = await entriesIn(`${directory}/${tarballName(name)}`);
  await Promise.all(entries.map(async ({ header: { name, mode = 0 }, data = new Uint8Array() }) => {
    const path = `${folder}/${name.replace("package/", "")}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeFile(path, data, { mode });
  }));
}

testShim("arguments, standard input, output and exit status are those of the executable", [], async (installed) => {
  const { program, bare } = installed;
  const create = ["apikey", "--create", "--roles", "ADMIN", "--name", "key 1"];
  const key = (await program(create)).stdout;
  expect(key).toMatch(/^sak_\w+\n$/);
  const request = ["request", "--key-file", "-", "--query", "{ apiKeys { name } }"];
  const runs: readonly (readonly [readonly string[], string, number])[] = [
    [request, key, 0],
    [request, `${key.trimEnd()}0`, 3],
    [create, "", 1],
    [["apikey", "--create", "--name", ` "a b'\n$HOME\\ ü`, ""], "", 2],
  ];
  await Promise.all(runs.map(async ([args, stdin, code]) => {
    const outcome = await program(args, { stdin });
    expect(outcome).toEqual(await bare(args, { stdin }));
    expect(outcome.code).toBe(code);
  }));
});

/** A running `serve` with a request in flight: the client has sent the first byte of the body. */
interface Busy {
  readonly url: string;
  /** Resolves when the server accepts no more connections. */
  readonly refused: () => Promise<void>;
  /** Sends the rest of the request, and returns the body of the response. */
  readonly finish: () => Promise<string>;
}

async function withRequest(url: string, admin: string, test: (busy: Busy) => Promise<void>): Promise<void> {
  using connection = await Connection.to(url);
  const headers = { Authorization: `Bearer ${admin}`, "Content-Type": "application/json", "Content-Length": "25" };
  await connection.request("POST", "/graphql", headers);
  await connection.send("{");
  await (await fetch(url)).body?.cancel();
  await test({
    url,
    refused: () => refused(url, performance.now() + 20_000),
    finish: async () => {
      await connection.send('"query":"{__typename}"}'.padEnd(24));
      return (await connection.response()).body;
    },
  });
}

async function refused(url: string, deadline: number): Promise<void> {
  try {
    const { hostname, port } = new URL(url);
    (await Deno.connect({ hostname, port: Number(port) })).close();
  } catch {
    return;
  }
  if (performance.now() > deadline) throw new Error(`${url} still accepts connections`);
  await refused(url, deadline);
}

const ANSWER = '{"data":{"__typename":"Query"}}';
const CREATE_ADMIN = ["apikey", "--create", "--name", "admin", "--roles", "ADMIN"] as const;

/** Starts `serve` without a terminal and passes it to `test`. */
async function withServe(
  { shim, env, bare }: Installed,
  test: (server: Deno.ChildProcess, busy: Busy) => Promise<void>,
): Promise<void> {
  const admin = (await bare(CREATE_ADMIN)).stdout.trim();
  const server = new Deno.Command(shim, {
    args: ["serve", "--port", "0", "--drain-timeout", "10s"],
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    detached: true,
  }).spawn();
  const killAll = (): void => {
    try {
      Deno.kill(-server.pid, "SIGKILL");
    } catch {
      // The shim and the executable have ended.
    }
  };
  const { url, drained } = await readyLine(server.stdout);
  const timer = setTimeout(killAll, 30_000);
  try {
    await withRequest(url, admin, (busy) => test(server, busy));
  } finally {
    clearTimeout(timer);
    killAll();
    await drained();
  }
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  testShim(
    `on ${signal}, serve finishes the request in flight and exits with 0`,
    [],
    (installed) =>
      withServe(installed, async (server, { refused, finish }) => {
        server.kill(signal);
        await refused();
        expect(await finish()).toBe(ANSWER);
        expect(await server.status).toMatchObject({ code: 0, signal: null });
      }),
  );
}

testShim(
  "on a second SIGTERM, serve drops the request in flight and exits with 130",
  [],
  (installed) =>
    withServe(installed, async (server, { refused }) => {
      server.kill("SIGTERM");
      await refused();
      server.kill("SIGTERM");
      expect(await server.status).toMatchObject({ code: 130, signal: null });
    }),
);

testShim(
  "on SIGHUP, serve goes on, and the shim waits for it",
  [],
  (installed) =>
    withServe(installed, async (server, { refused, finish }) => {
      server.kill("SIGHUP");
      expect(await finish()).toBe(ANSWER);
      server.kill("SIGTERM");
      await refused();
      expect(await server.status).toMatchObject({ code: 0, signal: null });
      if (!installed.forwards) return;
      expect(await Deno.readTextFile(`${installed.directory}/forwarded`)).toBe("SIGHUPSIGTERM");
    }),
);

testShim(
  "if the system kills the executable, the shim ends with the same signal",
  ["pgrep"],
  (installed) =>
    withServe(installed, async (server, { refused }) => {
      const children = await command("pgrep", ["-P", String(server.pid)]).catch(() => "");
      Deno.kill(Number(children.trim() || server.pid), "SIGKILL");
      expect(await server.status).toMatchObject({ signal: "SIGKILL" });
      await refused();
    }),
);

testShim(
  "at a terminal, Ctrl-C makes serve finish the request in flight, and the shim waits for it",
  ["tmux"],
  async ({ directory, shim, env, bare }) => {
    const admin = (await bare(CREATE_ADMIN)).stdout.trim();
    await using terminal = await openTerminal(["bash", "--norc", "--noprofile"], {
      cwd: directory,
      columns: 200,
      env: { ...env, PS1: "$ " },
    });
    await terminal.shows(/^\$$/);
    await terminal.type(`${shim} serve --port 0 2>/dev/null; echo "status $?"`);
    await terminal.press("Enter");
    const [url = ""] = /http:\/\/[\d.:]+/.exec(await terminal.shows(/http:\/\/127/)) ?? [];
    await withRequest(url, admin, async ({ refused, finish }) => {
      await terminal.press("C-c");
      await refused();
      expect(await terminal.screen()).not.toMatch(/\^Cstatus/);
      expect(await finish()).toBe(ANSWER);
    });
    await terminal.shows(/\^Cstatus 0$/m);
    // The terminal sent SIGINT to the executable. A second one could have ended it before the request was finished.
    await expect(Deno.stat(`${directory}/forwarded`)).rejects.toThrow(Deno.errors.NotFound);
  },
);

testShim(
  "at a terminal, the program prompts even if its output goes to a variable",
  ["tmux"],
  async ({ directory, shim, env }) => {
    await using terminal = await openTerminal(["bash", "--norc", "--noprofile"], {
      cwd: directory,
      columns: 200,
      env: { ...env, PS1: "$ " },
    });
    await terminal.shows(/^\$$/);
    await terminal.type(`KEY=$(${shim} apikey --create --roles GUEST)`);
    await terminal.press("Enter");
    await terminal.shows(/Name: █/);
    await terminal.type("from npm");
    await terminal.press("Enter");
    await terminal.shows(/Description: █/);
    await terminal.press("Enter");
    await terminal.shows(/Permissions: █/);
    await terminal.press("C-c");
    await terminal.shows(/^\$$/m);
    await terminal.type('echo "status $? with ${#KEY} characters"');
    await terminal.press("Enter");
    await terminal.shows(/^status 130 with 0 characters$/m);
  },
);

testShim("if the executable cannot be started, the error says what to do", [], async ({ executable, program }) => {
  await Deno.remove(executable);
  await Deno.writeTextFile(executable, "text", { mode: 0o644 });
  expect(await program(["--version"])).toEqual({
    code: 127,
    stdout: "",
    stderr: expect.stringMatching(
      /^service-api: Could not start the executable: .*EACCES.* Install service-api again\.\n$/,
    ),
  });
});

if (readTarget(Deno.build.target).includes("linux")) {
  // A lock file from a system with glibc can make npm install the package on a system with musl.
  testShim("on musl, an installed executable is not started", [], async ({ directory, program }) => {
    await Deno.writeTextFile(
      `${directory}/way.cjs`,
      `const fs = require("node:fs"), { existsSync } = fs;
       fs.existsSync = (path) => !path.includes("/ld-linux-") && existsSync(path);
       process.report.getReport = () => ({ header: {} });`,
    );
    expect(await program(["--version"])).toEqual({
      code: 127,
      stdout: "",
      stderr: expect.stringMatching(/^service-api: The executable needs glibc, but this system has musl\./),
    });
  });
}
