/** The program: arguments in, exit status out. This is the one place that exits. */
import { denoHost } from "./src/cli/deno_host.ts";
import { run } from "./src/cli/program.ts";

// From a microtask, so that this module is not on the stack of errors: for the first error V8 parses again every
// function on its stack, and in the executable this module is the whole program (8 ms).
Deno.exit(await Promise.resolve(denoHost).then(run));
