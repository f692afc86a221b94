/**
 * Tests that need the program in its own process: races, a shared store, signals, files. They run the executable. If the
 * executable cannot be built, they run the program from its sources.
 */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import deno from "../../deno.json" with { type: "json" };
import { buildExecutable } from "./executable.ts";
import { denoDirectory, fromSources } from "./from_sources.ts";
import { Connection } from "../server/http/connection.ts";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { startServer } from "../client/foreign_server.ts";
import { onPosix } from "../posix.ts";
import { readyLine } from "./installations.ts";
import { asProcess, type Program, SYSTEM_ENV, withEnv } from "./program.ts";
import { findProgram, testWith } from "../tools.ts";

const testWithSignals = onPosix("signals");

const build = await buildExecutable();
const [executable, leadingArgs]: readonly [string, readonly string[]] = build.kind === "built"
  ? [build.path, []]
  : [Deno.execPath(), fromSources()];

/** Without HOME, Deno needs the path of its cache to run the program from its sources. */
const ownEnv: Record<string, string> = build.kind === "built" ? {} : { DENO_DIR: await denoDirectory() };

/** The program with a new data directory. */
interface Sandbox extends AsyncDisposable {
  readonly directory: string;
  readonly program: Program;
}

async function openSandbox(): Promise<Sandbox> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  return {
    directory,
    program: withEnv(asProcess(executable, leadingArgs), { ...ownEnv, SERVICE_API_DATA_DIR: `${directory}/data` }),
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

function spawn(args: readonly string[], env: Readonly<Record<string, string>>): Deno.ChildProcess {
  return new Deno.Command(executable, {
    args: [...leadingArgs, ...args],
    env: { ...SYSTEM_ENV, ...ownEnv, ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"] as const;

Deno.test("one of 16 processes that create the same name at once succeeds, and 15 fail with ALREADY_EXISTS", async () => {
  await using sandbox = await openSandbox();
  const outcomes = await Promise.all(Array.from({ length: 16 }, () => sandbox.program(CREATE)));
  const codes = outcomes.map(({ stdout }) => JSON.parse(stdout).code ?? "created").toSorted();
  expect(codes).toEqual([...Array(15).fill("ALREADY_EXISTS"), "created"]);
  expect(outcomes.map(({ code }) => code).toSorted()).toEqual([0, ...Array(15).fill(1)]);
});

Deno.test("8 processes that overwrite the same name at once all succeed, and one working key remains", async () => {
  await using sandbox = await openSandbox();
  const args = ["apikey", "--create", "--name", "new", "--permissions", "API_KEY:READ_ANY", "--overwrite"];
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => sandbox.program(args)));
  expect(outcomes.map(({ code }) => code)).toEqual(Array(8).fill(0));
  const used = await Promise.all(outcomes.map(({ stdout }) => {
    const env = { SERVICE_API_KEY: stdout.trim() };
    return sandbox.program(["request", "--query", "{ apiKeys { name } }", "--json"], { env });
  }));
  expect(used.filter(({ code }) => code === 0).map(({ stdout }) => JSON.parse(stdout))).toEqual([
    { data: { apiKeys: [{ name: "new" }] } },
  ]);
});

testWithSignals("commands in embedded mode and a running serve share the store", async () => {
  await using sandbox = await openSandbox();
  const server = spawn(["serve", "--port", "0"], { SERVICE_API_DATA_DIR: `${sandbox.directory}/data` });
  const { url, drained } = await readyLine(server.stdout);
  try {
    const made = await sandbox.program(["apikey", "--create", "--name", "shared", "--permissions", "API_KEY:READ_ANY"]);
    const remote = { SERVICE_API_URL: url, SERVICE_API_KEY: made.stdout.trim() };
    const ask = ["request", "--query", "{ apiKeys { name } }"];
    expect(await sandbox.program(ask, { env: remote })).toEqual({
      code: 0,
      stdout: '{"data":{"apiKeys":[{"name":"shared"}]}}\n',
      stderr: "",
    });
    expect((await sandbox.program(["apikey", "--delete", "--name", "shared"])).code).toBe(0);
    expect((await sandbox.program(ask, { env: remote })).code).toBe(3);
  } finally {
    server.kill("SIGTERM");
    expect((await server.status).code).toBe(0);
    await Promise.all([drained(), server.stdin.close(), server.stderr.cancel()]);
  }
});

Deno.test("the store is one file with mode 0600 that contains no secret", async () => {
  await using sandbox = await openSandbox();
  const { key } = JSON.parse((await sandbox.program(CREATE)).stdout);
  const data = `${sandbox.directory}/data`;
  const files = await Array.fromAsync(Deno.readDir(data), ({ name }) => name);
  expect(files).toEqual(["keys.db"]);
  if (Deno.build.os !== "windows") {
    expect(((await Deno.stat(data)).mode ?? 0) & 0o777).toBe(0o700);
    expect(((await Deno.stat(`${data}/keys.db`)).mode ?? 0) & 0o777).toBe(0o600);
  }
  const bytes = new TextDecoder("latin1").decode(await Deno.readFile(`${data}/keys.db`));
  expect(bytes).toContain("new");
  expect(bytes).not.toContain(key);
  expect(bytes).not.toContain(key.slice(4, 24));
  expect(bytes).not.toContain(key.slice(24, -4));
});

Deno.test("a missing name is a usage error without a terminal, even if standard input stays open", async () => {
  await using sandbox = await openSandbox();
  const child = spawn(["apikey", "--create"], { SERVICE_API_DATA_DIR: `${sandbox.directory}/data` });
  const { code } = await child.status;
  await Promise.all([child.stdin.close().catch(() => {}), child.stdout.cancel(), child.stderr.cancel()]);
  expect(code).toBe(2);
});

Deno.test("the program leaves no temporary files", async () => {
  // If the program wrote code to temporary files, other users could replace that code.
  await using sandbox = await openSandbox();
  const temporary = `${sandbox.directory}/tmp`;
  await Deno.mkdir(temporary);
  await sandbox.program([...CREATE], { env: { TMPDIR: temporary } });
  expect(await Array.fromAsync(Deno.readDir(temporary))).toEqual([]);
});

testWithSignals("a command that waits for a server exits with 130 on SIGINT", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const child = spawn(CREATE, { SERVICE_API_URL: `http://127.0.0.1:${listener.addr.port}` });
  const connection = await listener.accept();
  await connection.read(new Uint8Array(1000));
  child.kill("SIGINT");
  const { code, stdout } = await collect(child);
  connection.close();
  listener.close();
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ code: "INTERRUPTED" });
});

