/** Lets tests wait until something happens in the background. */

/** The time between two checks, and the maximum time to wait, in milliseconds. */
const INTERVAL = 5;
const TIMEOUT = 20_000;

/**
 * Waits until a condition is true.
 *
 * @throws {Error} if the condition is not true within 20 s
 */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT;
  // deno-lint-ignore no-await-in-loop -- checks one after the other
  while (!await isTrue()) {
    if (performance.now() > deadline) throw new Error(`still not true after ${TIMEOUT} ms: ${isTrue}`);
    // deno-lint-ignore no-await-in-loop -- checks one after the other
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
}
