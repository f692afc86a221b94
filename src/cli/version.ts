/** The version of the program. */
import deno from "../../deno.json" with { type: "json" };

/**
 * The output of `--version`. In executables, `scripts/bundle.ts` replaces this module with one that states the commit.
 */
export const VERSION = `service-api ${deno.version} (from its sources, ${Deno.build.target})`;
