import deno from "../../deno.json" with { type: "json" };

/** What `--version` prints. In an executable, `scripts/compile.ts` puts a module with its commit and target here. */
export const VERSION = `service-api ${deno.version} (from its sources, ${Deno.build.target})`;
