/** The commands of the README that list and delete unused keys. */
import { expect } from "expect";
import { newKey } from "../store/stored_key.ts";
import { withStoreIn } from "../store/temporary_store.ts";
import { testWith } from "../tools.ts";
import { commandsOf } from "./readme.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

const [list = "", deleteUnused = ""] = commandsOf("Unused keys", 2);

interface TestKey {
  readonly name: string;
  /** Days since the key was created. */
  readonly created: number;
  /** Days since the last use; `undefined` if the key was never used. */
  readonly used?: number;
}

const IN_USE: readonly TestKey[] = [
  { name: "new", created: 0 },
  { name: "never used for 89 days", created: 89 },
  { name: "old and in use", created: 900, used: 1 },
  { name: "job that runs", created: 0.5 },
  { name: "Jobs Mac", created: 2 },
];

const UNUSED: readonly TestKey[] = [
  { name: "never used for 91 days", created: 91 },
  { name: "not used for 91 days", created: 900, used: 91 },
  { name: "job that died", created: 1.1, used: 1.1 },
];

/** Adds keys to a local store and returns the variables that select this store. */
async function addKeys(workspace: Workspace, keys: readonly TestKey[]): Promise<Readonly<Record<string, string>>> {
  const daysAgo = (days: number): Date => new Date(Date.now() - days * 24 * 3_600_000);
  const origin = { at: new Date(), actor: null, address: null, requestId: null };
  await withStoreIn(`${workspace.directory}/data`, async (store) => {
    for (const { name, created, used } of keys) {
      const lastUsedAt = used === undefined ? null : daysAgo(used);
      // deno-lint-ignore no-await-in-loop -- keeps the order of creation
      await store.add(await newKey(name, { createdAt: daysAgo(created), lastUsedAt }), origin, () => {});
    }
  });
  return { SERVICE_API_URL: "", SERVICE_API_KEY_FILE: "", SERVICE_API_DATA_DIR: `${workspace.directory}/data` };
}

testWith(["sh"], "the README's commands list and delete the unused keys and the old keys of jobs", async () => {
  await using workspace = await openWorkspace();
  const env = await addKeys(workspace, [...IN_USE, ...UNUSED]);
  const listed = await workspace.run(["sh", "-euc", list], { env });
  expect({ code: listed.code, stderr: listed.stderr }).toEqual({ code: 0, stderr: "" });
  const names = [...listed.stdout.matchAll(/^[^\t\n]+/gm)].map(([name]) => name);
  expect(names).toEqual(UNUSED.map(({ name }) => name));

  expect(await workspace.run(["sh", "-euc", deleteUnused], { env })).toEqual({
    code: 0,
    stdout: "Successfully deleted 2 API keys\nSuccessfully deleted 1 API key\n",
    stderr: "",
  });
  const { stdout } = await workspace.run(["service-api", "request", "--query", "{ apiKeys { name } }"], { env });
  expect(JSON.parse(stdout).data.apiKeys).toEqual(IN_USE.map(({ name }) => ({ name })));
});
