import { setImmediate } from "node:timers";

/** Resolves when what has come in so far has been looked at: those who wait for it together can act together. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