testWithSignals("audit --follow prints the events of another process, and exits with 130 on SIGINT", async () => {
  await using sandbox = await openSandbox();
  const child = spawn(["audit", "--follow"], { SERVICE_API_DATA_DIR: `${sandbox.directory}/data` });
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await sandbox.program(["apikey", "--create", "--name", "first", "--roles", "GUEST"]);
  await readUntil(output, '"name":"first"');
  child.kill("SIGINT");
  await child.stdin.close().catch(() => {});
  expect((await child.status).code).toBe(130);
  expect(await new Response(child.stderr).text()).toBe("");
  await output.cancel();
});

testWithSignals("a command that waits for a locked store exits with 130 on SIGINT", async () => {
  await using sandbox = await openSandbox();
  await sandbox.program(["apikey", "--create", "--name", "first", "--roles", "GUEST"]);
  const holder = new DatabaseSync(`${sandbox.directory}/data/keys.db`);
  try {
    holder.exec("BEGIN IMMEDIATE");
    const env = { SERVICE_API_DATA_DIR: `${sandbox.directory}/data`, LOG_LEVEL: "debug" };
    const child = spawn(CREATE, env);
    const errors = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    await readUntil(errors, "Request 1");
    child.kill("SIGINT");
    await child.stdin.close().catch(() => {});
    const stdout = await new Response(child.stdout).text();
    expect((await child.status).code).toBe(130);
    expect(JSON.parse(stdout)).toEqual({
      error: "Interrupted while waiting for another process that uses the store. Nothing was changed.",
      code: "INTERRUPTED",
    });
    await errors.cancel();
  } finally {
    holder.close();
  }
});

