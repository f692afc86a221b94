/** The log on standard error: its levels, its formats, and the secrets that it masks. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { makeSecret, SECRET_BYTES } from "../../../src/apikey/secret.ts";
import { type Log, openLog } from "../../../src/cli/host/log.ts";
import { FakeHost, inProcess } from "../../program/program.ts";

const SECRET = makeSecret(new Uint8Array(SECRET_BYTES));

/** The text of the log on standard error, with `TIME` for times. */
async function logged(
  write: (log: Log) => void,
  level?: string,
  { args = ["apikey"], terminal = false }: { args?: readonly string[]; terminal?: boolean } = {},
): Promise<string> {
  const host = new FakeHost(args, { env: level === undefined ? {} : { LOG_LEVEL: level } });
  host.stderr.isTerminal = () => terminal;
  const log = openLog(host);
  write(log);
  await log.flush();
  return host.stderr.text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME");
}

function writeAll(log: Log): void {
  log.debug("one");
  log.warn("two");
  log.error("three");
}

for (
  const [level, expected] of [
    ["debug", "TIME DEBUG one\nTIME WARNING two\nTIME ERROR three\n"],
    [" TRACE ", "TIME DEBUG one\nTIME WARNING two\nTIME ERROR three\n"],
    ["info", "TIME WARNING two\nTIME ERROR three\n"],
    [undefined, "TIME WARNING two\nTIME ERROR three\n"],
    ["warning", "TIME WARNING two\nTIME ERROR three\n"],
    ["error", "TIME ERROR three\n"],
    ["fatal", ""],
  ] as const
) {
  const variable = level === undefined ? "no LOG_LEVEL" : `LOG_LEVEL ${JSON.stringify(level)}`;
  const levels = expected.match(/[A-Z]+(?= \w+\n)/g)?.join(", ") ?? "nothing";

  Deno.test(`with ${variable} the log contains ${levels}`, async () => {
    expect(await logged(writeAll, level)).toBe(expected);
  });
}

Deno.test("an unknown LOG_LEVEL is refused with the list of levels, before the command does anything", async () => {
  for (const level of ["verbose", "5", "debugg"]) {
    // deno-lint-ignore no-await-in-loop -- one run at a time
    expect(await inProcess(["config", "--json"], { env: { LOG_LEVEL: level } })).toEqual({
      code: 2,
      stdout:
        `{"error":"LOG_LEVEL must be trace, debug, info, warn, error or fatal, not \\"${level}\\".","code":"USAGE"}\n`,
      stderr: "",
    });
  }
});

for (const args of [["--version"], ["--help"], ["audit", "-h"], ["help", "rights"]]) {
  Deno.test(`with an unknown LOG_LEVEL, ${args.join(" ")} still works`, async () => {
    const { code, stdout, stderr } = await inProcess(args, { env: { LOG_LEVEL: "verbose" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toBe("");
  });
}

Deno.test("serve logs JSON lines, or text if standard error is a terminal", async () => {
  const warn = (log: Log): void => log.warn("a {b}", { b: "\u001b[2J" });
  expect(JSON.parse(await logged(warn, undefined, { args: ["serve"] }))).toEqual({
    time: "TIME",
    level: "warning",
    message: "a \u001b[2J",
  });
  expect(await logged(warn, undefined, { args: ["serve"], terminal: true })).toBe("TIME WARNING a \\u{1b}[2J\n");
});

Deno.test("at a terminal, warnings and errors of other commands are messages without a time", async () => {
  const write = (log: Log): void => {
    log.debug("one");
    log.warn("Other users can access the key file {path}. Run: chmod 600 {path}", { path: "/home/me/ci deploy.key" });
    log.error("three\u001b[2J");
  };
  expect(await logged(write, "debug", { terminal: true })).toBe(
    "TIME DEBUG one\n" +
      "service-api: Warning: Other users can access the key file /home/me/ci\n" +
      "deploy.key. Run: chmod 600 /home/me/ci deploy.key\n" +
      "service-api: Error: three\\u{1b}[2J\n",
  );
});

Deno.test("the log shows the message of a failure, the stack of any other error, and other values as JavaScript", async () => {
  const text = await logged((log) => {
    log.warn("{error}", { error: new Failure("FAILED", "Disk full.") });
    log.warn("{error} {count} {names}", { error: new TypeError("broken"), count: 3, names: ["a"] });
  });
  expect(text).toMatch(/^TIME WARNING Disk full\.\nTIME WARNING TypeError: broken.* at .* 3 \[ "a" \]\n$/);
});

Deno.test("the log contains neither keys nor the values of properties whose names suggest a secret", async () => {
  const text = await logged((log) => {
    log.warn(`key ${SECRET}`);
    log.warn("{error}", { error: new Error(`rejected ${SECRET}`) });
    log.warn("{apiKey} {password} {token}", { apiKey: "hidden", password: "hidden", token: "hidden" });
    log.warn("{request}", { request: { headers: { authorization: "hidden", accept: "shown" } } });
  });
  expect(text).not.toMatch(/hidden/);
  expect(text).not.toContain(SECRET);
  expect(text).toMatch(/key sak_….*… … ….*authorization: "…", accept: "shown"/s);
});

Deno.test("a failed write stops neither the log nor the program", async () => {
  const host = new FakeHost([]);
  const { write } = host.stderr;
  let isBroken = true;
  host.stderr.write = (text) => isBroken ? Promise.reject(new Error("full")) : write.call(host.stderr, text);
  const log = openLog(host);
  log.warn("one");
  await log.flush();
  isBroken = false;
  log.warn("two");
  await log.flush();
  expect(host.stderr.text).toMatch(/ WARNING two\n$/);
});

Deno.test("if no process reads standard error, the log keeps 1,000 records and drops the rest", async () => {
  const host = new FakeHost([]);
  const { write } = host.stderr;
  const released = Promise.withResolvers<void>();
  host.stderr.write = async (text) => {
    await released.promise;
    await write.call(host.stderr, text);
  };
  const log = openLog(host);
  for (let i = 0; i < 1010; i++) log.warn("line");
  released.resolve();
  await log.flush();
  expect(host.stderr.text.match(/\n/g)).toHaveLength(1000);
});
