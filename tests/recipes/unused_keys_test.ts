/** `unused-keys.sh`, and the README's commands that delete what it lists. */
import { expect } from "expect";
import { newKey } from "../store/stored_key.ts";
import { withStoreIn } from "../store/temporary_store.ts";
import { testWith } from "../tools.ts";
import { commandsOf } from "./readme.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

const [list = "", deleteListed = ""] = commandsOf("Unused keys", 2);

interface Age {
  readonly name: string;
  /** Days since the key was created. */
  readonly created: number;
  /** Days since the last use. Without it the key was never used. */
  readonly used?: number;
}

const IN_USE: readonly Age[] = [
  { name: "new", created: 0 },
  { name: "never used for 89 days", created: 89 },
  { name: "old and in use", created: 900, used: 1 },
  { name: "job that runs", created: 0.5 },
  { name: "Jobs Mac", created: 2 },
];

const UNUSED: readonly Age[] = [
  { name: "never used for 91 days", created: 91 },
  { name: "not used for 91 days", created: 900, used: 91 },
  { name: "job that died", created: 1.1, used: 1.1 },
];

/** Adds keys to the local store, which the commands use with the variables that this returns. */
async function addKeys(here: Workspace, ages: readonly Age[]): Promise<Readonly<Record<string, string>>> {
  const daysAgo = (days: number): Date => new Date(Date.now() - days * 24 * 3_600_000);
  const origin = { at: new Date(), actor: null, address: null, requestId: null };
  await withStoreIn(`${here.directory}/data`, async (store) => {
    for (const { name, created, used } of ages) {
      const lastUsedAt = used === undefined ? null : daysAgo(used);
      // deno-lint-ignore no-await-in-loop -- in this order
      await store.add(await newKey(name, { createdAt: daysAgo(created), lastUsedAt }), origin, () => {});
    }
  });
  return { SERVICE_API_URL: "", SERVICE_API_KEY_FILE: "", SERVICE_API_DATA_DIR: `${here.directory}/data` };
}

testWith(
  ["sh", "jq"],
  "unused-keys lists unused keys and old job keys, and the README's loop deletes them",
  async () => {
    await using here = await openWorkspace();
    const env = { PATH: `${here.directory}:${here.env["PATH"]}`, ...await addKeys(here, [...IN_USE, ...UNUSED]) };
    expect(await here.run(["sh", "-euc", list], { env })).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await here.read("unused.txt")).toBe(UNUSED.map(({ name }) => `${name}\n`).join(""));

    expect(await here.run(["sh", "-euc", deleteListed], { env })).toMatchObject({ code: 0, stderr: "" });
    const { stdout } = await here.run(["service-api", "request", "--query", "{ apiKeys { name } }"], { env });
    expect(JSON.parse(stdout).data.apiKeys).toEqual(IN_USE.map(({ name }) => ({ name })));
  },
);

testWith(["sh", "jq"], "unused-keys lists nothing and fails if the server does not answer", async () => {
  await using here = await openWorkspace();
  const env = { SERVICE_API_URL: "http://127.0.0.1:1" };
  expect(await here.run(["sh", "unused-keys.sh"], { env })).toMatchObject({ code: 4, stdout: "" });
});
