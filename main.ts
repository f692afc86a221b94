/** The entry point: runs the program and exits with its status. No other module ends the process. */
import { denoHost } from "./src/cli/host/deno_host.ts";
import { run } from "./src/cli/program.ts";

Deno.exit(await run(denoHost));
