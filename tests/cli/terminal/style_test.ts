/** Colours and symbols, by what the output is and what the environment says. */
import { expect } from "expect";
import { canMoveCursor, hasColours, styleFor } from "../../../src/cli/terminal/style.ts";
import { FakeHost } from "../../program/program.ts";

function hostWith(env: Readonly<Record<string, string>>, isTerminal: boolean): FakeHost {
  const host = new FakeHost([], { env });
  host.stderr.isTerminal = () => isTerminal;
  return host;
}

for (
  const [at, env, colours] of [
    ["terminal", {}, true],
    ["terminal", { NO_COLOR: "1" }, false],
    ["terminal", { NO_COLOR: "0" }, false],
    ["terminal", { NO_COLOR: "" }, true],
    ["terminal", { TERM: "dumb" }, false],
    ["terminal", { TERM: "xterm-256color" }, true],
    ["terminal", { FORCE_COLOR: "0" }, false],
    ["terminal", { FORCE_COLOR: "false" }, false],
    ["terminal", { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
    ["terminal", { FORCE_COLOR: "1", TERM: "dumb" }, true],
    ["pipe", {}, false],
    ["pipe", { FORCE_COLOR: "1" }, true],
    ["pipe", { FORCE_COLOR: "3" }, true],
    ["pipe", { FORCE_COLOR: "true", NO_COLOR: "1" }, true],
    ["pipe", { FORCE_COLOR: "0" }, false],
    ["pipe", { FORCE_COLOR: "" }, false],
  ] as const
) {
  Deno.test(`a ${at} with ${JSON.stringify(env)} gets ${colours ? "colours" : "no colours"}`, () => {
    const host = hostWith(env, at === "terminal");
    expect(hasColours(host.stderr, host)).toBe(colours);
    expect(styleFor(host.stderr, host).red("text")).toBe(colours ? "\x1b[31mtext\x1b[39m" : "text");
  });
}

for (
  const [env, tick] of [
    [{}, "[x]"],
    [{ LANG: "C" }, "[x]"],
    [{ LANG: "POSIX" }, "[x]"],
    [{ LANG: "de_DE.ISO-8859-1" }, "[x]"],
    [{ LANG: "C.UTF-8" }, "◉"],
    [{ LANG: "de_DE.utf8" }, "◉"],
    [{ LC_CTYPE: "en_US.UTF-8" }, "◉"],
    [{ LANG: "C.UTF-8", LC_CTYPE: "C" }, "[x]"],
    [{ LANG: "C.UTF-8", LC_ALL: "C" }, "[x]"],
    [{ LANG: "C", LC_CTYPE: "C", LC_ALL: "en_US.UTF-8" }, "◉"],
    [{ LANG: "C.UTF-8", LC_ALL: "" }, "◉"],
  ] as const
) {
  Deno.test(`with ${JSON.stringify(env)} a tick is ${tick}`, () => {
    const host = hostWith(env, true);
    expect(styleFor(host.stderr, host).symbols.ticked).toBe(tick);
  });
}

Deno.test("in ASCII every symbol is", () => {
  const host = hostWith({ LANG: "C" }, true);
  expect(Object.values(styleFor(host.stderr, host).symbols).flat().join("")).toMatch(/^[ -~]+$/);
});

for (const [platform, tick] of [["linux", "[x]"], ["darwin", "[x]"], ["windows", "◉"]] as const) {
  Deno.test(`on ${platform} a tick is ${tick} where the locale is not UTF-8: consoles of Windows always are`, () => {
    const host = Object.assign(hostWith({ LANG: "C" }, true), { platform });
    expect(styleFor(host.stderr, host).symbols.ticked).toBe(tick);
  });
}

for (
  const [at, env, can] of [["terminal", {}, true], ["terminal", { TERM: "dumb" }, false], ["pipe", {}, false]] as const
) {
  Deno.test(`the cursor ${can ? "moves" : "stays"} at a ${at} with ${JSON.stringify(env)}, colours forced or not`, () => {
    for (const forced of [{}, { FORCE_COLOR: "1" }]) {
      const host = hostWith({ ...env, ...forced }, at === "terminal");
      expect(canMoveCursor(host.stderr, host)).toBe(can);
    }
  });
}
