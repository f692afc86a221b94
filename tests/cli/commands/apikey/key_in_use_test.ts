/** What commands do if the key in use gets a new secret: the offer to store it, and the warning. */
import { expect } from "expect";
import { configHome } from "../../config_file/config_home.ts";
import { overHttp } from "../../../program/installations.ts";
import { inProcess, type Program, withEnv } from "../../../program/program.ts";
import { type AtTerminal, runAtTerminal } from "../../../program/terminal_host.ts";

/** A server, and a profile "prod" with its key "admin". */
interface LoggedIn {
  readonly program: Program;
  readonly at: AtTerminal;
  readonly url: string;
  /** The directory of the config file. */
  readonly directory: string;
  /** Whether the profile has a valid key. */
  readonly canUseProfile: () => Promise<boolean>;
}

async function withProfile(run: (loggedIn: LoggedIn) => Promise<void>): Promise<void> {
  await using server = await overHttp();
  await using home = await configHome();
  const { SERVICE_API_URL = "", SERVICE_API_KEY: stdin = "" } = server.env;
  const url = SERVICE_API_URL.replace("/graphql", "");
  const env = { HOME: home.home };
  const program = withEnv(inProcess, env);
  const login = ["login", "--profile", "prod", "--base-url", url, "--key-file", "-"];
  expect(await program(login, { stdin })).toMatchObject({ code: 0 });
  await run({
    program,
    at: { env },
    url,
    directory: home.directory,
    canUseProfile: async () => (await program(["apikey", "list", "--profile", "prod"])).code === 0,
  });
}

const ROTATE = ["apikey", "rotate", "admin", "--profile", "prod"];
const OVERWRITE = ["apikey", "--create", "--name", "admin", "--roles", "ADMIN", "--overwrite", "--profile", "prod"];

for (const [command, args] of [["rotate", ROTATE], ["--create --overwrite", OVERWRITE]] as const) {
  Deno.test(`if a script runs ${command} for the key of its profile, a warning has the command that stores the new secret`, async () => {
    await withProfile(async ({ program, url, canUseProfile }) => {
      const { code, stdout, stderr } = await program(args);
      expect(code).toBe(0);
      expect(stderr).toBe(
        'Warning: "admin" is the key in use. Its old secret in profile "prod" no longer works. To store the new secret, ' +
          `pipe it to: service-api login --profile prod --base-url ${url} --key-file -\n`,
      );
      expect(await canUseProfile()).toBe(false);
      const command = /to: service-api (.*)\n/.exec(stderr)?.[1]?.split(" ") ?? [];
      expect(await program(command, { stdin: stdout })).toMatchObject({ code: 0 });
      expect(await canUseProfile()).toBe(true);
    });
  });
}

Deno.test("the command in the warning reads the file of --secret-file, and --json stays one line", async () => {
  await withProfile(async ({ program, directory, canUseProfile }) => {
    const file = `${directory}/new.key`;
    const { stdout, stderr } = await program([...ROTATE, "--secret-file", file, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ name: "admin", secretFile: file });
    const command = /run: service-api (.*)\n/.exec(stderr)?.[1]?.split(" ") ?? [];
    expect(command.slice(-2)).toEqual(["--key-file", file]);
    expect(await program(command)).toMatchObject({ code: 0 });
    expect(await canUseProfile()).toBe(true);
  });
});

Deno.test("rotating the key in use with --grace warns until when its old secret works", async () => {
  await withProfile(async ({ program, canUseProfile }) => {
    const { stderr } = await program([...ROTATE, "--grace", "2h"]);
    expect(stderr).toMatch(/Its old secret in profile "prod" works until \d{4}-\S+Z \(in .+\)\. To store/);
    expect(await canUseProfile()).toBe(true);
  });
});

Deno.test("at a terminal, if the profile has the old secret of its key, the server refuses the rotation before anything is asked", async () => {
  await withProfile(async ({ program, at }) => {
    await program([...ROTATE, "--grace", "2h"]);
    const { host, code } = runAtTerminal(ROTATE, at);
    expect(await code).toBe(3);
    expect(host.stderr.text).toContain("Rotating your own key needs its current secret.");
    expect(host.stderr.text).not.toContain("Store the new secret");
  });
});

