/** The version of the program. */
import deno from "../../deno.json" with { type: "json" };

/** What `--version` prints. `scripts/bundle.ts` replaces this module in executables, with their commit and target. */
export const VERSION = `service-api ${deno.version} (from its sources, ${Deno.build.target})`;
