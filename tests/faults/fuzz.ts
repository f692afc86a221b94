/** Runs random cases with a printed seed. */
import fc from "fast-check";
import { amount, record, SEED } from "./form.ts";

/**
 * Checks that a property holds for random cases. If it does not, the error shows the seed and the smallest case.
 *
 * @param what for the table of figures
 * @param inShort the number of cases in the short form
 */
export async function holdsForAll<Case>(
  what: string,
  cases: fc.Arbitrary<Case>,
  inShort: number,
  inFull: number,
  check: (value: Case) => Promise<void>,
): Promise<void> {
  const numRuns = amount(inShort, inFull);
  await fc.assert(fc.asyncProperty(cases, check), { seed: SEED, numRuns, endOnFailure: false });
  await record(`Fuzz: ${what}`, `${numRuns} cases, 0 crashes`);
}

/** Text that parsers get wrong: invisible characters, other scripts, lone surrogates, long text, other bases. */
export function hostileText(): fc.Arbitrary<string> {
  const invisible = ["\0", "\n", "\u001b[2J", "\u202e", "\u200b", "\ufeff", "\ud800", " "];
  const syntax = ", : / @ % %zz # ? = - -- ' \" ` $(x) \\ { [ __proto__ e\u0301 ß İ ٣ ½".split(" ");
  const numbers = "0 -1 1e9 0x10 99999999999999999999 1.5 NaN Infinity ms s d MB KiB".split(" ");
  const words = "ADMIN viewer DOCKER:READ_ANY https:// postgres:// user: null true".split(" ");
  const piece = fc.constantFrom(...invisible, ...syntax, ...numbers, ...words, "x".repeat(5000));
  return fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({ unit: "grapheme", maxLength: 40 }),
  );
}
