/** Waiting for what happens by itself. */

/** How often it is looked at, and for how long at most, in milliseconds. */
const INTERVAL = 5;
const PATIENCE = 20_000;

/**
 * Waits until something is so.
 *
 * @throws {Error} when it is not so after 20 s
 */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE;
  // deno-lint-ignore no-await-in-loop -- one look after the other
  while (!await isSo()) {
    if (performance.now() > end) throw new Error(`this did not come about: ${isSo}`);
    // deno-lint-ignore no-await-in-loop -- one look after the other
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
}
