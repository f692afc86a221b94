/** Which stream receives results, failures and logs, even after an interruption or a failed write. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import { run } from "../../src/cli/program.ts";
import { startServer } from "../client/foreign_server.ts";
import { embedded, overHttp } from "../program/installations.ts";
import { FakeHost, inProcess } from "../program/program.ts";
import { TerminalHost } from "../program/terminal_host.ts";

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST"] as const;

function brokenOutput(cause: Error): FakeHost["stdout"] {
  return {
    text: "",
    isTerminal: () => false,
    columns: () => 80,
    write: () => Promise.reject(new Failure("FAILED", "Cannot write the output: gone.", { cause })),
  };
}

Deno.test("if the secret cannot be written, the message names the key and the remedy", async () => {
  const directory = await Deno.makeTempDir();
  try {
    for (const flags of [[], ["--json"]]) {
      const host = Object.assign(
        new FakeHost([...CREATE, "--overwrite", ...flags], { env: { SERVICE_API_DATA_DIR: directory } }),
        { stdout: brokenOutput(new Deno.errors.BrokenPipe()) },
      );
      // deno-lint-ignore no-await-in-loop -- both runs use the same store
      expect(await run(host)).toBe(1);
      expect(host.stderr.text).toMatch(
        /key "new" \(key_\w+\) was created, but its secret could not be printed.*--overwrite/,
      );
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("if the result of a deletion cannot be written, the message says how many keys were deleted", async () => {
  await using installation = await embedded(inProcess);
  await installation.program([...CREATE]);
  const env = installation.env;
  const host = Object.assign(new FakeHost(["apikey", "--delete", "--name", "new"], { env }), {
    stdout: brokenOutput(new Error("full")),
  });
  expect(await run(host)).toBe(1);
  expect(host.stderr.text).toBe(
    "service-api: The result could not be printed: Cannot write the output: gone. Before that, 1 key was deleted.\n",
  );
});

Deno.test("if the reader of standard output closes the pipe, --help prints no error message", async () => {
  const host = Object.assign(new FakeHost(["--help"]), { stdout: brokenOutput(new Deno.errors.BrokenPipe()) });
  expect(await run(host)).toBe(1);
  expect(host.stderr.text).toBe("");
});

Deno.test("a failed write to standard output is reported on standard error", async () => {
  const host = Object.assign(new FakeHost(["--help"]), { stdout: brokenOutput(new Error("full")) });
  expect(await run(host)).toBe(1);
  expect(host.stderr.text).toBe("service-api: Cannot write the output: gone.\n");
});

Deno.test("at a terminal, an error breaks between words, but in a pipe it is one line", async () => {
  const args = [
    "request",
    "--query",
    "{ me { id } }",
    "--data-dir",
    "/none",
    "--key-file",
    "/home/me/.config/service-api/keys/missing.key",
  ];
  const lines = [
    "service-api: --key-file: cannot read",
    '"/home/me/.config/service-api/keys/missing.key":',
    "No such file or directory.",
  ];
  const host = new TerminalHost(args, { columns: 40 });
  expect(await run(host)).toBe(2);
  expect(host.stderr.text).toBe(`${lines.join("\n")}\n`);
  expect((await inProcess(args)).stderr).toBe(`${lines.join(" ")}\n`);
});

Deno.test("at a terminal, messages about a created key are on standard error and only the secret is on standard output", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const host = new FakeHost(CREATE, { env: { SERVICE_API_DATA_DIR: directory } });
    host.stdout.isTerminal = () => true;
    host.stderr.isTerminal = () => true;
    expect(await run(host)).toBe(0);
    expect(host.stdout.text).toMatch(/^sak_\w+\n$/);
    expect(host.stderr.text).toMatch(/^ +ME +/m);
    expect(host.stderr.text).toMatch(
      /^Created API key "new" \(key_\w+\)\.\nThe secret is printed above and cannot be shown again/m,
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("on Ctrl-C during a request, the command exits with 130 and says that the server may have executed the request", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  await using server = startServer(() => {
    asked.resolve();
    return answer.promise;
  });
  const host = new FakeHost([...CREATE, "--json"], { env: { SERVICE_API_URL: server.url } });
  const running = run(host);
  await asked.promise;
  host.handlers.get("SIGINT")?.();
  expect(await running).toBe(130);
  answer.resolve(new Response());
  expect(JSON.parse(host.stdout.text)).toEqual({
    error: "Interrupted during the request: the server may have executed it.",
    code: "INTERRUPTED",
  });
  expect([...host.handlers]).toEqual([]);
});

for (const args of [["request", "--query", "-"], ["apikey", "--delete", "--name", "new", "--key-file", "-"]]) {
  Deno.test(`${args[0]} exits with 130 and changes nothing if a signal arrives while it reads standard input`, async () => {
    const env = { SERVICE_API_URL: "http://127.0.0.1:1" };
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const read = Promise.withResolvers<void>();
      const host = Object.assign(new FakeHost(args, { env }), {
        stdin: {
          isTerminal: () => false,
          readText: () => {
            read.resolve();
            return new Promise<string>(() => {});
          },
        },
      });
      const running = run(host);
      // deno-lint-ignore no-await-in-loop -- one signal at a time
      await read.promise;
      host.handlers.get(signal)?.();
      // deno-lint-ignore no-await-in-loop -- one signal at a time
      expect(await running).toBe(130);
      expect(host.stderr.text).toBe("service-api: Interrupted. Nothing was changed.\n");
      expect([...host.handlers]).toEqual([]);
    }
  });
}

Deno.test("LOG_LEVEL=debug logs to standard error, without secrets, and does not change standard output", async () => {
  await using installation = await overHttp();
  const quiet = await installation.program([...CREATE, "--json"]);
  const env = { LOG_LEVEL: "debug" };
  const flags = ["--overwrite", "--header", "X-Secret-Header: hidden-value", "--json"];
  const { code, stdout, stderr } = await installation.program([...CREATE, ...flags], { env });
  expect(code).toBe(0);
  expect(stderr).toMatch(/DEBUG Target: the server http:\/\/127\.0\.0\.1:\d+ \(SERVICE_API_URL\)\n/);
  expect(Object.keys(JSON.parse(stdout))).toEqual(Object.keys(JSON.parse(quiet.stdout)));
  expect(stderr).not.toContain(JSON.parse(stdout).key);
  expect(stderr).not.toMatch(/sak_\w{5}|hidden-value/);
});

Deno.test("LOG_LEVEL=info logs nothing if the command succeeds", async () => {
  await using installation = await embedded(inProcess);
  const { code, stderr } = await installation.program(CREATE, { env: { LOG_LEVEL: "info" } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

Deno.test("a secret in the wrong place on the command line is not printed", async () => {
  const secret = `sak_${"a".repeat(49)}`;
  for (const args of [[...CREATE, `--key=${secret}`], ["apikey", "--delete", "--name", secret], [secret]]) {
    // deno-lint-ignore no-await-in-loop -- one command line at a time
    const { code, stdout, stderr } = await inProcess(args);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(secret);
  }
});

Deno.test("the embedded server works without a key, but checks a key that it receives", async () => {
  await using installation = await embedded(inProcess);
  const made = await installation.program(CREATE);
  const env = { SERVICE_API_KEY: made.stdout.trim() };
  const denied = await installation.program(["apikey", "--delete", "--name", "new"], { env });
  expect(denied.code).toBe(3);
  const unknown = { SERVICE_API_KEY: "sak_unknown" };
  expect((await installation.program(["apikey", "--delete", "--name", "new"], { env: unknown })).code).toBe(3);
  expect((await installation.program(["apikey", "--delete", "--name", "new"])).code).toBe(0);
});
