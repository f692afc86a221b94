/** The version of the program. */
import deno from "../../deno.json" with { type: "json" };

/** What `--version` prints. For executables, `scripts/bundle.ts` replaces this module to state the commit and target. */
export const VERSION = `service-api ${deno.version} (from its sources, ${Deno.build.target})`;
