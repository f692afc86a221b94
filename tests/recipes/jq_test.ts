/** The recipes that read the JSON of the program with jq. */
import { expect } from "expect";
import { newKey } from "../store/stored_key.ts";
import { withStoreIn } from "../store/temporary_store.ts";
import { recipe } from "./blocks.ts";
import { modeOf, openPlace, type Place } from "./place.ts";
import { testWith } from "../tools.ts";

const [STALE = "", DELETE = "", DECIDE = ""] = recipe("jq", ["sh", "sh", "sh"]);

const DAY = 24 * 3_600_000;

/** A key that is so many days old, and was used so many days ago. */
interface Age {
  readonly name: string;
  readonly made: number;
  readonly used?: number;
}

async function addKeys(here: Place, ages: readonly Age[]): Promise<void> {
  const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY);
  const origin = { at: new Date(), actor: null, address: null, requestId: null };
  await withStoreIn(`${here.directory}/data`, async (store) => {
    for (const { name, made, used } of ages) {
      // deno-lint-ignore no-await-in-loop -- in this order
      const key = await newKey(name, {
        createdAt: daysAgo(made),
        lastUsedAt: used === undefined ? null : daysAgo(used),
      });
      // deno-lint-ignore no-await-in-loop -- as above
      await store.add(key, origin, () => {});
    }
  });
}

const FRESH: readonly Age[] = [
  { name: "new", made: 0 },
  { name: "never used for 89 days", made: 89 },
  { name: "old and in use", made: 900, used: 1 },
  { name: "job under way", made: 0.5 },
  { name: "Jobs Mac", made: 2 },
];

const STALE_KEYS: readonly Age[] = [
  { name: "never used for 91 days", made: 91 },
  { name: "not used for 91 days", made: 900, used: 91 },
  { name: "job that died", made: 1.1, used: 1.1 },
];

testWith(
  ["sh", "jq"],
  "what nobody uses is listed, and then deleted",
  async () => {
    await using here = await openPlace();
    await addKeys(here, [...FRESH, ...STALE_KEYS]);
    expect(await here.run(["sh", "-uc", STALE])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await here.read("stale.txt")).toBe(STALE_KEYS.map(({ name }) => `${name}\n`).join(""));

    await here.run(["service-api", "apikey", "--delete", "--name", "not used for 91 days"]);
    expect(await here.run(["sh", "-uc", DELETE])).toEqual({
      code: 0,
      stdout: "never used for 91 days\nNo API key found with name: not used for 91 days\njob that died\n",
      stderr: "",
    });
    expect(await here.keyNames()).toEqual(FRESH.map(({ name }) => name));
  },
);

testWith(
  ["sh", "jq"],
  "nothing is listed of a server that does not answer",
  async () => {
    await using here = await openPlace();
    await here.write("stale.txt", "of yesterday\n");
    const env = { ...here.env, SERVICE_API_URL: "http://127.0.0.1:1" };
    expect(await here.run(["sh", "-uc", STALE], { env })).toMatchObject({ code: 4, stdout: "" });
    expect(await here.read("stale.txt")).toBe("of yesterday\n");
  },
);

testWith(["sh", "jq"], "the code of a failure decides what to do", async () => {
  await using here = await openPlace();
  const decide = (env: Readonly<Record<string, string>> = {}): ReturnType<Place["run"]> =>
    here.run(["sh", "-euc", DECIDE], { env: { ...here.env, ...env } });
  expect(await decide({ SERVICE_API_URL: "http://127.0.0.1:1" })).toEqual({
    code: 75,
    stdout: "",
    stderr: "The server is away: try again later.\n",
  });
  expect(await decide()).toEqual({ code: 0, stdout: "", stderr: "" });
  const secret = await here.read("report.key");
  expect(await here.nameOf(secret)).toBe("report");
  expect(await modeOf(`${here.directory}/report.key`)).toBe("0600");

  expect(await decide()).toEqual({
    code: 0,
    stdout: "There is a key already: report.key stays as it is.\n",
    stderr: "",
  });
  expect(await here.read("report.key")).toBe(secret);

  const weak = { SERVICE_API_KEY_FILE: `${here.directory}/report.key` };
  expect(await decide(weak)).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("API_KEY:CREATE_ANY") });
});
