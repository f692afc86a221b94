/** The candidates that the shells receive when the user presses Tab. */
import { expect } from "expect";
import { CONFLICTING_FLAGS } from "../../../src/cli/completions/complete.ts";
import { SUBCOMMANDS } from "../../../src/cli/commands/apikey/subcommands.ts";
import { COMMANDS } from "../../../src/cli/help/program_help.ts";
import { run } from "../../../src/cli/program.ts";
import { startServer } from "../../client/foreign_server.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { onPosix } from "../../posix.ts";
import { FakeHost, inProcess, type Program } from "../../program/program.ts";

interface Completion {
  /** The offered words, each with its description. */
  readonly words: Readonly<Record<string, string>>;
  readonly directive: string;
}

/** Completes the last of `words`, which follow the name of the program. The last one may be empty. */
async function complete(words: readonly string[], program: Program = inProcess): Promise<Completion> {
  const { code, stdout, stderr } = await program(["__complete", "--", ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.replace(/\n$/, "").split("\n");
  return {
    words: Object.fromEntries(lines.slice(0, -1).map((line) => line.split("\t"))),
    directive: lines.at(-1) ?? "",
  };
}

async function offered(words: readonly string[], program?: Program): Promise<readonly string[]> {
  return Object.keys((await complete(words, program)).words);
}

const NO_CANDIDATES: Completion = { words: {}, directive: ":space" };

Deno.test("the first word completes to the commands with their summaries, except the hidden command __complete", async () => {
  const { words } = await complete([""]);
  expect(words).toMatchObject({
    apikey: "create, list, change, rotate and delete API keys",
    help: "describe a command or a topic",
  });
  expect(Object.keys(words)).toEqual(expect.arrayContaining(["request", "serve", "audit", "completions", "--version"]));
  expect(words).not.toHaveProperty("__complete");
  expect(await offered(["ser"])).toEqual(["serve"]);
  expect(await offered(["help", "com"])).toEqual(["completions"]);
  expect(await offered(["help", "e"])).toEqual(["exit-codes", "environment"]);
});

Deno.test("the argument of the completions command completes to the shells", async () => {
  expect(await offered(["completions", ""])).toEqual(["bash", "zsh", "fish", "powershell", "--help"]);
  expect(await offered(["completions", "f"])).toEqual(["fish"]);
});

Deno.test("every flag in the help of a command is offered with a description on one line", async () => {
  const subcommands = [
    ...SUBCOMMANDS.map(([name]) => ["apikey", name]),
    ...["add", "list", "remove"].map((name) => ["resource", name]),
    ["store", "copy"],
  ];
  for (const command of [...COMMANDS.map(([name]) => [name]), ...subcommands]) {
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const help = (await inProcess([...command, "--help"])).stdout;
    const flags = [...help.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const { words } = await complete([...command, "--"]);
    expect(Object.keys(words).sort()).toEqual([...new Set(flags)].sort());
    expect(Object.values(words).filter((description) => description === "" || description.includes("[S"))).toEqual([]);
  }
});

Deno.test("apikey completes to its subcommands and flags, but after a flag only to flags", async () => {
  expect(await offered(["apikey", ""])).toEqual(expect.arrayContaining(["create", "delete", "--create"]));
  expect(await offered(["apikey", "cr"])).toEqual(["create"]);
  expect(await offered(["apikey", "--json", "cr"])).toEqual([]);
  expect(await offered(["apikey", "create", "cr"])).toEqual([]);
});

Deno.test("resource completes to its subcommands", async () => {
  expect((await complete(["resource", ""])).words).toMatchObject({
    add: "add a resource",
    remove: "remove a resource",
  });
  expect(await offered(["resource", "l"])).toEqual(["list"]);
  expect(await offered(["resource", "add", ""])).not.toContain("list");
});

Deno.test("a flag is offered again only if it can be repeated", async () => {
  const flags = await offered(["apikey", "--json", "--name", "a", "--timeout=3s", "--header", "A: b", "--"]);
  expect(flags).toContain("--header");
  expect(flags.filter((flag) => ["--json", "--name", "--timeout"].includes(flag))).toEqual([]);
  expect(await offered(["apikey", "--delete", "--name", "a", "--n"])).toContain("--name");
});

Deno.test("a flag is not offered if it conflicts with an earlier one", async () => {
  expect(await offered(["apikey", "--create", "--de"])).toEqual(["--description"]);
  const ofCreate = ["--create", "--roles", "--permissions", "--description", "--overwrite"];
  const flags = await offered(["apikey", "--delete", "--"]);
  expect(flags.filter((flag) => ofCreate.includes(flag))).toEqual([]);
  expect(flags).toContain("--name");
  expect(await offered(["apikey", "--roles", "ADMIN", "--del"])).toEqual([]);
});

Deno.test("the program rejects every pair of flags that completion treats as conflicting", async () => {
  await Promise.all(CONFLICTING_FLAGS.map(async ([first, second]) => {
    const command = /^--(create|delete|expires|name|id)/.test(first) ? ["apikey"] : ["request"];
    if (/^--(name|id)/.test(first)) command.push("--delete");
    if (first.startsWith("--expires")) command.push("--create", "--name", "a", "--roles", "GUEST");
    if (first.startsWith("--base") || first.startsWith("--data")) command.push("--query", "{ a }");
    const isOfUpdate = /^--(no-expiry|enable|(add|remove)-|(roles|permissions)$)/.test(first);
    if (isOfUpdate) command.splice(0, 1, "apikey", "update", "a");
    if (first === "--json") command.splice(0, 1, "apikey", "list");
    if (first === "--follow") command.splice(0, 1, "audit");
    const { stdout: help } = await inProcess([...command.slice(0, command[0] === "apikey" ? 2 : 1), "--help"]);
    const flags = [first, second].flatMap((flag) => help.includes(`${flag} <`) ? [flag, "http://127.0.0.1:1"] : [flag]);
    const { code, stdout, stderr } = await inProcess([...command, ...flags]);
    expect({ pair: [first, second], code }).toEqual({ pair: [first, second], code: 2 });
    for (const flag of [first, second]) expect(stdout + stderr).toContain(flag);
  }));
});

Deno.test("the flags of update and verify complete to roles and permissions like those of create", async () => {
  const wordsFor = async (...words: readonly string[]): Promise<readonly string[]> =>
    Object.keys((await complete(["apikey", ...words])).words);
  const roles = await wordsFor("--roles", "");
  const permissions = await wordsFor("--permissions", "DOCKER:R");
  expect(permissions).toEqual(["DOCKER:READ_ANY", "DOCKER:READ_OWN"]);
  for (const flag of ["--add-roles", "--remove-roles"]) {
    // deno-lint-ignore no-await-in-loop -- one flag at a time
    expect(await wordsFor("update", flag, "")).toEqual(roles);
  }
  for (const words of [["update", "--add-permissions"], ["update", "--remove-permissions"], ["verify", "--can"]]) {
    // deno-lint-ignore no-await-in-loop -- one flag at a time
    expect(await wordsFor(...words, "DOCKER:R")).toEqual(permissions);
  }
});

Deno.test("--roles completes to the roles with their descriptions", async () => {
  expect((await complete(["apikey", "--roles", ""])).words).toMatchObject({
    ADMIN: "Full access to the system",
    VIEWER: "Read-only access",
  });
  expect(await offered(["apikey", "--roles", "v"])).toEqual(["VIEWER"]);
});

for (
  const [how, args] of [["--base-url", ["--base-url", "http://127.0.0.1:1"]], ["an unreadable config file", [
    "--config",
    "/",
  ]]] as const
) {
  Deno.test(`with ${how}, --roles completes to the roles without descriptions, because roles differ by server`, async () => {
    const { words } = await complete(["apikey", ...args, "--roles", ""]);
    expect(words).toEqual({ ADMIN: "", CONNECT: "", VIEWER: "", GUEST: "" });
  });
}

Deno.test("after a comma --roles completes to the other roles", async () => {
  expect(await offered(["apikey", "--roles", "ADMIN,"])).toEqual(["ADMIN,CONNECT", "ADMIN,VIEWER", "ADMIN,GUEST"]);
  expect(await offered(["apikey", "--roles", "guest, admin,c"])).toEqual(["guest, admin,CONNECT"]);
});

Deno.test("--permissions completes to RESOURCE: without a space after it", async () => {
  expect(await complete(["apikey", "--permissions", "do"])).toEqual({
    words: { "DOCKER:": "" },
    directive: ":nospace",
  });
});

Deno.test("after RESOURCE: --permissions completes to the actions", async () => {
  const { words, directive } = await complete(["apikey", "--permissions", "docker:r"]);
  expect(Object.keys(words)).toEqual(["DOCKER:READ_ANY", "DOCKER:READ_OWN"]);
  expect(directive).toBe(":space");
  expect(await offered(["apikey", "--permissions", "NOWHERE:"])).toEqual([]);
});

Deno.test("--permissions and verify --can complete to wildcards with their meanings", async () => {
  for (const words of [["--permissions"], ["update", "--add-permissions"], ["verify", "--can"]]) {
    // deno-lint-ignore no-await-in-loop -- one flag at a time
    expect((await complete(["apikey", ...words, "*"])).words).toEqual({ "*:": "every resource" });
    // deno-lint-ignore no-await-in-loop -- one flag at a time
    expect((await complete(["apikey", ...words, "DOCKER:READ_ANY,docker:*"])).words).toEqual({
      "DOCKER:READ_ANY,DOCKER:*": "every action",
    });
  }
  expect(await offered(["apikey", "--permissions", "*:r"])).toEqual(["*:READ_ANY", "*:READ_OWN"]);
});

Deno.test("--can of list completes to one permission without wildcards", async () => {
  expect(await complete(["apikey", "list", "--can", "do"])).toEqual({
    words: { "DOCKER:": "" },
    directive: ":nospace",
  });
  expect(await complete(["apikey", "list", "--can=docker:READ"])).toEqual({
    words: { "--can=DOCKER:READ_ANY": "", "--can=DOCKER:READ_OWN": "" },
    directive: ":space",
  });
  for (const typed of ["*", "DOCKER:*", "DOCKER:READ_ANY,"]) {
    // deno-lint-ignore no-await-in-loop -- one word at a time
    expect(await offered(["apikey", "list", "--can", typed])).toEqual([]);
  }
});

Deno.test("the flags of list complete to one role and to the orders", async () => {
  expect((await complete(["apikey", "list", "--role", "v"])).words).toEqual({ VIEWER: "Read-only access" });
  expect(await offered(["apikey", "list", "--role", "ADMIN,"])).toEqual([]);
  expect(await offered(["apikey", "list", "--sort", ""])).toEqual(["name", "created", "used", "expires"]);
  expect(await offered(["apikey", "list", "--sort=c"])).toEqual(["--sort=created"]);
});

Deno.test("a permission that is already in the list is not offered again", async () => {
  const list = "DOCKER:READ_ANY,docker:";
  const actions = await offered(["apikey", "--permissions", list]);
  expect(actions).toContain("DOCKER:READ_ANY,DOCKER:READ_OWN");
  expect(actions).not.toContain("DOCKER:READ_ANY,DOCKER:READ_ANY");
  expect(actions).toHaveLength(8);
});

Deno.test("--flag=value completes as one word", async () => {
  expect(await offered(["apikey", "--roles=AD"])).toEqual(["--roles=ADMIN"]);
  expect(await offered(["apikey", "--permissions=DISK:UPDATE_O"])).toEqual(["--permissions=DISK:UPDATE_OWN"]);
});

Deno.test("flags for paths complete to files or directories, and a value after @ completes to files", async () => {
  const directives: readonly (readonly [readonly string[], string])[] = [
    [["apikey", "--key-file", ""], ":files\t"],
    [["apikey", "--ca-file=/e"], ":files\t--ca-file="],
    [["serve", "--tls-cert", "a"], ":files\t"],
    [["serve", "--tls-key", "a"], ":files\t"],
    [["apikey", "--data-dir", "/"], ":directories\t"],
    [["request", "--query", "@q"], ":files\t@"],
    [["request", "--body=@q"], ":files\t--body=@"],
    [["apikey", "--permissions-for", "@q"], ":files\t@"],
    [["needs", "@q"], ":files\t@"],
    [["apikey", "apply", "k"], ":files\t"],
    [["apikey", "apply", "keys.yaml", "--secrets-dir", ""], ":directories\t"],
  ];
  for (const [words, directive] of directives) {
    // deno-lint-ignore no-await-in-loop -- one line at a time
    expect(await complete(words)).toEqual({ words: {}, directive });
  }
});

Deno.test("free text, words after -- and unknown words have no candidates", async () => {
  const lines = [
    ["apikey", "--description", ""],
    ["apikey", "--create", "--name", ""],
    ["request", "--query", ""],
    ["needs", "--", ""],
    ["apikey", "--", ""],
    ["apikey", "--unknown="],
    ["unknown", ""],
  ];
  for (const words of lines) {
    // deno-lint-ignore no-await-in-loop -- one line at a time
    expect(await complete(words)).toEqual(NO_CANDIDATES);
  }
});

async function createKeys(program: Program): Promise<void> {
  await program(["apikey", "--create", "--name", "ci deploy", "--roles", "VIEWER", "--description", "cron on db1"]);
  await program(["apikey", "--create", "--name", "Déploiement", "--permissions", "DOCKER:READ_ANY"]);
}

for (const [source, install] of [["the local store", () => embedded(inProcess)], ["a server", overHttp]] as const) {
  Deno.test(`--delete --name completes to the key names of ${source}, with descriptions`, async () => {
    await using installation = await install();
    const { program } = installation;
    await createKeys(program);
    const { words } = await complete(["apikey", "--delete", "--name", ""], program);
    expect(words).toMatchObject({ "ci deploy": "cron on db1 (VIEWER)", "Déploiement": "" });
    expect(await offered(["apikey", "--delete", "--name=CI"], program)).toEqual(["--name=ci deploy"]);
    expect(await offered(["apikey", "--delete", "--name", "de\u0301"], program)).toEqual(["Déploiement"]);
    expect(await offered(["apikey", "--create", "--overwrite", "--name", "ci"], program)).toEqual(["ci deploy"]);
    expect(await offered(["audit", "--key", "ci"], program)).toEqual(["ci deploy"]);
  });

  Deno.test(`--id completes to the key ids of ${source}, described by the names`, async () => {
    await using installation = await install();
    const { program } = installation;
    await createKeys(program);
    for (const command of [["--delete"], ["delete"], ["show"], ["update"], ["rotate"]]) {
      // deno-lint-ignore no-await-in-loop -- one command at a time
      const { words } = await complete(["apikey", ...command, "--id", "key_"], program);
      expect(Object.keys(words)[0]).toMatch(/^key_\w{22}$/);
      expect(Object.values(words)).toEqual(expect.arrayContaining(["ci deploy", "Déploiement"]));
    }
    expect(await offered(["apikey", "show", "--id", "ci"], program)).toEqual([]);
  });
}

for (const [source, install] of [["the local store", () => embedded(inProcess)], ["a server", overHttp]] as const) {
  Deno.test(`permissions and resource remove complete to the custom resources of ${source}`, async () => {
    await using installation = await install();
    const { program } = installation;
    await program(["resource", "add", "ORDERS", "--description", "orders service"]);
    expect((await complete(["resource", "remove", ""], program)).words).toMatchObject({ ORDERS: "orders service" });
    expect(await offered(["resource", "remove", "D"], program)).toEqual([]);
    for (const words of [["--permissions"], ["update", "--add-permissions"], ["verify", "--can"], ["list", "--can"]]) {
      // deno-lint-ignore no-await-in-loop -- one flag at a time
      expect(await complete(["apikey", ...words, "or"], program)).toEqual({
        words: { "ORDERS:": "" },
        directive: ":nospace",
      });
      // deno-lint-ignore no-await-in-loop -- one flag at a time
      expect(await offered(["apikey", ...words, "orders:read"], program)).toEqual([
        "ORDERS:READ_ANY",
        "ORDERS:READ_OWN",
      ]);
    }
    expect(await offered(["apikey", "--permissions", "DOCKER:READ_ANY,ORD"], program)).toEqual([
      "DOCKER:READ_ANY,ORDERS:",
    ]);
  });
}

Deno.test("the server is not asked to complete the actions of a built-in resource", async () => {
  await using server = startServer(() => Response.json({}));
  const program: Program = (args) => inProcess(args, { env: { SERVICE_API_URL: server.url } });
  expect(await offered(["apikey", "--permissions", "docker:read_a"], program)).toEqual(["DOCKER:READ_ANY"]);
  expect(server.requests).toEqual([]);
  expect(await offered(["apikey", "--permissions", "doc"], program)).toEqual(["DOCKER:"]);
  expect(server.requests).toHaveLength(1);
});

Deno.test("key names come from the store that the command line names", async () => {
  await using installation = await embedded(inProcess);
  await createKeys(installation.program);
  const directory = installation.env.SERVICE_API_DATA_DIR ?? "";
  expect(await offered(["apikey", "--delete", "--data-dir", directory, "--name", "c"])).toEqual(["ci deploy"]);
  const home = { env: { HOME: directory.replace(/\/data$/, "") } };
  const typed = ["apikey", "--delete", "--data-dir", "~/data", "--name", "c"];
  expect(await offered(typed, (args) => inProcess(args, home))).toEqual(["ci deploy"]);
});

Deno.test("completing names creates neither a data directory nor a database", async () => {
  const directory = await Deno.makeTempDir();
  try {
    for (const path of [directory, `${directory}/data`]) {
      // deno-lint-ignore no-await-in-loop -- one directory at a time
      expect(await complete(["apikey", "--delete", "--data-dir", path, "--name", ""])).toEqual(NO_CANDIDATES);
    }
    expect(await Array.fromAsync(Deno.readDir(directory))).toEqual([]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("if the URL is rejected, the server is unreachable, or the key is missing or wrong, no names are offered and no message is printed", async () => {
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
    // deno-lint-ignore no-await-in-loop -- one server at a time
    expect(await complete(["apikey", "--delete", "--name", ""], program)).toEqual(NO_CANDIDATES);
  }
});

Deno.test("if the server does not answer, completion gives up after a second and offers only what it knows", async () => {
  const pending = Promise.withResolvers<Response>();
  await using server = startServer(() => pending.promise);
  const since = performance.now();
  const program: Program = (args) => inProcess(args, { env: { SERVICE_API_URL: server.url } });
  expect(await complete(["apikey", "--delete", "--name", ""], program)).toEqual(NO_CANDIDATES);
  expect(await offered(["apikey", "--permissions", "do"], program)).toEqual(["DOCKER:"]);
  // A request of any other command would end after 30 s.
  expect(performance.now() - since).toBeLessThan(10_000);
  pending.resolve(new Response());
});

Deno.test("completion never reads the key from standard input", async () => {
  await using installation = await overHttp();
  const env = { SERVICE_API_URL: installation.env.SERVICE_API_URL ?? "" };
  for (const [words, more] of [[["--key-file", "-"], {}], [[], { SERVICE_API_KEY_FILE: "-" }]] as const) {
    const host = Object.assign(
      new FakeHost(["__complete", "--", "apikey", "--delete", ...words, "--name", ""], { env: { ...env, ...more } }),
      { stdin: { isTerminal: () => false, readText: () => Promise.reject(new Error("standard input was read")) } },
    );
    // deno-lint-ignore no-await-in-loop -- one line at a time
    expect(await run(host)).toBe(0);
    expect(host.stdout.text).toBe(":space\n");
  }
});

Deno.test("a name or id with a control character is not offered", async () => {
  const apiKeys = ["good-name", "bad\nname", "bad\tname"].map((name) => (
    { id: name, name, description: "a\nb", roles: [], createdAt: null }
  ));
  await using server = startServer(() => Response.json({ data: { apiKeys } }));
  const program: Program = (args) => inProcess(args, { env: { SERVICE_API_URL: server.url } });
  expect((await complete(["apikey", "--delete", "--name", ""], program)).words).toEqual({ "good-name": "a\\u{a}b" });
  expect((await complete(["apikey", "--delete", "--id", ""], program)).words).toEqual({ "good-name": "good-name" });
});

Deno.test("the completions command suggests the nearest shell for an unknown one, and lists all shells if none is given", async () => {
  const unknown = await inProcess(["completions", "Bsh"]);
  expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 2, stdout: "" });
  expect(unknown.stderr).toMatch(/No completion script for "Bsh"\. Did you mean bash\?/);
  const none = await inProcess(["completions"]);
  expect(none.code).toBe(2);
  expect(none.stderr).toMatch(/Choose a shell: bash, zsh, fish, powershell/);
  expect((await inProcess(["completions", "bash", "zsh"])).code).toBe(2);
});

Deno.test("completions prints a script for each shell, and completions --help says how to install each script", async () => {
  const { stdout: help } = await inProcess(["completions", "--help"]);
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    // deno-lint-ignore no-await-in-loop -- one shell at a time
    const { code, stdout, stderr } = await inProcess(["completions", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("__complete");
    expect(help).toContain(`service-api completions ${shell}`);
  }
});

onPosix("file modes")(
  "--profile completes to the profiles of the config file",
  async () => {
    const directory = await Deno.makeTempDir();
    try {
      const path = `${directory}/config.yaml`;
      await Deno.writeTextFile(path, "profiles:\n  staging:\n  production:\n", { mode: 0o600 });
      expect(await offered(["config", "--config", path, "--profile", ""])).toEqual(["staging", "production"]);
      expect(await offered(["config", "--config", path, "--profile=p"])).toEqual(["--profile=production"]);
      expect(await complete(["config", "--config", `${directory}/none`, "--profile", ""])).toEqual(NO_CANDIDATES);
      await Deno.writeTextFile(path, "not: [yaml");
      expect(await complete(["config", "--config", path, "--profile", ""])).toEqual(NO_CANDIDATES);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);
