/** Selects the short or the full form of the tests in this folder, and records the figures of the full form. */

/** Whether `deno task test:faults` runs the tests. Otherwise they run in their short form, as part of all tests. */
export const isFull = Deno.env.get("TEST_FAULTS") === "all";

/** Returns the number for the form that runs. */
export function amount(inShort: number, inFull: number): number {
  return isFull ? inFull : inShort;
}

/** The seed of the random cases. A failure prints it. To repeat a run, set `TEST_FAULTS_SEED`. */
export const SEED = Number(Deno.env.get("TEST_FAULTS_SEED") || crypto.getRandomValues(new Int32Array(1))[0]);

/** One row of the table that `deno task test:faults` prints. */
export interface Figure {
  readonly attack: string;
  readonly figure: string;
}

/** Records a figure for the table. Does nothing in the short form. */
export async function record(attack: string, figure: string): Promise<void> {
  const file = Deno.env.get("TEST_FAULTS_FIGURES");
  if (file !== undefined) await Deno.writeTextFile(file, `${JSON.stringify({ attack, figure })}\n`, { append: true });
}
