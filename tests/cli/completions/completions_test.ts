/** What is offered at a Tab: the answers that the scripts for the shells are given. */
import { expect } from "expect";
import { run } from "../../../src/cli/program.ts";
import { startServer } from "../../client/foreign_server.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { onPosix } from "../../posix.ts";
import { FakeHost, inProcess, type Program } from "../../program/program.ts";

interface Shown {
  /** The words offered, with their descriptions. */
  readonly words: Readonly<Record<string, string>>;
  readonly directive: string;
}

/** Presses Tab at the end of a line of words after the program's name, the last of which may be empty. */
async function tab(words: readonly string[], program: Program = inProcess): Promise<Shown> {
  const { code, stdout, stderr } = await program(["__complete", "--", ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.replace(/\n$/, "").split("\n");
  return {
    words: Object.fromEntries(lines.slice(0, -1).map((line) => line.split("\t"))),
    directive: lines.at(-1) ?? "",
  };
}

async function offered(words: readonly string[], program?: Program): Promise<readonly string[]> {
  return Object.keys((await tab(words, program)).words);
}

const NO_CANDIDATE: Shown = { words: {}, directive: ":space" };

Deno.test("the first word completes to the commands and what they do, the hidden one not among them", async () => {
  const { words } = await tab([""]);
  expect(words).toMatchObject({ apikey: "create or delete API keys", help: "print the help of a command" });
  expect(Object.keys(words)).toEqual(expect.arrayContaining(["request", "serve", "audit", "completions", "--version"]));
  expect(words).not.toHaveProperty("__complete");
  expect(await offered(["ser"])).toEqual(["serve"]);
});

Deno.test("help completes to the commands", async () => {
  expect(await offered(["help", "com"])).toEqual(["completions"]);
});

Deno.test("completions completes to the shells", async () => {
  expect(await offered(["completions", ""])).toEqual(["bash", "zsh", "fish", "powershell", "--help"]);
  expect(await offered(["completions", "f"])).toEqual(["fish"]);
});

Deno.test("every flag of a command's help is offered, with its description in one line", async () => {
  for (const command of ["apikey", "request", "serve", "audit", "config", "login", "logout", "completions"]) {
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const help = (await inProcess([command, "--help"])).stdout;
    const flags = [...help.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const { words } = await tab([command, "--"]);
    expect(Object.keys(words).sort()).toEqual([...new Set(flags)].sort());
    expect(Object.values(words).filter((description) => description === "" || description.includes("[S"))).toEqual([]);
  }
});

Deno.test("a flag that was given is not offered again, unless it can be repeated", async () => {
  const flags = await offered(["apikey", "--json", "--name", "a", "--timeout=3s", "--header", "A: b", "--"]);
  expect(flags).toContain("--header");
  expect(flags.filter((flag) => ["--json", "--name", "--timeout"].includes(flag))).toEqual([]);
});

Deno.test("with --create --delete is not offered, and with --delete neither --create nor its flags", async () => {
  expect(await offered(["apikey", "--create", "--de"])).toEqual(["--description"]);
  const ofCreate = ["--create", "--roles", "--permissions", "--description", "--overwrite"];
  const flags = await offered(["apikey", "--delete", "--"]);
  expect(flags.filter((flag) => ofCreate.includes(flag))).toEqual([]);
  expect(flags).toContain("--name");
  expect(await offered(["apikey", "--roles", "ADMIN", "--del"])).toEqual([]);
});

Deno.test("--roles completes to the roles with their meanings", async () => {
  expect((await tab(["apikey", "--roles", ""])).words).toMatchObject({
    ADMIN: "Full access to the system",
    VIEWER: "Read-only access",
  });
  expect(await offered(["apikey", "--roles", "v"])).toEqual(["VIEWER"]);
});

Deno.test("after a comma --roles completes to the roles that are not in the list yet", async () => {
  expect(await offered(["apikey", "--roles", "ADMIN,"])).toEqual(["ADMIN,CONNECT", "ADMIN,VIEWER", "ADMIN,GUEST"]);
  expect(await offered(["apikey", "--roles", "guest, admin,c"])).toEqual(["guest, admin,CONNECT"]);
});

Deno.test("--permissions completes to RESOURCE:, after which the word goes on", async () => {
  expect(await tab(["apikey", "--permissions", "do"])).toEqual({ words: { "DOCKER:": "" }, directive: ":nospace" });
});

Deno.test("after RESOURCE: --permissions completes to the actions", async () => {
  const { words, directive } = await tab(["apikey", "--permissions", "docker:r"]);
  expect(Object.keys(words)).toEqual(["DOCKER:READ_ANY", "DOCKER:READ_OWN"]);
  expect(directive).toBe(":space");
  expect(await offered(["apikey", "--permissions", "NOWHERE:"])).toEqual([]);
});

Deno.test("a permission that is in the list is not offered again", async () => {
  const list = "DOCKER:READ_ANY,docker:";
  const actions = await offered(["apikey", "--permissions", list]);
  expect(actions).toContain("DOCKER:READ_ANY,DOCKER:READ_OWN");
  expect(actions).not.toContain("DOCKER:READ_ANY,DOCKER:READ_ANY");
  expect(actions).toHaveLength(7);
});

Deno.test("--flag=value completes as a whole word", async () => {
  expect(await offered(["apikey", "--roles=AD"])).toEqual(["--roles=ADMIN"]);
  expect(await offered(["apikey", "--permissions=DISK:UPDATE_O"])).toEqual(["--permissions=DISK:UPDATE_OWN"]);
});

Deno.test("flags that take files or directories complete to those, and @ to files", async () => {
  const directives: readonly (readonly [readonly string[], string])[] = [
    [["apikey", "--key-file", ""], ":files\t"],
    [["apikey", "--ca-file=/e"], ":files\t--ca-file="],
    [["serve", "--tls-cert", "a"], ":files\t"],
    [["serve", "--tls-key", "a"], ":files\t"],
    [["apikey", "--data-dir", "/"], ":directories\t"],
    [["request", "--query", "@q"], ":files\t@"],
    [["request", "--body=@q"], ":files\t--body=@"],
  ];
  for (const [words, directive] of directives) {
    // deno-lint-ignore no-await-in-loop -- one line after the other
    expect(await tab(words)).toEqual({ words: {}, directive });
  }
});

Deno.test("free text, what stands behind -- and what nobody knows complete to nothing", async () => {
  const lines = [
    ["apikey", "--description", ""],
    ["apikey", "--create", "--name", ""],
    ["request", "--query", ""],
    ["apikey", "--", ""],
    ["apikey", "--unknown="],
    ["unknown", ""],
  ];
  for (const words of lines) {
    // deno-lint-ignore no-await-in-loop -- one line after the other
    expect(await tab(words)).toEqual(NO_CANDIDATE);
  }
});

async function createKeys(program: Program): Promise<void> {
  await program(["apikey", "--create", "--name", "ci deploy", "--roles", "VIEWER", "--description", "cron on db1"]);
  await program(["apikey", "--create", "--name", "Déploiement", "--permissions", "DOCKER:READ_ANY"]);
}

for (const [way, install] of [["the local store", () => embedded(inProcess)], ["a server", overHttp]] as const) {
  Deno.test(`--delete --name completes to the names of the keys on ${way}, with what they are for`, async () => {
    await using installation = await install();
    const { program } = installation;
    await createKeys(program);
    const { words } = await tab(["apikey", "--delete", "--name", ""], program);
    expect(words).toMatchObject({ "ci deploy": "cron on db1 (VIEWER)", "Déploiement": "" });
    expect(await offered(["apikey", "--delete", "--name=CI"], program)).toEqual(["--name=ci deploy"]);
    expect(await offered(["apikey", "--delete", "--name", "de\u0301"], program)).toEqual(["Déploiement"]);
    expect(await offered(["apikey", "--create", "--overwrite", "--name", "ci"], program)).toEqual(["ci deploy"]);
  });
}

Deno.test("the server that the line names is the one asked for names", async () => {
  await using installation = await embedded(inProcess);
  await createKeys(installation.program);
  const directory = installation.env.SERVICE_API_DATA_DIR ?? "";
  expect(await offered(["apikey", "--delete", "--data-dir", directory, "--name", "c"])).toEqual(["ci deploy"]);
  const home = { env: { HOME: directory.replace(/\/data$/, "") } };
  const typed = ["apikey", "--delete", "--data-dir", "~/data", "--name", "c"];
  expect(await offered(typed, (args) => inProcess(args, home))).toEqual(["ci deploy"]);
});

Deno.test("asking for names makes neither a data directory nor a database", async () => {
  const directory = await Deno.makeTempDir();
  try {
    for (const path of [directory, `${directory}/data`]) {
      // deno-lint-ignore no-await-in-loop -- one directory after the other
      expect(await tab(["apikey", "--delete", "--data-dir", path, "--name", ""])).toEqual(NO_CANDIDATE);
    }
    expect(await Array.fromAsync(Deno.readDir(directory))).toEqual([]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a server that is away, refuses, or is not named well gives no names and no word of it", async () => {
  await using installation = await overHttp();
  const { SERVICE_API_URL = "" } = installation.env;
  const envs = [
    { SERVICE_API_URL: "http://127.0.0.1:1" },
    { SERVICE_API_URL },
    { SERVICE_API_URL, SERVICE_API_KEY: "wrong" },
    { SERVICE_API_URL: "nonsense" },
    { SERVICE_API_URL: "http://example.invalid", SERVICE_API_KEY: "k" },
    { SERVICE_API_URL: "http://127.0.0.1:1", LOG_LEVEL: "debug" },
  ];
  for (const env of envs) {
    const program: Program = (args) => inProcess(args, { env });
    // deno-lint-ignore no-await-in-loop -- one server after the other
    expect(await tab(["apikey", "--delete", "--name", ""], program)).toEqual(NO_CANDIDATE);
  }
});

Deno.test("a server that does not answer is given up within two seconds", async () => {
  const pending = Promise.withResolvers<Response>();
  await using server = startServer(() => pending.promise);
  const since = performance.now();
  const program: Program = (args) => inProcess(args, { env: { SERVICE_API_URL: server.url } });
  expect(await tab(["apikey", "--delete", "--name", ""], program)).toEqual(NO_CANDIDATE);
  expect(performance.now() - since).toBeLessThan(2000);
  pending.resolve(new Response());
});

Deno.test("a key that is to come from standard input is not waited for", async () => {
  await using installation = await overHttp();
  const env = { SERVICE_API_URL: installation.env.SERVICE_API_URL ?? "" };
  for (const [words, more] of [[["--key-file", "-"], {}], [[], { SERVICE_API_KEY_FILE: "-" }]] as const) {
    const host = Object.assign(
      new FakeHost(["__complete", "--", "apikey", "--delete", ...words, "--name", ""], { env: { ...env, ...more } }),
      { stdin: { isTerminal: () => false, readText: () => Promise.reject(new Error("it was read")) } },
    );
    // deno-lint-ignore no-await-in-loop -- one line after the other
    expect(await run(host)).toBe(0);
    expect(host.stdout.text).toBe(":space\n");
  }
});

Deno.test("a name that has a line break in it, on some other server, is not offered", async () => {
  const apiKeys = ["good-name", "bad\nname", "bad\tname"].map((name) => (
    { id: name, name, description: "a\nb", roles: [], createdAt: null }
  ));
  await using server = startServer(() => Response.json({ data: { apiKeys } }));
  const program: Program = (args) => inProcess(args, { env: { SERVICE_API_URL: server.url } });
  expect((await tab(["apikey", "--delete", "--name", ""], program)).words).toEqual({ "good-name": "a\\u{a}b" });
});

Deno.test("completions of a shell that is none names the nearest one; without a shell it names all", async () => {
  const unknown = await inProcess(["completions", "Bsh"]);
  expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 2, stdout: "" });
  expect(unknown.stderr).toMatch(/no script for a shell "Bsh"; did you mean bash\?/);
  const none = await inProcess(["completions"]);
  expect(none.code).toBe(2);
  expect(none.stderr).toMatch(/which shell: bash, zsh, fish, powershell/);
  expect((await inProcess(["completions", "bash", "zsh"])).code).toBe(2);
});

Deno.test("completions prints a script for each shell, and its help how to have it", async () => {
  const { stdout: help } = await inProcess(["completions", "--help"]);
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    // deno-lint-ignore no-await-in-loop -- one shell after the other
    const { code, stdout, stderr } = await inProcess(["completions", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("__complete");
    expect(help).toContain(`service-api completions ${shell}`);
  }
});

onPosix("file modes")(
  "--profile completes to the profiles of the config file that is named, or to nothing",
  async () => {
    const directory = await Deno.makeTempDir();
    try {
      const path = `${directory}/config.yaml`;
      await Deno.writeTextFile(path, "profiles:\n  staging:\n  production:\n", { mode: 0o600 });
      expect(await offered(["config", "--config", path, "--profile", ""])).toEqual(["staging", "production"]);
      expect(await offered(["config", "--config", path, "--profile=p"])).toEqual(["--profile=production"]);
      expect(await tab(["config", "--config", `${directory}/none`, "--profile", ""])).toEqual(NO_CANDIDATE);
      await Deno.writeTextFile(path, "not: [yaml");
      expect(await tab(["config", "--config", path, "--profile", ""])).toEqual(NO_CANDIDATE);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);
