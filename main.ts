/** The entry point: runs the program and exits with its status. No other module ends the process. */
import { denoHost } from "./src/cli/host/deno_host.ts";
import { run } from "./src/cli/program.ts";

// Deno itself reads these variables later. They would add a trusted CA certificate and replace the address of `serve`.
for (const name of ["DENO_CERT", "DENO_SERVE_ADDRESS"]) Deno.env.delete(name);

Deno.exit(await run(denoHost));
