/** Makes changes to stores in tests: callers, preconditions, and functions that make many changes. */
import { nameTaken } from "../../src/apikey/name.ts";
import type { Origin } from "../../src/store/audit_event.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { newKey } from "./stored_key.ts";

/** A change by the local caller. */
export const LOCAL: Origin = {
  at: new Date("2026-03-04T05:06:07.089Z"),
  actor: null,
  address: null,
  requestId: null,
};

/** A change by a key over the network. The key exists only after `addDeployer`. */
export const REMOTE: Origin = {
  at: new Date("2026-04-05T06:07:08.009Z"),
  actor: { id: "key_0123456789abcdefghijkl", name: "deployer" },
  address: "2001:db8::7",
  requestId: "4f1c9a52-7d1e-4c7e-9a6b-0d9d8a6f1b11",
};

/** Adds the key in `REMOTE`. A store rejects changes by keys that do not exist. */
export async function addDeployer(store: KeyStore): Promise<void> {
  await store.add(await newKey("deployer", { id: REMOTE.actor?.id ?? "" }), LOCAL, rejectTakenName);
}

/** Allows every change. */
export function allowAny(): void {}

/** The precondition for creating a key without `overwrite`. */
export function rejectTakenName(held: StoredKey | undefined): void {
  if (held !== undefined) throw nameTaken(held.name);
}

/** Adds keys one after the other. Their names must not be taken. */
export async function addAll(store: KeyStore, keys: readonly StoredKey[]): Promise<void> {
  await inSequence(keys, (key) => store.add(key, LOCAL, rejectTakenName));
}

/** Adds keys concurrently, so the store lists them in any order. */
export async function addInParallel(store: KeyStore, keys: readonly StoredKey[]): Promise<void> {
  await inBatches(keys, (key) => store.add(key, LOCAL, rejectTakenName));
}

/** Returns all keys that `list` yields. */
export function listKeys(store: KeyStore, owner?: string): Promise<readonly StoredKey[]> {
  return Array.fromAsync(store.list(owner));
}

/** Calls `act` with each item, and awaits each call before the next. */
export async function inSequence<Item>(items: Iterable<Item>, act: (item: Item) => Promise<unknown>): Promise<void> {
  for (const item of items) {
    // deno-lint-ignore no-await-in-loop -- this function calls one after the other
    await act(item);
  }
}

/** The maximum number of concurrent changes. With more of them, some would exceed their timeout on a slow machine. */
const BATCH = 100;

/** Calls `act` with each item, in concurrent batches. */
export async function inBatches<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += BATCH) {
    // deno-lint-ignore no-await-in-loop -- each batch begins after the previous one
    await Promise.all(items.slice(start, start + BATCH).map(act));
  }
}

/** Calls `act` with 0, 1, 2 and so on, `count` times, concurrently. */
export function inParallel<Result>(count: number, act: (i: number) => Promise<Result>): Promise<readonly Result[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => act(i)));
}
