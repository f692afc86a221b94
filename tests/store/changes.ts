/** Who asks for the changes in tests, what they precondition to, and ways to do many of them. */
import { nameTaken } from "../../src/apikey/name.ts";
import type { Origin } from "../../src/store/audit_event.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { newKey } from "./stored_key.ts";

export const LOCAL: Origin = {
  at: new Date("2026-03-04T05:06:07.089Z"),
  actor: null,
  address: null,
  requestId: null,
};

export const REMOTE: Origin = {
  at: new Date("2026-04-05T06:07:08.009Z"),
  actor: { id: "key_0123456789abcdefghijkl", name: "deployer" },
  address: "2001:db8::7",
  requestId: "4f1c9a52-7d1e-4c7e-9a6b-0d9d8a6f1b11",
};

/** Adds the key that `REMOTE` speaks of: who is not there changes nothing. */
export async function addDeployer(store: KeyStore): Promise<void> {
  await store.add(await newKey("deployer", { id: REMOTE.actor?.id ?? "" }), LOCAL, unlessTaken);
}

/** Consents to whatever would be removed. */
export function anyway(): void {}

/** As the server does without `overwrite`. */
export function unlessTaken(held: StoredKey | undefined): void {
  if (held !== undefined) throw nameTaken(held.name);
}

/** Adds keys in their order, to a store where their names are free. */
export async function addAll(store: KeyStore, keys: readonly StoredKey[]): Promise<void> {
  await inTurn(keys, (key) => store.add(key, LOCAL, unlessTaken));
}

/** Adds keys many at once, so that their order is anyone's guess. */
export async function addAtOnce(store: KeyStore, keys: readonly StoredKey[]): Promise<void> {
  await inWaves(keys, (key) => store.add(key, LOCAL, unlessTaken));
}

/** Every key that `list` gives. */
export function listed(store: KeyStore, owner?: string): Promise<readonly StoredKey[]> {
  return Array.fromAsync(store.list(owner));
}

/** Does one thing after the other. */
export async function inTurn<Item>(items: Iterable<Item>, act: (item: Item) => Promise<unknown>): Promise<void> {
  for (const item of items) {
    // deno-lint-ignore no-await-in-loop -- that is what it is for
    await act(item);
  }
}

/** How many changes wait for a store together: the last of them in line is not to run out of time on a slow machine. */
const WAVE = 100;

/** Does many things at once, yet never more than a store gets through in time. */
export async function inWaves<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += WAVE) {
    // deno-lint-ignore no-await-in-loop -- a wave begins when the one before it is over
    await Promise.all(items.slice(start, start + WAVE).map(act));
  }
}

/** `count` promises at once; `act` is told which of them it is, from 0 on. */
export function atOnce<Result>(count: number, act: (i: number) => Promise<Result>): Promise<readonly Result[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => act(i)));
}
