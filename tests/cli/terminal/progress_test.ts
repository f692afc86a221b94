/** What is said of waiting and of progress, and what is left of it. */
import { expect } from "expect";
import { openProgress, whileWaiting } from "../../../src/cli/terminal/progress.ts";
import { FakeHost } from "../../program/program.ts";
import { TerminalHost } from "../../program/terminal_host.ts";

Deno.test("who waits for more than 300 ms is told for what, and nothing is left of it afterwards", async () => {
  const host = new TerminalHost([]);
  const work = Promise.withResolvers<string>();
  const start = performance.now();
  const waiting = whileWaiting("Waiting for host.example", host, work.promise);
  expect(await host.screen.until(/Waiting/)).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Waiting for host\.example$/);
  expect(performance.now() - start).toBeGreaterThan(290);
  work.resolve("answer");
  expect(await waiting).toBe("answer");
  expect(await host.screen.text()).toBe("");
});

Deno.test("the spinner turns", async () => {
  const host = new TerminalHost([]);
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting("Waiting", host, work.promise);
  for (const symbol of ["⠋", "⠙", "⠹"]) {
    // deno-lint-ignore no-await-in-loop -- one after the other
    await host.screen.until(new RegExp(symbol));
  }
  work.resolve();
  await waiting;
});

Deno.test("who does not wait is told nothing", async () => {
  const host = new TerminalHost([]);
  expect(await whileWaiting("Waiting", host, Promise.resolve(1))).toBe(1);
  expect(host.screen.raw).toBe("");
});

Deno.test("nobody is told where standard error is a pipe or TERM is dumb", async () => {
  const pipe = new FakeHost([], { env: { LANG: "C.UTF-8" } });
  const dumb = new TerminalHost([], { env: { TERM: "dumb" } });
  const terminal = new TerminalHost([]);
  const work = Promise.withResolvers<void>();
  const all = [pipe, dumb, terminal].map((host) => whileWaiting("Waiting", host, work.promise));
  await terminal.screen.until(/⠙/);
  work.resolve();
  await Promise.all(all);
  expect(pipe.stderr.text).toBe("");
  expect(dumb.screen.raw).toBe("");
});

Deno.test("what fails while somebody waits fails, and the spinner is gone", async () => {
  const host = new TerminalHost([]);
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting("Waiting", host, work.promise);
  await host.screen.until(/Waiting/);
  work.reject(new Error("refused"));
  await expect(waiting).rejects.toThrow("refused");
  expect(await host.screen.text()).toBe("");
});

Deno.test("a label too long for the line is cut, so that the spinner stays on its line", async () => {
  const host = new TerminalHost([], { columns: 30 });
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting("Waiting for a-host-with-a-long-name.example", host, work.promise);
  expect(await host.screen.until(/⠹/)).toBe("⠹ Waiting for a-host-with-a-…");
  work.resolve();
  await waiting;
  expect(await host.screen.text()).toBe("");
});

Deno.test("the spinner is ASCII where the locale is", async () => {
  const host = new TerminalHost([], { env: { LANG: "C" } });
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting("Waiting", host, work.promise);
  expect(await host.screen.until(/Waiting/)).toMatch(/^[-|/\\] Waiting$/);
  work.resolve();
  await waiting;
});

Deno.test("a bar grows with what is done, and is gone at the end", async () => {
  const host = new TerminalHost([]);
  const progress = openProgress("Deleting keys", 4, host);
  const bars: string[] = [];
  for (const done of [0, 1, 4]) {
    // deno-lint-ignore no-await-in-loop -- one after the other
    await progress.show(done);
    // deno-lint-ignore no-await-in-loop -- as above
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

Deno.test("the bar is ASCII where the locale is", async () => {
  const host = new TerminalHost([], { env: { LANG: "C" } });
  await openProgress("Deleting keys", 2, host).show(1);
  expect(await host.screen.text()).toBe("############------------ Deleting keys 1/2");
});

for (
  const [columns, line] of [
    [40, "███████░░░░░░ Deleting keys 5000/10000"],
    [34, "████░░░ Deleting keys 5000/10000"],
    [30, "Deleting keys 5000/10000"],
    [20, "Deleting keys 5000…"],
  ] as const
) {
  Deno.test(`in ${columns} columns the bar stays on its line, and leaves room for the count`, async () => {
    const host = new TerminalHost([], { columns });
    const progress = openProgress("Deleting keys", 10_000, host);
    await progress.show(4999);
    await progress.show(5000);
    expect(await host.screen.text()).toBe(line);
    await progress.end();
    expect(await host.screen.text()).toBe("");
  });
}

Deno.test("there is no bar where standard error is a pipe or TERM is dumb", async () => {
  const pipe = new FakeHost([], { env: { LANG: "C.UTF-8" } });
  const dumb = new TerminalHost([], { env: { TERM: "dumb" } });
  for (const host of [pipe, dumb]) {
    const progress = openProgress("Deleting keys", 2, host);
    // deno-lint-ignore no-await-in-loop -- a short list
    await progress.show(1);
    // deno-lint-ignore no-await-in-loop -- as above
    await progress.end();
    expect(host.stderr.text).toBe("");
  }
});
