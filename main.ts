/** The program: arguments in, exit status out. This is the one place that exits. */
import { denoHost } from "./src/cli/host/deno_host.ts";
import { run } from "./src/cli/program.ts";

Deno.exit(await run(denoHost));
