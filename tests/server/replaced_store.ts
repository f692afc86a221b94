/** Stores that fail, count or wait, in place of a real one. */
import type { KeyStore } from "../../src/store/key_store.ts";

/** A store with some methods replaced. */
export function replaceMethods(store: KeyStore, methods: Partial<KeyStore>): KeyStore {
  return new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => methods[name] ?? target[name].bind(target),
  });
}

/** Records the name of each method that is called. */
export function recordCalls(store: KeyStore, calls: string[]): KeyStore {
  return new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => {
      calls.push(name);
      return target[name].bind(target);
    },
  });
}

/** A store with one method that waits before it does anything. */
export interface Gate {
  readonly wrap: (store: KeyStore) => KeyStore;
  /** Resolves when the method is called. */
  readonly reached: Promise<void>;
  /** Ends the wait, for all calls. */
  readonly open: () => void;
  /** The results and errors of the calls. */
  readonly outcomes: readonly unknown[];
}

export function gateBefore(method: "add" | "isEmpty" | "remove"): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const outcomes: unknown[] = [];
  return {
    reached: reached.promise,
    open: opened.resolve,
    outcomes,
    wrap: (store) =>
      replaceMethods(store, {
        [method]: async (...given: unknown[]): Promise<unknown> => {
          reached.resolve();
          await opened.promise;
          try {
            const result: unknown = await Reflect.apply(store[method], store, given);
            outcomes.push(result);
            return result;
          } catch (error) {
            outcomes.push(error);
            throw error;
          }
        },
      }),
  };
}
