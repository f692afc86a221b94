/**
 * A store that is missing or has an older schema. A missing store is an empty store. Reading changes nothing. The first
 * change creates or migrates the store.
 */
import type { Name } from "../apikey/name.ts";
import type { CustomResource } from "../apikey/permission.ts";
import type { AuditEvent, EventSelection, NewEvent, Origin } from "./audit_event.ts";
import type {
  Change,
  KeyCounts,
  KeySelector,
  KeyStore,
  PoolUse,
  Precondition,
  RemovePrecondition,
  ResourcePrecondition,
  UpdateOptions,
} from "./key_store.ts";
import type { OrderedKey, PageOptions } from "./key_order.ts";
import { NO_RESOURCES, type ResourceList, resourceNotFound } from "./resources/resource_list.ts";
import type { KeyState } from "./lookups/key_state.ts";
import type { StoredKey } from "./stored_key.ts";

export class UnmigratedStore implements KeyStore {
  #current: KeyStore | undefined;
  #migrating: Promise<KeyStore> | undefined;
  readonly #older: KeyStore | undefined;
  readonly #migrate: () => Promise<KeyStore>;

  /**
   * @param older the store as it is; only its reading methods are called. `undefined` if the store is missing
   * @param migrate creates or migrates the store, and opens it
   */
  constructor(older: KeyStore | undefined, migrate: () => Promise<KeyStore>) {
    this.#older = older;
    this.#migrate = migrate;
  }

  async add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void> {
    await (await this.#migrated()).add(key, origin, precondition);
  }

  async update(
    selector: KeySelector,
    origin: Origin,
    options: UpdateOptions,
    change: Change,
  ): Promise<StoredKey | undefined> {
    if (this.#readable === undefined) return undefined;
    return await (await this.#migrated()).update(selector, origin, options, change);
  }

  async remove(ids: readonly string[], origin: Origin, precondition: RemovePrecondition): Promise<boolean> {
    if (this.#readable === undefined) {
      for (const id of new Set(ids)) precondition(undefined, null, id);
      return ids.length === 0;
    }
    return await (await this.#migrated()).remove(ids, origin, precondition);
  }

  async findBySecretHash(hash: Uint8Array): Promise<KeyState | undefined> {
    return await this.#readable?.findBySecretHash(hash);
  }

  async findById(id: string): Promise<StoredKey | undefined> {
    return await this.#readable?.findById(id);
  }

  async findByName(name: Name): Promise<StoredKey | undefined> {
    return await this.#readable?.findByName(name);
  }

  async listPage(options: PageOptions): Promise<readonly OrderedKey[]> {
    return await this.#readable?.listPage(options) ?? [];
  }

  async *list(owner?: string): AsyncIterable<StoredKey> {
    if (this.#readable !== undefined) yield* this.#readable.list(owner);
  }

  async isEmpty(): Promise<boolean> {
    return await this.#readable?.isEmpty() ?? true;
  }

  async countKeys(): Promise<KeyCounts> {
    return await this.#readable?.countKeys() ?? { active: 0, disabled: 0, expired: 0, nextExpiry: null };
  }

  poolUse(): PoolUse | undefined {
    return this.#readable?.poolUse();
  }

  async checkHealth(): Promise<void> {
    await this.#readable?.checkHealth();
  }

  async listResources(): Promise<ResourceList> {
    return await this.#readable?.listResources() ?? NO_RESOURCES;
  }

  async addResource(resource: CustomResource, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    await (await this.#migrated()).addResource(resource, origin, precondition);
  }

  async removeResource(name: string, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    if (this.#readable === undefined) throw resourceNotFound(name);
    await (await this.#migrated()).removeResource(name, origin, precondition);
  }

  /** Records nothing before the first change, because reading with a key must not migrate the store. */
  async recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    await this.#current?.recordUses(uses);
  }

  /** Records nothing if the store is missing: a rejected change must not create it. */
  async recordEvent(event: NewEvent): Promise<void> {
    if (this.#readable !== undefined) await (await this.#migrated()).recordEvent(event);
  }

  async listEvents(
    after: string | undefined,
    limit: number,
    selection?: EventSelection,
  ): Promise<readonly AuditEvent[]> {
    return await this.#readable?.listEvents(after, limit, selection) ?? [];
  }

  async eventTimes(): ReturnType<KeyStore["eventTimes"]> {
    return await this.#readable?.eventTimes();
  }

  async dropEventsBefore(time: Date): Promise<void> {
    if (this.#readable !== undefined) await (await this.#migrated()).dropEventsBefore(time);
  }

  async close(): Promise<void> {
    await Promise.all([this.#older?.close(), this.#current?.close()]);
  }

  get #readable(): KeyStore | undefined {
    return this.#current ?? this.#older;
  }

  /** Migrates the store once, even if several changes are made at once. If migrating fails, the next change retries. */
  async #migrated(): Promise<KeyStore> {
    if (this.#current !== undefined) return this.#current;
    this.#migrating ??= this.#migrate().finally(() => this.#migrating = undefined);
    return this.#current = await this.#migrating;
  }
}
