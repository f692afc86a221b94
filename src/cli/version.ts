/** Which program this is. */
import deno from "../../deno.json" with { type: "json" };

/** What `--version` prints. An executable has another module here, with its commit and target: `scripts/bundle.ts`. */
export const VERSION = `service-api ${deno.version} (from its sources, ${Deno.build.target})`;