/** Reads until a word arrives. Fails at the end of the stream. */
async function readUntil(reader: ReadableStreamDefaultReader<string>, word: string): Promise<void> {
  const { done, value = "" } = await reader.read();
  if (done) throw new Error(`${word} did not arrive`);
  if (!value.includes(word)) await readUntil(reader, word);
}

Deno.test("LOG_LEVEL=debug prints every log record, including the last", async () => {
  await using sandbox = await openSandbox();
  const { stderr } = await sandbox.program(["apikey", "--delete", "--name", "none"], { env: { LOG_LEVEL: "debug" } });
  const records = stderr.split("\n").filter((line) => / DEBUG (?!Setting)/.test(line));
  expect(records.map((line) => line.replace(/^\S+ DEBUG /, ""))).toEqual([
    expect.stringMatching(/^service-api \d/),
    expect.stringMatching(/^Target: the store ".*keys\.db", which does not exist \(SERVICE_API_DATA_DIR\)$/),
    expect.stringMatching(/^Request 1: query \w+, \d+ characters, headers accept, content-type$/),
    expect.stringMatching(/^Request 1: status 200 after [\d.]+ ms$/),
    // A second connection looks for a similar name.
    expect.stringMatching(/^Request 1: query ListApiKeys, \d+ characters, headers accept, content-type$/),
    expect.stringMatching(/^Request 1: status 200 after [\d.]+ ms$/),
    "Exit code 1",
  ]);
});

testWithSignals("a named pipe in place of the store is rejected at once, not opened", async () => {
  await using sandbox = await openSandbox();
  const store = `${sandbox.directory}/data/keys.db`;
  await Deno.mkdir(`${sandbox.directory}/data`);
  await new Deno.Command("mkfifo", { args: [store] }).output();
  for (const args of [CREATE, ["apikey", "--delete", "--name", "a", "--json"], ["serve", "--port", "0"]]) {
    const child = spawn(args, { SERVICE_API_DATA_DIR: `${sandbox.directory}/data` });
    // deno-lint-ignore no-await-in-loop -- one command at a time
    await child.stdin.close();
    // A program that is blocked in a system call does not handle SIGTERM.
    const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const { code, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const message = stdout.length > 0 ? JSON.parse(new TextDecoder().decode(stdout)).error : "";
    const problem = `Cannot use the store "${store}": it is not a regular file.`;
    expect(message || new TextDecoder().decode(stderr)).toContain(problem);
    expect(code).toBe(4);
  }
});

testWith(
  ["bash", "mkfifo"],
  "--key-file <(command) works, and fails with TIMEOUT if the command does not end within --timeout",
  async () => {
    await using sandbox = await openSandbox();
    const pipe = `${sandbox.directory}/pipe`;
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    const run = (command: string, timeout: string): ReturnType<Program> => {
      const script = `exec "$0" "$@" --key-file <(${command})`;
      const shell = asProcess(findProgram("bash") ?? "", ["-c", script, executable, ...leadingArgs]);
      const env = { ...ownEnv, HOME: sandbox.directory, PATH: Deno.env.get("PATH") ?? "" };
      return shell(["config", "--json", "--timeout", timeout], { env });
    };
    expect(JSON.parse((await run("echo abc", "30s")).stdout)).toHaveProperty("settings");
    // The command waits until the test writes to the pipe. It keeps no stream of the program open.
    const late = await run(`exec cat '${pipe}' 2> /dev/null`, "50ms");
    await Deno.writeTextFile(pipe, "");
    expect(late.code).toBe(4);
    expect(JSON.parse(late.stdout)).toEqual({
      code: "TIMEOUT",
      error: expect.stringMatching(/^--key-file: the pipe "\/dev\/fd\/\d+" did not end within 0\.05 s\./),
    });
  },
);

testWithSignals("create fails and creates nothing if standard output is closed", async () => {
  await using sandbox = await openSandbox();
  for (const redirection of [">&-", "1<> /dev/null"]) {
    const shell = asProcess("/bin/sh", ["-c", `exec "$0" "$@" ${redirection}`, executable, ...leadingArgs]);
    const env = { ...ownEnv, SERVICE_API_DATA_DIR: `${sandbox.directory}/data` };
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const outcome = await shell(CREATE, { env });
    expect(outcome).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^service-api: Standard output is closed/),
    });
    // deno-lint-ignore no-await-in-loop -- one command at a time
    expect((await shell(["apikey", "--creat", "--json"], { env })).stderr).toMatch(/Did you mean --create\?/);
  }
  expect((await sandbox.program(CREATE)).code).toBe(0);
});

