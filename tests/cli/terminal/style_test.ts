/** Which colours and symbols an output stream gets. */
import { expect } from "expect";
import { canMoveCursor, hasColors, isPlain, styleFor } from "../../../src/cli/terminal/style.ts";
import { FakeHost } from "../../program/program.ts";

function hostWith(env: Readonly<Record<string, string>>, isTerminal: boolean): FakeHost {
  const host = new FakeHost([], { env });
  host.stderr.isTerminal = () => isTerminal;
  return host;
}

for (
  const [at, env, isExpected] of [
    ["terminal", {}, true],
    ["terminal", { NO_COLOR: "1" }, false],
    ["terminal", { NO_COLOR: "" }, true],
    ["terminal", { TERM: "dumb" }, false],
    ["terminal", { FORCE_COLOR: "0" }, false],
    ["terminal", { FORCE_COLOR: "false" }, false],
    ["terminal", { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
    ["terminal", { FORCE_COLOR: "1", TERM: "dumb" }, true],
    ["pipe", {}, false],
    ["pipe", { FORCE_COLOR: "1" }, true],
    ["pipe", { FORCE_COLOR: "" }, false],
  ] as const
) {
  Deno.test(`a ${at} with ${JSON.stringify(env)} has ${isExpected ? "colours" : "no colours"}`, () => {
    const host = hostWith(env, at === "terminal");
    expect(hasColors(host.stderr, host)).toBe(isExpected);
    expect(styleFor(host.stderr, host).red("text")).toBe(isExpected ? "\x1b[31mtext\x1b[39m" : "text");
  });
}

for (
  const [env, symbol] of [
    [{}, "[x]"],
    [{ LANG: "C" }, "[x]"],
    [{ LANG: "C.UTF-8" }, "◉"],
    [{ LANG: "de_DE.utf8" }, "◉"],
    [{ LC_CTYPE: "en_US.UTF-8" }, "◉"],
    [{ LANG: "C.UTF-8", LC_CTYPE: "C" }, "[x]"],
    [{ LANG: "C.UTF-8", LC_ALL: "C" }, "[x]"],
    [{ LANG: "C", LC_CTYPE: "C", LC_ALL: "en_US.UTF-8" }, "◉"],
    [{ LANG: "C.UTF-8", LC_ALL: "" }, "◉"],
  ] as const
) {
  Deno.test(`with ${JSON.stringify(env)} a selected item has the mark ${symbol}`, () => {
    const host = hostWith(env, true);
    expect(styleFor(host.stderr, host).symbols.selected).toBe(symbol);
  });
}

Deno.test("without a UTF-8 locale every symbol is ASCII", () => {
  const host = hostWith({ LANG: "C" }, true);
  expect(Object.values(styleFor(host.stderr, host).symbols).flat().join("")).toMatch(/^[ -~]+$/);
});

Deno.test("at a plain terminal, symbols are ASCII; in a pipe, they follow the locale", () => {
  const env = { LANG: "C.UTF-8", TERM: "dumb" };
  const selected = [true, false].map((isTerminal) => {
    const host = hostWith(env, isTerminal);
    return styleFor(host.stderr, host).symbols.selected;
  });
  expect(selected).toEqual(["[x]", "◉"]);
});

Deno.test("on Windows, symbols are Unicode in every locale", () => {
  const host = Object.assign(hostWith({ LANG: "C" }, true), { platform: "windows" });
  expect(styleFor(host.stderr, host).symbols.selected).toBe("◉");
});

for (
  const [args, env, platform, isExpected] of [
    [[], {}, "linux", false],
    [[], { TERM: "dumb" }, "linux", true],
    [[], { TERM: "" }, "linux", true],
    [[], { TERM: "" }, "windows", false],
    [[], { TERM: "dumb" }, "windows", true],
    [["apikey", "--create", "--plain"], {}, "linux", true],
    [[], { SERVICE_API_PLAIN: "1" }, "windows", true],
    [[], { SERVICE_API_PLAIN: "0" }, "linux", false],
    [[], { SERVICE_API_PLAIN: "false", TERM: "dumb" }, "linux", true],
  ] as const
) {
  const surroundings = `${[...args, JSON.stringify(env)].join(" ")} on ${platform}`;
  Deno.test(`a terminal ${isExpected ? "is plain" : "may redraw lines"} with ${surroundings}`, () => {
    const host = Object.assign(new FakeHost(args, { env: { ...env, FORCE_COLOR: "1" } }), { platform });
    host.stderr.isTerminal = () => true;
    expect(isPlain(host)).toBe(isExpected);
    expect(canMoveCursor(host.stderr, host)).toBe(!isExpected);
  });
}

Deno.test("a pipe gets no escape sequences that move the cursor", () => {
  const host = hostWith({ FORCE_COLOR: "1" }, false);
  expect(canMoveCursor(host.stderr, host)).toBe(false);
});
