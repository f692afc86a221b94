/** Runs the full form of the tests in this folder, and prints a table of figures. Arguments select test files. */
import { type Figure, SEED } from "./form.ts";

const figures = await Deno.makeTempFile({ prefix: "service-api-figures-" });
const start = performance.now();
console.log(`Seed: ${SEED}. To repeat the random cases, set TEST_FAULTS_SEED=${SEED}.`);
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["test", "--config", `${import.meta.dirname}/../deno.json`, "--quiet", "--no-check", "--no-prompt"],
    ...["--allow-read", "--allow-write", "--allow-env", "--allow-run", "--allow-net=127.0.0.1,localhost"],
    ...(Deno.args.length === 0 ? [`${import.meta.dirname}/`] : Deno.args),
  ],
  env: { TEST_FAULTS: "all", TEST_FAULTS_SEED: String(SEED), TEST_FAULTS_FIGURES: figures },
}).spawn().status;

const lines = (await Deno.readTextFile(figures)).trim().split("\n").filter((line) => line !== "");
await Deno.remove(figures);
const rows = lines.map((line): Figure => JSON.parse(line)).map(({ attack, figure }) => `| ${attack} | ${figure} |`);
console.log(["", "| attack | result |", "| --- | --- |", ...rows].join("\n"));
console.log(`\n${code === 0 ? "Passed" : "Failed"} in ${Math.round((performance.now() - start) / 1000)} s.`);
Deno.exitCode = code;
