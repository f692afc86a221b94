/** The notice about a wait. */
import { expect } from "expect";
import { openProgress } from "../../../src/cli/terminal/progress.ts";
import { type WaitClock, whileWaiting } from "../../../src/cli/terminal/waiting.ts";
import { FakeHost } from "../../program/program.ts";
import { type AtTerminal, TerminalHost } from "../../program/terminal_host.ts";

/** A clock that a test advances. */
class TestClock implements WaitClock {
  #time = 0;
  #next: { readonly at: number; readonly action: () => void } | undefined;

  readonly now = (): number => this.#time;

  readonly schedule = (action: () => void, delay: number): () => void => {
    this.#next = { at: this.#time + delay, action };
    return () => this.#next = undefined;
  };

  advance(duration: number): void {
    const end = this.#time + duration;
    while (this.#next !== undefined && this.#next.at <= end) {
      const { at, action } = this.#next;
      this.#time = at;
      this.#next = undefined;
      action();
    }
    this.#time = end;
  }
}

interface Wait {
  readonly host: TerminalHost;
  readonly clock: TestClock;
  /** Ends the work. */
  readonly end: () => Promise<string>;
}

function wait(at: AtTerminal = {}, subject: () => string = () => "https://keys.example (SERVICE_API_URL)"): Wait {
  const host = new TerminalHost([], at);
  const clock = new TestClock();
  const work = Promise.withResolvers<string>();
  const waiting = whileWaiting(subject, host, work.promise, clock);
  return {
    host,
    clock,
    end: () => {
      work.resolve("answer");
      return waiting;
    },
  };
}

Deno.test("after 500 ms, a notice says what the program waits for, for how long and how to stop, until the wait ends", async () => {
  const { host: { screen }, clock, end } = wait();
  clock.advance(499);
  expect(await screen.text()).toBe("");
  clock.advance(1);
  expect(await screen.until(/Waiting/)).toBe(
    "⠋ Waiting for https://keys.example (SERVICE_API_URL) · Ctrl-C stops",
  );
  clock.advance(2700);
  expect(await screen.until(/ · 3 s · Ctrl-C stops$/)).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Waiting for https:\/\/keys\.example /);
  expect(await end()).toBe("answer");
  expect(await screen.text()).toBe("");
});

Deno.test("the notice follows a change of what the program waits for", async () => {
  let subject = "the store";
  const { host: { screen }, clock, end } = wait({}, () => subject);
  clock.advance(500);
  await screen.until(/Waiting for the store ·/);
  subject = "another process";
  clock.advance(80);
  await screen.until(/Waiting for another process ·/);
  await end();
});

for (
  const [columns, line] of [
    [80, /^. Waiting for https:\/\/keys\.example \(SERVICE_API_URL, pro… · 61 s · Ctrl-C stops$/],
    [40, /^. Waiting for ht… · 61 s · Ctrl-C stops$/],
  ] as const
) {
  Deno.test(`in ${columns} columns, a long notice stays on one line`, async () => {
    const subject = (): string => 'https://keys.example (SERVICE_API_URL, profile "prod")';
    const { host: { screen }, clock, end } = wait({ columns }, subject);
    clock.advance(61_100);
    expect(await screen.until(/61 s/)).toMatch(line);
    await end();
    expect(await screen.text()).toBe("");
  });
}

Deno.test("without a UTF-8 locale, the notice is ASCII", async () => {
  const { host: { screen }, clock, end } = wait({ env: { LANG: "C" } });
  clock.advance(500);
  expect(await screen.until(/Waiting/)).toMatch(/^[ -~]+$/);
  await end();
});

Deno.test("with TERM=dumb, the notice is a line, repeated every 10 s, and stays", async () => {
  const { host, clock, end } = wait({ env: { TERM: "dumb" } });
  clock.advance(10_500);
  await end();
  expect(host.stderr.text).toBe(
    "Waiting for https://keys.example (SERVICE_API_URL), Ctrl-C stops\n" +
      "Waiting for https://keys.example (SERVICE_API_URL), 10 s, Ctrl-C stops\n",
  );
});

Deno.test("there is no notice in a pipe, and none about a wait that is already over", async () => {
  const pipe = new FakeHost([], { env: { LANG: "C.UTF-8", TERM: "xterm" } });
  const clock = new TestClock();
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting(() => "it", pipe, work.promise, clock);
  clock.advance(5000);
  work.resolve();
  await waiting;
  expect(pipe.stderr.text).toBe("");
  const done = wait();
  await done.end();
  done.clock.advance(5000);
  expect(done.host.screen.raw).toBe("");
});

Deno.test("a wait inside another one, or during a progress bar, shows no second notice", async () => {
  const outer = wait();
  const inner = wait();
  inner.clock.advance(1000);
  await inner.end();
  await outer.end();
  expect(inner.host.screen.raw).toBe("");
  const progress = openProgress("Deleting keys", 2, new TerminalHost([]));
  await progress.show(1);
  const during = wait();
  during.clock.advance(1000);
  await during.end();
  await progress.end();
  expect(during.host.screen.raw).toBe("");
});

Deno.test("if the work fails, the notice disappears and the caller receives the failure", async () => {
  const host = new TerminalHost([]);
  const clock = new TestClock();
  const work = Promise.withResolvers<void>();
  const waiting = whileWaiting(() => "it", host, work.promise, clock);
  clock.advance(500);
  await host.screen.until(/Waiting/);
  work.reject(new Error("refused"));
  await expect(waiting).rejects.toThrow("refused");
  expect(await host.screen.text()).toBe("");
});
