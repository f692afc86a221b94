/** The remedy in the message for a rejected key: it differs by reason, and between a server and the embedded server. */
import { expect } from "expect";
import { makeSecret, SECRET_BYTES } from "../../../src/apikey/secret.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { inProcess } from "../../program/program.ts";
import { configHome } from "../config_file/config_home.ts";

const UNKNOWN = makeSecret(new Uint8Array(SECRET_BYTES));

for (
  const [what, open, remedy] of [
    ["a server", overHttp, "Set a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login."],
    [
      "the embedded server, used because no server is set,",
      () => embedded(inProcess),
      "No other server is selected, so the embedded server checked the key. Set the key's server with --base-url or " +
      "SERVICE_API_URL, or use no key.",
    ],
  ] as const
) {
  for (const [kind, key] of [["it does not know", UNKNOWN], ["is incomplete", UNKNOWN.slice(0, -1)]] as const) {
    Deno.test(`${what} rejects a key that ${kind}, and the message names the remedy`, async () => {
      await using installation = await open();
      const { code, stdout, stderr } = await installation.program(
        ["apikey", "--create", "--name", "deploy", "--roles", "VIEWER"],
        { env: { SERVICE_API_KEY: key } },
      );
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr.slice(-remedy.length - 2)).toBe(` ${remedy}\n`);
    });
  }
}

for (
  const [what, open, otherWay] of [
    ["a server", overHttp, " The key is in SERVICE_API_KEY."],
    [
      "the embedded server",
      () => embedded(inProcess),
      " The key is in SERVICE_API_KEY. The embedded server also accepts commands without a key.",
    ],
  ] as const
) {
  for (
    const [state, change, remedy] of [
      ["disabled", ["update", "ci", "--disable"], `enable it with service-api apikey update NAME --enable.${otherWay}`],
      [
        "rotated",
        ["rotate", "ci"],
        "Use the new secret. Pass it with SERVICE_API_KEY or --key-file, or store it with service-api login. The old " +
        "secret is in SERVICE_API_KEY.",
      ],
    ] as const
  ) {
    Deno.test(`${what} rejects a ${state} key, and the message says how to continue with this key`, async () => {
      await using installation = await open();
      const { program } = installation;
      const made = await program(["apikey", "--create", "--name", "ci", "--roles", "VIEWER"]);
      await program(["apikey", ...change]);
      const { code, stderr } = await program(["apikey", "list"], { env: { SERVICE_API_KEY: made.stdout.trim() } });
      expect(code).toBe(3);
      expect(stderr).toMatch(/^service-api: [^.]*\./);
      expect(stderr.slice(-remedy.length - 2)).toBe(` ${remedy}\n`);
    });
  }
}

const USUAL = "Set a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login.";

for (
  const [what, args, variables, remedy] of [
    ["a variable", [], { SERVICE_API_KEY: UNKNOWN }, `The key is in SERVICE_API_KEY. ${USUAL}`],
    ["--key-file", ["--key-file", "PATH"], {}, `The key is in "PATH" (--key-file). ${USUAL}`],
    [
      "a variable with a file",
      [],
      { SERVICE_API_KEY_FILE: "PATH" },
      `The key is in "PATH" (SERVICE_API_KEY_FILE). ${USUAL}`,
    ],
    [
      "a profile",
      ["--profile", "prod"],
      {},
      'The key is in "PATH" (profile "prod"). Run service-api login --profile prod --base-url URL to store a valid key.',
    ],
  ] as const
) {
  Deno.test(`if a server rejects the key of ${what}, the message says where this key is`, async () => {
    await using installation = await overHttp();
    const url = installation.env["SERVICE_API_URL"] ?? "";
    await using home = await configHome(`profiles:\n  prod: { base-url: "${url}", key-file: own.key }\n`);
    const path = `${home.directory}/own.key`;
    await Deno.writeTextFile(path, UNKNOWN, { mode: 0o600 });
    const fill = (text: string): string => text.replace("PATH", path).replace("URL", url);
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, fill(value)]));
    const { stderr } = await home.run(["apikey", "list", ...args.map(fill)], {
      env: args.length > 0 && args[0] === "--profile" ? env : { SERVICE_API_URL: url, ...env },
    });
    expect(stderr.slice(-fill(remedy).length - 2)).toBe(` ${fill(remedy)}\n`);
  });
}

Deno.test("if a server needs a key, the message has the login command for the selected profile", async () => {
  await using installation = await overHttp();
  const url = installation.env["SERVICE_API_URL"] ?? "";
  await using home = await configHome(`profiles:\n  prod: { base-url: "${url}" }\n  default: { base-url: "${url}" }\n`);
  const problem = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
    (await home.run(["apikey", "list", ...args], { env })).stderr;
  const remedy = "Set a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login";
  expect(await problem([])).toContain(` ${remedy}.\n`);
  expect(await problem(["--profile", "prod"])).toContain(` ${remedy} --profile prod.\n`);
  expect(await problem([], { SERVICE_API_PROFILE: "prod", SERVICE_API_KEY: UNKNOWN })).toContain(
    ` The key is in SERVICE_API_KEY. ${remedy} --profile prod.\n`,
  );
  expect(await problem(["--profile", "prod", "--config", home.path])).toContain(
    ` ${remedy} --profile prod --config ${home.path}.\n`,
  );
});

Deno.test("if the secret of a profile was rotated, the message says how to store the new one in the profile", async () => {
  await using installation = await overHttp();
  const { program } = installation;
  const url = installation.env["SERVICE_API_URL"] ?? "";
  const made = await program(["apikey", "--create", "--name", "ci", "--roles", "VIEWER"]);
  await program(["apikey", "rotate", "ci"]);
  await using home = await configHome(`profiles:\n  default: { base-url: "${url}", key-file: own.key }\n`);
  await Deno.writeTextFile(`${home.directory}/own.key`, made.stdout, { mode: 0o600 });
  const { stderr } = await home.run(["apikey", "list"]);
  expect(stderr).toContain(
    `Use the new secret. Run service-api login --profile default --base-url ${url} to store it. The old secret is in ` +
      `"${home.directory}/own.key" (profile "default").\n`,
  );
});
