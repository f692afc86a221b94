/** Random changes to keys, and what must be true of a store after a process that changed it was killed. */
import { expect } from "expect";

export interface Made {
  readonly id: string;
  readonly secret: string;
}

/** What a name may hold: a key, a key whose creation was not acknowledged, or nothing. */
type Held = Made | "unacknowledged" | undefined;

/** The server answered that it could not change anything. */
export class Refused extends Error {}

/** Changes keys with one kind of client. A change that the server refuses throws {@linkcode Refused}. */
export interface Changer {
  /** @returns the key; `undefined` if the client got no answer */
  readonly create: (name: string, overwrite: boolean) => Promise<Made | undefined>;
  /** @returns whether the client got an answer */
  readonly remove: (name: string, key: Made) => Promise<boolean>;
}

/** What a store contains. */
export interface Contents {
  readonly keys: readonly { readonly id: string; readonly name: string }[];
  /** The events since the last look, oldest first. */
  readonly events: readonly AuditEvent[];
  /** Whether the server accepts a secret. */
  readonly accepts: (secret: string) => Promise<boolean>;
}

export interface AuditEvent {
  readonly id: string;
  readonly action: string;
  readonly outcome: string;
  readonly key: { readonly id: string | null } | null;
}

/** The changes of all clients to a store. Each name has one client at a time. */
export class KeyChanges {
  acknowledged = 0;
  /** The id of the newest event seen. */
  lastEvent: string | undefined;
  readonly #possible = new Map<string, readonly Held[]>();
  /** For each name, the last secret that must no longer work. */
  readonly #dead = new Map<string, string>();
  /** The keys that exist according to the audit trail. */
  readonly #recorded = new Set<string>();

  /**
   * Creates, replaces or deletes the key with a name. Returns whether the client got an answer.
   *
   * @throws {Refused} and expects that nothing changed
   */
  async change(name: string, { create, remove }: Changer): Promise<boolean> {
    const [held] = this.#possible.get(name) ?? [undefined];
    const key = typeof held === "object" ? held : undefined;
    const isDeletion = key !== undefined && Math.random() < 0.5;
    this.#possible.set(name, [held, isDeletion ? undefined : "unacknowledged"]);
    let made: Made | undefined;
    try {
      made = isDeletion ? undefined : await create(name, key !== undefined);
      const isAnswered = isDeletion ? await remove(name, key) : made !== undefined;
      if (!isAnswered) return false;
    } catch (error) {
      if (error instanceof Refused) this.#possible.set(name, [held]);
      throw error;
    }
    this.acknowledged++;
    this.#possible.set(name, [made]);
    if (key !== undefined) this.#dead.set(name, key.secret);
    return true;
  }

  /** Checks that every acknowledged change is in the store, and that no change is there by half. */
  async expectAllIn({ keys, events, accepts }: Contents): Promise<void> {
    const ids = new Map(keys.map(({ id, name }) => [name, id]));
    expect(keys.length).toBe(ids.size);
    for (const { action, outcome, key, id } of events) {
      this.lastEvent = id;
      if (outcome !== "DONE" || key === null || key.id === null) continue;
      if (action === "CREATE") this.#recorded.add(key.id);
      else this.#recorded.delete(key.id);
    }
    expect([...ids.values()].toSorted()).toEqual([...this.#recorded].toSorted());
    for (const [name, possible] of this.#possible) {
      const id = ids.get(name);
      const known = possible.find((held): held is Made => typeof held === "object" && held.id === id);
      const isPossible = known !== undefined || possible.includes(id === undefined ? undefined : "unacknowledged");
      expect({ name, possible, id, isPossible }).toMatchObject({ isPossible: true });
      const secret = known?.secret ?? "";
      const dead = this.#dead.get(name) ?? "";
      // deno-lint-ignore no-await-in-loop -- one name after the other
      if (secret !== "") expect({ name, works: await accepts(secret) }).toEqual({ name, works: true });
      // deno-lint-ignore no-await-in-loop -- one name after the other
      if (dead !== "") expect({ name, works: await accepts(dead) }).toEqual({ name, works: false });
      this.#possible.set(name, [id === undefined ? undefined : { id, secret }]);
    }
  }
}
