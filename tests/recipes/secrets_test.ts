/** The recipes for secrets managers: Vault, by a stand-in that takes what they call, and `pass` itself. */
import { expect } from "expect";
import { recipe } from "./blocks.ts";
import { openPlace, type Place } from "./place.ts";
import { testWith } from "../tools.ts";

const [VAULT = "", PASS = ""] = recipe("Secrets managers", ["sh", "sh"]);

/** A block without its last paragraph, which reads the secret, and that. */
function halves(block: string): readonly [store: string, use: string] {
  const [store = "", use = "", ...others] = block.split("\n\n");
  if (others.length > 0 || use === "") throw new Error("the block has not two paragraphs");
  return [store, use];
}

const SHELLS = [["bash", "-c"], ["dash", "-c"]] as const;

const USED = { code: 0, stdout: '{"data":{"me":{"name":"report"}}}\n', stderr: "" };

/** Keeps secrets in files. */
const VAULT_STAND_IN = `#!/bin/sh
case "$*" in
  "kv put -mount=secret report key=-") exec cat > "$HOME/vault" ;;
  "kv get -mount=secret -field=key report") [ -e "$HOME/vault" ] && exec cat "$HOME/vault" ;;
esac
echo "vault: no value found, or an unknown command: $*" >&2
exit 2
`;

async function vaultPlace(): Promise<Place> {
  const here = await openPlace();
  await here.write("bin/vault", VAULT_STAND_IN, 0o755);
  return here;
}

/** The environment in which a secret is read: there is no key but that. */
function withoutKey(here: Place): Record<string, string> {
  const { SERVICE_API_KEY_FILE: _, ...env } = here.env;
  return env;
}

for (const shell of SHELLS) {
  const [name] = shell;
  const [store, use] = halves(VAULT);

  testWith([name], `${name}: a secret goes into Vault and comes out of it`, async () => {
    await using here = await vaultPlace();
    expect(await here.run([...shell, store])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await here.read("vault")).toMatch(/^sak_\w+$/);
    expect(await here.run([...shell, use], { env: withoutKey(here) })).toEqual(USED);
  });

  testWith([name], `${name}: nothing is stored in Vault when there is no key`, async () => {
    await using here = await vaultPlace();
    await here.write("vault", "what is there");
    const env = { ...here.env, SERVICE_API_URL: "http://127.0.0.1:1" };
    expect(await here.run([...shell, store], { env })).toMatchObject({ code: 4 });
    expect(await here.read("vault")).toBe("what is there");
  });

  testWith([name], `${name}: nothing is asked without the secret from Vault`, async () => {
    await using here = await vaultPlace();
    expect(await here.run([...shell, use])).toMatchObject({ code: 2, stdout: "" });
  });
}

testWith(["sh"], "Vault's refusal is the status of storing a secret", async () => {
  await using here = await vaultPlace();
  await here.write("bin/vault", "#!/bin/sh\necho sealed >&2\nexit 2\n", 0o755);
  const [store] = halves(VAULT);
  expect(await here.run(["sh", "-c", store])).toEqual({ code: 2, stdout: "", stderr: "sealed\n" });
});

/** A place with an empty password store and a key of GnuPG for it. */
async function passPlace(): Promise<Place> {
  const here = await openPlace();
  const env = { ...here.env, GNUPGHOME: `${here.directory}/gnupg`, PASSWORD_STORE_DIR: `${here.directory}/passwords` };
  await Deno.mkdir(env.GNUPGHOME, { mode: 0o700 });
  const setUp =
    "gpg --batch --quiet --passphrase '' --quick-generate-key ops@example.com future-default && pass init ops@example.com";
  const { code, stderr } = await here.run(["sh", "-c", setUp], { env });
  if (code !== 0) throw new Error(stderr);
  return {
    ...here,
    env,
    run: (command, options) => here.run(command, { env, ...options }),
    [Symbol.asyncDispose]: async () => {
      await here.run(["gpgconf", "--kill", "all"], { env });
      await here[Symbol.asyncDispose]();
    },
  };
}

for (const shell of SHELLS) {
  const [name] = shell;
  testWith([name, "pass", "gpg"], `${name}: a secret goes into pass and comes out of it`, async () => {
    await using here = await passPlace();
    const [store, use] = halves(PASS);
    expect(await here.run([...shell, use], { env: withoutKey(here) })).toMatchObject({ code: 1, stdout: "" });
    for (const _ of ["first", "second"]) {
      // deno-lint-ignore no-await-in-loop -- the second replaces the first
      expect(await here.run([...shell, store])).toEqual({ code: 0, stdout: "", stderr: "" });
      // deno-lint-ignore no-await-in-loop -- as above
      expect(await here.run([...shell, use], { env: withoutKey(here) })).toEqual(USED);
    }
    const env = { ...here.env, SERVICE_API_URL: "http://127.0.0.1:1" };
    expect(await here.run([...shell, store], { env })).toMatchObject({ code: 4 });
    expect(await here.run([...shell, use], { env: withoutKey(here) })).toEqual(USED);
  });
}