Deno.test("if SERVICE_API_KEY has the key in use, the warning names this variable", async () => {
  await using server = await overHttp();
  const { stderr } = await server.program(["apikey", "rotate", "admin"]);
  expect(stderr).toBe(
    'Warning: "admin" is the key in use. Its old secret in SERVICE_API_KEY no longer works. Set SERVICE_API_KEY to the ' +
      "new secret.\n",
  );
});

Deno.test("if a key file has the key in use, the warning names the file, unless --secret-file replaces it", async () => {
  await withProfile(async ({ program, url, directory }) => {
    const file = `${directory}/keys/prod.key`;
    const env = { SERVICE_API_URL: url, SERVICE_API_KEY_FILE: file };
    const replaced = await program(["apikey", "rotate", "admin", "--secret-file", file, "--overwrite"], { env });
    expect(replaced).toEqual({ code: 0, stdout: "", stderr: "" });
    const { stderr } = await program(["apikey", "rotate", "admin"], { env });
    expect(stderr).toContain(
      `Its old secret in "${file}" (SERVICE_API_KEY_FILE) no longer works. Write the new secret to this file. The next ` +
        `time, add --secret-file ${file} --overwrite.`,
    );
  });
});

Deno.test("at a terminal, if --secret-file replaces the file of the key in use, rotate says until when the old secret works", async () => {
  await withProfile(async ({ at, directory }) => {
    const file = `${directory}/keys/prod.key`;
    const { host, code } = runAtTerminal([...ROTATE, "--grace", "1h", "--secret-file", file, "--overwrite"], at);
    expect(await code).toBe(0);
    expect(host.stderr.text).toMatch(/The old secret works until \d{4}-\S+Z \(in 60m\)\./);
  });
});

Deno.test("rotating another key, or creating one with --overwrite, has no warning", async () => {
  await withProfile(async ({ program }) => {
    const create = ["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--overwrite", "--profile", "prod"];
    expect(await program(create)).toMatchObject({ code: 0, stderr: "" });
    expect(await program(create)).toMatchObject({ code: 0, stderr: "" });
    expect(await program(["apikey", "rotate", "ci", "--profile", "prod"])).toMatchObject({ code: 0, stderr: "" });
  });
});

for (const [answer, isStored] of [["y", true], ["n", false]] as const) {
  const says = isStored ? "stores the new secret in the profile" : "warns that the profile has the old secret";
  Deno.test(`at a terminal, rotate offers to store the secret of the key in use; the answer ${answer} ${says}`, async () => {
    await withProfile(async ({ at, canUseProfile }) => {
      const { host, screen, code } = runAtTerminal(ROTATE, { ...at, showsOutput: true });
      await screen.until(/This is the key in use\. Store the new secret in profile "prod"\? \(Y\/n\)/);
      expect(await screen.text()).toContain("\n  the key gets a new secret either way; ctrl-c cancels\n");
      screen.press(answer);
      expect(await code).toBe(0);
      expect(host.stdout.text).toMatch(/^sak_\w{49}\n$/);
      expect(await canUseProfile()).toBe(isStored);
      expect(host.stderr.text).toContain(
        isStored
          ? '\nStored the new secret in profile "prod". The old secret no longer works.\n'
          : '\nWarning: "admin" is the key in use. Its old secret in profile "prod" no longer\nworks. To store',
      );
      expect(host.stderr.text.includes("cannot be shown again")).toBe(!isStored);
    });
  });
}

Deno.test("if the file of the profile's key cannot be replaced, rotate fails before the key has a new secret", async () => {
  await withProfile(async ({ at, directory, canUseProfile }) => {
    const { host, screen, code } = runAtTerminal(ROTATE, at);
    await screen.until(/Store the new secret/);
    const file = `${directory}/keys/prod.key`;
    const key = await Deno.readTextFile(file);
    await Deno.remove(file);
    await Deno.mkdir(file);
    screen.press("y");
    expect(await code).not.toBe(0);
    expect(host.stdout.text).toBe("");
    await Deno.remove(file);
    await Deno.writeTextFile(file, key, { mode: 0o600 });
    expect(await canUseProfile()).toBe(true);
  });
});

Deno.test("Ctrl-C at the offer to store the new secret leaves the key unchanged", async () => {
  await withProfile(async ({ at, canUseProfile }) => {
    const { screen, code } = runAtTerminal(ROTATE, at);
    await screen.until(/Store the new secret/);
    screen.press("\x03");
    expect(await code).toBe(130);
    expect(await canUseProfile()).toBe(true);
  });
});
