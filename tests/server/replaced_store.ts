/** Wraps stores for tests: replaces methods, records calls, or makes a method wait. */
import type { KeyStore } from "../../src/store/key_store.ts";

/** Returns a store that has some methods replaced. */
export function replaceMethods(store: KeyStore, methods: Partial<KeyStore>): KeyStore {
  return new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => methods[name] ?? target[name].bind(target),
  });
}

/** Returns a store that adds the name of each called method to `calls`. */
export function recordCalls(store: KeyStore, calls: string[]): KeyStore {
  return new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => {
      calls.push(name);
      return target[name].bind(target);
    },
  });
}

/** Makes one method of a store wait before it does anything. */
export interface Gate {
  readonly wrap: (store: KeyStore) => KeyStore;
  /** Resolves when the method is called. */
  readonly reached: Promise<void>;
  /** Ends the wait of all current and future calls. */
  readonly open: () => void;
  /** The results and errors of the calls. */
  readonly outcomes: readonly unknown[];
}

export function gateBefore(method: "add" | "isEmpty" | "remove" | "update"): Gate {
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