Deno.test("DENO_CERT and DENO_SERVE_ADDRESS have no effect", async () => {
  await using sandbox = await openSandbox();
  const authority = `${sandbox.directory}/authority.pem`;
  await Deno.writeTextFile(authority, AUTHORITY);
  await using server = startServer(() => Response.json({ data: {} }), { cert: CERTIFICATE, key: PRIVATE_KEY });
  const request = ["request", "--query", "{ a }", "--base-url", server.url];
  const env = { DENO_CERT: authority };
  expect((await sandbox.program([...request, "--ca-file", authority], { env })).code).toBe(0);
  const untrusted = await sandbox.program(request, { env });
  expect({ code: untrusted.code, stderr: untrusted.stderr }).toEqual({
    code: 4,
    stderr: expect.stringMatching(/its certificate is not trusted/),
  });
  const child = spawn(["serve", "--port", "0"], {
    DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${new URL(server.url).port}`,
    SERVICE_API_DATA_DIR: `${sandbox.directory}/data`,
  });
  const { url, drained } = await readyLine(child.stdout);
  expect(new URL(url).port).not.toBe(new URL(server.url).port);
  child.kill("SIGKILL");
  await Promise.all([child.stdin.close().catch(() => {}), child.stderr.cancel(), child.status, drained()]);
});

Deno.test("two flags that read standard input are a usage error", async () => {
  await using sandbox = await openSandbox();
  const outcome = await sandbox.program(["request", "--query", "-", "--variables", "-"], { stdin: "{}" });
  expect(outcome.code).toBe(2);
  expect(outcome.stderr).toMatch(/only once/);
});

Deno.test("a request with a key to a loopback address bypasses the proxy in HTTP_PROXY", async () => {
  const proxied: string[] = [];
  const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    proxied.push(url);
    return new Response();
  });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => Response.json({ data: {} }));
  const outcome = await asProcess(executable, leadingArgs)(["request", "--query", "{ a }"], {
    env: {
      ...ownEnv,
      HTTP_PROXY: `http://127.0.0.1:${proxy.addr.port}`,
      http_proxy: `http://127.0.0.1:${proxy.addr.port}`,
      SERVICE_API_URL: `http://127.0.0.1:${server.addr.port}`,
      SERVICE_API_KEY: "sak_1",
    },
  });
  await Promise.all([proxy.shutdown(), server.shutdown()]);
  expect(outcome).toEqual({ code: 0, stdout: '{"data":{}}\n', stderr: "" });
  expect(proxied).toEqual([]);
});

/** A running `serve` with a request in flight: the client has sent the first byte of the body. */
interface Busy {
  readonly server: Deno.ChildProcess;
  readonly url: string;
  readonly connection: Connection;
  /** The standard error of `serve`. */
  readonly errors: ReadableStreamDefaultReader<string>;
}

async function withBusyServe(flags: readonly string[], test: (busy: Busy) => Promise<void>): Promise<void> {
  await using sandbox = await openSandbox();
  const server = spawn(["serve", "--port", "0", ...flags], { SERVICE_API_DATA_DIR: `${sandbox.directory}/data` });
  const { url, drained } = await readyLine(server.stdout);
  const errors = server.stderr.pipeThrough(new TextDecoderStream()).getReader();
  const admin = (await sandbox.program(["apikey", "--create", "--name", "a", "--roles", "ADMIN"])).stdout.trim();
  using connection = await Connection.to(url);
  try {
    const headers = { Authorization: `Bearer ${admin}`, "Content-Type": "application/json", "Content-Length": "25" };
    await connection.request("POST", "/graphql", headers);
    await connection.send("{");
    await (await fetch(url)).body?.cancel();
    await readUntil(errors, '"status":401');
    await test({ server, url, connection, errors });
  } finally {
    await Promise.all([drained(), errors.cancel(), server.stdin.close().catch(() => {})]);
  }
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  testWithSignals(
    `serve finishes the request in flight, accepts no new connections, and exits with 0 on ${signal}`,
    () =>
      withBusyServe([], async ({ server, url, connection, errors }) => {
        server.kill(signal);
        await expect(refused(url)).resolves.toBe(true);
        await connection.send('"query":"{__typename}"}'.padEnd(24));
        const [answer] = await Promise.all([connection.response(), readUntil(errors, '"status":200')]);
        expect(answer).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}' });
        expect(await connection.readToEnd()).toBe("");
        expect((await server.status).code).toBe(0);
      }),
  );
}

