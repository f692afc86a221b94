/** How text for a person looks: colours that the stream and the environment allow, symbols that the locale has. */
import type { Host, Output } from "../host/host.ts";

type Paint = (text: string) => string;

/** Colours, each of them nothing where there are none, and symbols. */
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
  readonly done: string;
  readonly problem: string;
  /** Before the line that the keys act on. */
  readonly pointer: string;
  readonly ticked: string;
  readonly unticked: string;
  readonly cursor: string;
  readonly ellipsis: string;
  readonly separator: string;
  /** One character: a right that a role gives, that a permission gives, that both give, that nothing gives. */
  readonly fromRole: string;
  readonly fromPermission: string;
  readonly fromBoth: string;
  readonly none: string;
  /** One character: a right that comes with another one, as `_OWN` with `_ANY`. */
  readonly contained: string;
  /** One character: some of several rights. */
  readonly some: string;
  readonly barDone: string;
  readonly barLeft: string;
  readonly spinner: readonly string[];
}

const UNICODE: Symbols = {
  question: "?",
  done: "✔",
  problem: "✖",
  pointer: "❯",
  ticked: "◉",
  unticked: "◯",
  cursor: "█",
  ellipsis: "…",
  separator: " · ",
  fromRole: "◆",
  fromPermission: "●",
  fromBoth: "◈",
  none: "·",
  contained: "○",
  some: "◐",
  barDone: "█",
  barLeft: "░",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const ASCII: Symbols = {
  question: "?",
  done: "*",
  problem: "!",
  pointer: ">",
  ticked: "[x]",
  unticked: "[ ]",
  cursor: "_",
  ellipsis: "...",
  separator: ", ",
  fromRole: "R",
  fromPermission: "P",
  fromBoth: "B",
  none: ".",
  contained: "p",
  some: "~",
  barDone: "#",
  barLeft: "-",
  spinner: ["|", "/", "-", "\\"],
};

/** The style for an output of this host. */
export function styleFor(output: Output, host: Host): Style {
  const colours = hasColours(output, host);
  const paint = (start: number, end: number): Paint =>
    colours ? (text) => `\x1b[${start}m${text}\x1b[${end}m` : (text) => text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    cyan: paint(36, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    red: paint(31, 39),
    symbols: hasUnicode(host) ? UNICODE : ASCII,
  };
}

/** FORCE_COLOR wins over NO_COLOR, as in Node; `0` and `false` force them off. */
export function hasColours(output: Output, host: Host): boolean {
  const forced = host.env("FORCE_COLOR");
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return host.env("NO_COLOR") === undefined && canMoveCursor(output, host);
}

/** Whether an output is a terminal that understands escape sequences. */
export function canMoveCursor(output: Output, host: Host): boolean {
  return output.isTerminal() && host.env("TERM") !== "dumb";
}

/** Whether the locale is UTF-8, by the variables that POSIX has for that; consoles of Windows always are. */
function hasUnicode(host: Host): boolean {
  if (host.platform === "windows") return true;
  const locale = host.env("LC_ALL") ?? host.env("LC_CTYPE") ?? host.env("LANG") ?? "";
  return /utf-?8/i.test(locale);
}
