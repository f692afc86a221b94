/**
 * The resources that permissions can name: those of the specification and the custom resources of the store. Each look-up
 * of a key also returns the revision of the custom resources. The server reads them again if the revision has changed.
 */
import {
  type CustomResource,
  isResource,
  isResourceName,
  type Permission,
  RESOURCES,
} from "../../apikey/permission.ts";
import { type Rights, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { NO_RESOURCES, type ResourceList } from "../../store/resources/resource_list.ts";
import { setBounded } from "./bounded_map.ts";

/** How many sets of rights are cached. */
const MAX_RIGHTS = 1000;

/** All resources at one revision of the custom resources. */
export class KnownResources {
  /** See `ResourceList`. */
  readonly revision: number;
  readonly custom: readonly CustomResource[];
  /** The names of all resources. */
  readonly names: readonly [string, ...string[]];
  readonly #rights = new Map<string, Rights>();

  constructor({ revision, resources }: ResourceList) {
    const [first, ...others] = RESOURCES;
    this.revision = revision;
    // A later version may have more built-in resources.
    this.custom = resources.filter(({ name }) => isResourceName(name) && !isResource(name));
    this.names = [first, ...others, ...this.custom.map(({ name }) => name)];
  }

  /** Returns what `rightsOf` returns. Keys with the same roles and permissions share a set, because it can be large. */
  rightsOf(roles: readonly Role[], permissions: readonly Permission[]): Rights {
    const key = `${roles.join()} ${permissions.join()}`;
    const known = this.#rights.get(key);
    if (known !== undefined) return known;
    const rights = rightsOf(roles, permissions, this.names);
    setBounded(this.#rights, key, rights, MAX_RIGHTS);
    return rights;
  }
}

/** The resources of a store without custom resources. */
export const BUILT_IN_RESOURCES = new KnownResources(NO_RESOURCES);

/** Keeps the resources of a store in memory. */
export class ResourceCache {
  readonly #store: Pick<KeyStore, "listResources">;
  #newest = BUILT_IN_RESOURCES;

  constructor(store: Pick<KeyStore, "listResources">) {
    this.#store = store;
  }

  /** Returns the resources at a revision that the store has just reported, or at a later revision. */
  async at(revision: number): Promise<KnownResources> {
    return this.#newest.revision === revision ? this.#newest : await this.read();
  }

  /** Returns the current resources. Returns the same object as before if they are unchanged. */
  async read(): Promise<KnownResources> {
    const list = await this.#store.listResources();
    if (list.revision !== this.#newest.revision) this.#newest = new KnownResources(list);
    return this.#newest;
  }
}