testWithSignals(
  "serve drops the request in flight and exits with 130 on a second signal",
  () =>
    withBusyServe(["--drain-timeout", "1h"], async ({ server, url }) => {
      server.kill("SIGTERM");
      await expect(refused(url)).resolves.toBe(true);
      server.kill("SIGTERM");
      expect((await server.status).code).toBe(130);
    }),
);

Deno.test("serve rejects a --host that is not a loopback address, unless --allow-http is given", async () => {
  await using sandbox = await openSandbox();
  // This address is reserved for documentation (RFC 5737). No machine has it, so listening on it fails.
  const args = ["serve", "--host", "192.0.2.1", "--port", "0"];
  const [without, allowed] = await Promise.all([sandbox.program(args), sandbox.program([...args, "--allow-http"])]);
  expect([without.code, allowed.code]).toEqual([2, 2]);
  expect(without.stderr).toMatch(/keys would be sent unencrypted/);
  expect(allowed.stderr).toMatch(/Cannot listen on 192\.0\.2\.1 port 0/);
});

/** Connects again and again. Returns `true` when the server refuses a connection. */
async function refused(url: string): Promise<boolean> {
  try {
    const { hostname, port } = new URL(url);
    (await Deno.connect({ hostname, port: Number(port) })).close();
  } catch {
    return true;
  }
  return await refused(url);
}

async function collect(child: Deno.ChildProcess): Promise<{ readonly code: number; readonly stdout: string }> {
  await child.stdin.close().catch(() => {});
  const { code, stdout } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout) };
}

Deno.test("the start task allows the program to read certain variables, but not to run programs or load libraries", () => {
  const flags = deno.tasks.start.command.split(" ").filter((word) => word.startsWith("-"));
  expect(flags).toContain("--no-prompt");
  expect(flags.filter((flag) => /^(-A|--allow-(all|run|ffi|sys|import))\b/.test(flag))).toEqual([]);
  expect(flags.find((flag) => flag.startsWith("--allow-env"))).toMatch(/^--allow-env=[A-Za-z_]+(,[A-Za-z_]+)*$/);
});

Deno.test("the modules that load on demand work: YAML, PostgreSQL, logging, usage errors", async () => {
  await using sandbox = await openSandbox();
  const path = `${sandbox.directory}/config.yaml`;
  await Deno.writeTextFile(path, "profiles:\n  a:\n    timeout: 7s\n", { mode: 0o600 });
  const config = await sandbox.program(["config", "--config", path, "--profile", "a"]);
  expect(config.stdout).toMatch(/^timeout +7s +.*config\.yaml:3:14$/m);
  const database = ["--database-url", "postgres://nobody@127.0.0.1:1/none"];
  const away = await sandbox.program(["apikey", "--delete", "--name", "a", ...database]);
  expect({ code: away.code, stderr: away.stderr }).toEqual({
    code: 4,
    stderr: expect.stringMatching(/Cannot use the database 127\.0\.0\.1:1\/none: .*ECONNREFUSED/),
  });
  const warned = await sandbox.program([
    "apikey",
    "--delete",
    "--name",
    "a",
    ...database.map((word) => word.replace("nobody", "a:b")),
  ]);
  expect(warned.stderr).toMatch(/WARNING Every user of this machine can see the password/);
  expect((await sandbox.program(["apikey", "--creat"])).stderr).toMatch(/Did you mean --create\?/);
});
