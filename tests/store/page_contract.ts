/** The tests about reading keys page by page that every `KeyStore` must pass. They run on SQLite and on PostgreSQL. */
import { expect } from "expect";
import type { KeySort, OrderedKey, PageOptions, Position } from "../../src/store/key_order.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import { addAll, addInParallel, allowAny, inSequence, LOCAL } from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { newKey, newKeys } from "./stored_key.ts";
import { renameTo, set } from "./update_contract.ts";

const SORTS: readonly KeySort[] = ["CREATED", "NAME", "USED", "EXPIRES"];

/** Reads all pages. Calls `betweenPages` before each page after the first. */
async function readPages(
  store: KeyStore,
  options: Omit<PageOptions, "after">,
  betweenPages?: () => Promise<unknown>,
  after?: Position,
): Promise<readonly OrderedKey[]> {
  const page = await store.listPage({ ...options, after });
  if (page.length < options.limit) return page;
  await betweenPages?.();
  return [...page, ...await readPages(store, options, betweenPages, page.at(-1)?.position)];
}

function namesOf(page: readonly OrderedKey[]): readonly string[] {
  return page.map(({ key }) => key.name);
}

/** Registers the tests for one database engine. */
export function testPages(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  const day = (date: number): Date => new Date(Date.UTC(2030, 0, date));

  /** Six keys. Two were last used at the same time, two expire at the same time. */
  async function addSix(store: KeyStore, owner: string): Promise<void> {
    await addAll(
      store,
      await Promise.all([
        // By code point, ﬀ (U+FB00) comes before 𝒳 (U+1D4B3). By UTF-16 code unit, it would come after it.
        newKey("𝒳", { lastUsedAt: day(3), expiresAt: null, createdBy: owner }),
        newKey("ﬀ", { lastUsedAt: null, expiresAt: day(2) }),
        newKey("b", { lastUsedAt: day(1), expiresAt: day(9), createdBy: owner }),
        newKey("B", { lastUsedAt: day(3), expiresAt: day(2), createdBy: owner }),
        newKey("a b", { lastUsedAt: null, expiresAt: null }),
        newKey("ab", { lastUsedAt: day(2), expiresAt: day(1), id: owner }),
      ]),
    );
  }

  for (
    const [sort, order] of [
      ["CREATED", ["𝒳", "ﬀ", "b", "B", "a b", "ab"]],
      ["NAME", ["B", "a b", "ab", "b", "ﬀ", "𝒳"]],
      ["USED", ["ﬀ", "a b", "b", "ab", "𝒳", "B"]],
      ["EXPIRES", ["ab", "ﬀ", "B", "b", "𝒳", "a b"]],
    ] as const
  ) {
    test(`Pages of any size in the order ${sort} list all keys in that order`, () =>
      withNewStore(engine, async (store) => {
        await addSix(store, "key_owner");
        await inSequence([1, 2, 3, 4, 5, 6, 7], async (limit) => {
          expect(namesOf(await readPages(store, { sort, limit }))).toEqual(order);
        });
      }));

    test(`Pages with an owner in the order ${sort} list only the owner and the keys that it created`, () =>
      withNewStore(engine, async (store) => {
        await addSix(store, "key_owner");
        const own = order.filter((name) => name !== "ﬀ" && name !== "a b");
        expect(namesOf(await readPages(store, { sort, limit: 1, owner: "key_owner" }))).toEqual(own);
        expect(namesOf(await readPages(store, { sort, limit: 3, owner: "key_owner" }))).toEqual(own);
        expect(await store.listPage({ sort, limit: 3, owner: "key_nowhere" })).toEqual([]);
      }));
  }

  test("A page holds whole keys, and no more than the limit", () =>
    withNewStore(engine, async (store) => {
      const keys = await newKeys(3);
      await addAll(store, keys);
      const page = await store.listPage({ sort: "CREATED", limit: 2 });
      expect(page.map(({ key }) => key)).toEqual(keys.slice(0, 2));
    }));

  test("A page can begin after a key that was removed meanwhile", () =>
    withNewStore(engine, async (store) => {
      await addAll(store, await newKeys(3));
      await inSequence(SORTS, async (sort) => {
        const [first, second] = await store.listPage({ sort, limit: 2 });
        const third = await store.listPage({ sort, limit: 2, after: second?.position });
        await store.remove([second?.key.id ?? ""], LOCAL, allowAny);
        expect(await store.listPage({ sort, limit: 2, after: second?.position })).toEqual(third);
        expect(await store.listPage({ sort, limit: 2, after: first?.position })).toEqual(third);
        await store.add(await newKey(second?.key.name ?? ""), LOCAL, allowAny);
      });
    }));

  test("While keys are added, removed, renamed and used, pages in the order CREATED return each key that stays exactly once, in order", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(120);
      await addInParallel(one, keys);
      const order = (await readPages(one, { sort: "CREATED", limit: 500 })).map(({ key }) => key.id);
      const staying = order.filter((_id, i) => i % 3 !== 0);
      const leaving = order.filter((_id, i) => i % 3 === 0);
      let round = 0;
      const churn = async (): Promise<void> => {
        const i = round++;
        const [first = "", last = ""] = [leaving.shift(), leaving.pop()];
        await Promise.all([
          two.remove([first], LOCAL, allowAny),
          two.remove([last], LOCAL, allowAny),
          two.add(await newKey(`late ${i}`), LOCAL, allowAny),
          one.update({ id: staying[i] ?? "" }, LOCAL, ...renameTo(`a renamed ${i}`)),
          one.update({ id: staying.at(-i - 1) ?? "" }, LOCAL, { action: "UPDATE" }, set({ expiresAt: day(i + 1) })),
          one.recordUses(new Map([[staying[2 * i] ?? "", day(i + 1)]])),
        ]);
      };
      const seen = (await readPages(one, { sort: "CREATED", limit: 7 }, churn)).map(({ key }) => key.id);
      expect(round).toBeGreaterThan(10);
      expect(seen.filter((id) => staying.includes(id))).toEqual(staying);
      expect(new Set(seen).size).toBe(seen.length);
    }));
}
