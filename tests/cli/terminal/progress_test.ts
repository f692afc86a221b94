/** The progress bar. */
import { expect } from "expect";
import { openProgress } from "../../../src/cli/terminal/progress.ts";
import { FakeHost } from "../../program/program.ts";
import { TerminalHost } from "../../program/terminal_host.ts";

Deno.test("the progress bar grows, and disappears when the work ends", async () => {
  const host = new TerminalHost([]);
  const progress = openProgress("Deleting keys", 4, host);
  const bars: string[] = [];
  for (const done of [0, 1, 4]) {
    // deno-lint-ignore no-await-in-loop -- one call at a time
    await progress.show(done);
    // deno-lint-ignore no-await-in-loop -- one call at a time
    bars.push(await host.screen.text());
  }
  expect(bars).toEqual([
    "░░░░░░░░░░░░░░░░░░░░░░░░ Deleting keys 0/4",
    "██████░░░░░░░░░░░░░░░░░░ Deleting keys 1/4",
    "████████████████████████ Deleting keys 4/4",
  ]);
  await progress.end();
  expect(await host.screen.text()).toBe("");
});

Deno.test("without a UTF-8 locale the progress bar is ASCII", async () => {
  const host = new TerminalHost([], { env: { LANG: "C" } });
  await openProgress("Deleting keys", 2, host).show(1);
  expect(await host.screen.text()).toBe("############------------ Deleting keys 1/2");
});

for (
  const [columns, line] of [
    [34, "████░░░ Deleting keys 5000/10000"],
    [30, "Deleting keys 5000/10000"],
    [20, "Deleting keys 5000…"],
  ] as const
) {
  Deno.test(`in ${columns} columns the progress is ${JSON.stringify(line)}`, async () => {
    const host = new TerminalHost([], { columns });
    const progress = openProgress("Deleting keys", 10_000, host);
    await progress.show(4999);
    await progress.show(5000);
    expect(await host.screen.text()).toBe(line);
    await progress.end();
    expect(await host.screen.text()).toBe("");
  });
}

Deno.test("there is no progress bar in a pipe, and at a plain terminal there is one line", async () => {
  const pipe = new FakeHost([], { env: { LANG: "C.UTF-8" } });
  const plain = new TerminalHost([], { env: { TERM: "dumb" } });
  for (const host of [pipe, plain]) {
    const progress = openProgress("Deleting keys", 2, host);
    for (const done of [0, 1]) {
      // deno-lint-ignore no-await-in-loop -- one call at a time
      await progress.show(done);
    }
    // deno-lint-ignore no-await-in-loop -- one call at a time
    await progress.end();
  }
  expect(pipe.stderr.text).toBe("");
  expect(plain.stderr.text).toBe("Deleting keys (2)...\n");
});
