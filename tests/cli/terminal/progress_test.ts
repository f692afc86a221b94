/** The spinner and the progress bar. */
import { expect } from "expect";
import { openProgress, withSpinner } from "../../../src/cli/terminal/progress.ts";
import { FakeHost } from "../../program/program.ts";
import { TerminalHost } from "../../program/terminal_host.ts";

Deno.test("a spinner with the label appears after 300 ms, turns, and disappears when the work ends", async () => {
  const host = new TerminalHost([]);
  const work = Promise.withResolvers<string>();
  const start = performance.now();
  const waiting = withSpinner("Waiting for host.example", host, work.promise);
  expect(await host.screen.until(/Waiting/)).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Waiting for host\.example$/);
  expect(performance.now() - start).toBeGreaterThan(290);
  await host.screen.until(/⠙/);
  work.resolve("answer");
  expect(await waiting).toBe("answer");
  expect(await host.screen.text()).toBe("");
});

Deno.test("work that is already done shows no spinner", async () => {
  const host = new TerminalHost([]);
  expect(await withSpinner("Waiting", host, Promise.resolve(1))).toBe(1);
  expect(host.screen.raw).toBe("");
});

Deno.test("there is no spinner in a pipe or with TERM=dumb", async () => {
  const pipe = new FakeHost([], { env: { LANG: "C.UTF-8" } });
  const dumb = new TerminalHost([], { env: { TERM: "dumb" } });
  const terminal = new TerminalHost([]);
  const work = Promise.withResolvers<void>();
  const all = [pipe, dumb, terminal].map((host) => withSpinner("Waiting", host, work.promise));
  await terminal.screen.until(/⠙/);
  work.resolve();
  await Promise.all(all);
  expect(pipe.stderr.text).toBe("");
  expect(dumb.screen.raw).toBe("");
});

Deno.test("if the work fails, the spinner disappears and the caller receives the failure", async () => {
  const host = new TerminalHost([]);
  const work = Promise.withResolvers<void>();
  const waiting = withSpinner("Waiting", host, work.promise);
  await host.screen.until(/Waiting/);
  work.reject(new Error("refused"));
  await expect(waiting).rejects.toThrow("refused");
  expect(await host.screen.text()).toBe("");
});

Deno.test("a long label is truncated, so that the spinner stays on one line", async () => {
  const host = new TerminalHost([], { columns: 30 });
  const work = Promise.withResolvers<void>();
  const waiting = withSpinner("Waiting for a-host-with-a-long-name.example", host, work.promise);
  expect(await host.screen.until(/⠹/)).toBe("⠹ Waiting for a-host-with-a-…");
  work.resolve();
  await waiting;
  expect(await host.screen.text()).toBe("");
});

Deno.test("without a UTF-8 locale the spinner is ASCII", async () => {
  const host = new TerminalHost([], { env: { LANG: "C" } });
  const work = Promise.withResolvers<void>();
  const waiting = withSpinner("Waiting", host, work.promise);
  expect(await host.screen.until(/Waiting/)).toMatch(/^[-|/\\] Waiting$/);
  work.resolve();
  await waiting;
});

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
