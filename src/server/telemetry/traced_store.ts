/** A key store whose operations, except `list` and `close`, appear in traces and metrics. */
import type { KeyStore } from "../../store/key_store.ts";
import type { Trace } from "./tracing.ts";

export function traceStore(store: KeyStore, trace: Trace): KeyStore {
  return {
    add: (...given) => trace("add key", () => store.add(...given)),
    update: (...given) => trace("update key", () => store.update(...given)),
    findBySecretHash: (hash) => trace("find key by secret", () => store.findBySecretHash(hash)),
    findById: (id) => trace("find key by id", () => store.findById(id)),
    findByName: (name) => trace("find key by name", () => store.findByName(name)),
    listPage: (options) => trace("list keys", () => store.listPage(options)),
    list: (owner) => store.list(owner),
    isEmpty: () => trace("find any key", () => store.isEmpty()),
    countKeys: () => trace("count keys", () => store.countKeys()),
    poolUse: () => store.poolUse(),
    checkHealth: () => trace("check health", () => store.checkHealth()),
    remove: (...given) => trace("remove keys", () => store.remove(...given)),
    listResources: () => trace("list resources", () => store.listResources()),
    addResource: (...given) => trace("add resource", () => store.addResource(...given)),
    removeResource: (...given) => trace("remove resource", () => store.removeResource(...given)),
    recordUses: (uses) => trace("record uses", () => store.recordUses(uses)),
    recordEvent: (event) => trace("record event", () => store.recordEvent(event)),
    listEvents: (...given) => trace("list events", () => store.listEvents(...given)),
    eventTimes: () => trace("find event times", () => store.eventTimes()),
    dropEventsBefore: (time) => trace("drop events", () => store.dropEventsBefore(time)),
    close: () => store.close(),
  };
}
