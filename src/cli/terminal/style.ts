/** Colours, if the stream and the environment allow them, and symbols that the locale can show. */
import type { Host, Output } from "../host/host.ts";

/** Wraps a text in escape sequences, or returns it unchanged if colours are off. */
type Paint = (text: string) => string;

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly cyan: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly red: Paint;
  readonly symbols: Symbols;
}

export interface Symbols {
  readonly question: string;
  readonly success: string;
  readonly error: string;
  /** Marks the focused line. */
  readonly pointer: string;
  readonly selected: string;
  readonly unselected: string;
  readonly cursor: string;
  readonly ellipsis: string;
  /** Stands between the values before and after a change. */
  readonly arrow: string;
  readonly separator: string;
  /** The marks of rights are one column wide: granted by a role, by a permission, by both, or not at all. */
  readonly fromRole: string;
  readonly fromPermission: string;
  readonly fromBoth: string;
  readonly none: string;
  /** Marks an `_OWN` right that a selected `_ANY` right includes. */
  readonly included: string;
  /** Marks several rights of which only some are selected. */
  readonly partial: string;
  /** The part of a list that is on the screen, and the rest of it. */
  readonly scrollThumb: string;
  readonly scrollBar: string;
  readonly barDone: string;
  readonly barLeft: string;
  readonly spinner: readonly string[];
}

const UNICODE: Symbols = {
  question: "?",
  success: "✔",
  error: "✖",
  pointer: "❯",
  selected: "◉",
  unselected: "◯",
  cursor: "█",
  ellipsis: "…",
  arrow: "→",
  separator: " · ",
  fromRole: "◆",
  fromPermission: "●",
  fromBoth: "◈",
  none: "·",
  included: "○",
  partial: "◐",
  scrollThumb: "┃",
  scrollBar: "│",
  barDone: "█",
  barLeft: "░",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const ASCII: Symbols = {
  question: "?",
  success: "*",
  error: "!",
  pointer: ">",
  selected: "[x]",
  unselected: "[ ]",
  cursor: "_",
  ellipsis: "...",
  arrow: "->",
  separator: ", ",
  fromRole: "R",
  fromPermission: "P",
  fromBoth: "B",
  none: ".",
  included: "p",
  partial: "~",
  scrollThumb: "#",
  scrollBar: ":",
  barDone: "#",
  barLeft: "-",
  spinner: ["|", "/", "-", "\\"],
};

/** The style for an output stream of this host. A plain terminal gets ASCII symbols, which screen readers can speak. */
export function styleFor(output: Output, host: Host): Style {
  const useColors = hasColors(output, host);
  const paint = (start: number, end: number): Paint =>
    useColors ? (text) => `\x1b[${start}m${text}\x1b[${end}m` : (text) => text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    cyan: paint(36, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    red: paint(31, 39),
    symbols: hasUnicode(host) && !(output.isTerminal() && isPlain(host)) ? UNICODE : ASCII,
  };
}

/** FORCE_COLOR wins over NO_COLOR, as in Node. FORCE_COLOR=0 and FORCE_COLOR=false turn colours off. */
export function hasColors(output: Output, host: Host): boolean {
  const forced = host.env("FORCE_COLOR");
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return host.env("NO_COLOR") === undefined && canMoveCursor(output, host);
}

/** Whether an output stream is a terminal that understands escape sequences and the user has not asked for plain lines. */
export function canMoveCursor(output: Output, host: Host): boolean {
  return output.isTerminal() && !isPlain(host);
}

/**
 * Whether everything at the terminal is plain lines, which the program neither moves back to nor redraws: with `--plain`
 * or `SERVICE_API_PLAIN`, for example for screen readers, and if `TERM` is `dumb` or, except on Windows, unset.
 * `SERVICE_API_PLAIN=0` and `SERVICE_API_PLAIN=false` count as unset.
 */
export function isPlain({ args, env, platform }: Pick<Host, "args" | "env" | "platform">): boolean {
  if (args.includes("--plain") || !["0", "false"].includes(env("SERVICE_API_PLAIN") ?? "0")) return true;
  return env("TERM") === "dumb" || (env("TERM") === undefined && platform !== "windows");
}

/** Whether the locale is UTF-8, by the POSIX variables LC_ALL, LC_CTYPE and LANG. Always true on Windows. */
function hasUnicode(host: Host): boolean {
  if (host.platform === "windows") return true;
  const locale = host.env("LC_ALL") ?? host.env("LC_CTYPE") ?? host.env("LANG") ?? "";
  return /utf-?8/i.test(locale);
}
