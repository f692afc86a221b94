/** Help pages as text for 80 columns. */
import { EXIT_STATUS } from "../exit_code.ts";
import { wrapWords } from "../terminal/wrap.ts";
import { MOST_USED_FLAGS } from "./most_used_flags.ts";
import type { Group, Page, Row, Section } from "./page.ts";

const WIDTH = 80;

/** The number of examples on a short page. */
const SHOWN_EXAMPLES = 2;

/** The page of `-h`: usage, the most used flags and two examples. It fits into 80 columns and 23 rows. */
export function formatShortPage(page: Page): string {
  const flags = page.groups.flatMap(({ rows }) => rows).concat(page.settings);
  const mostUsed = (MOST_USED_FLAGS.get(page.name) ?? []).flatMap((flag) =>
    flags.filter(({ term }) => term.replace(/ .*/, "") === flag)
  );
  const column = columnOf(mostUsed);
  const rows = mostUsed.map((row) => ({ ...row, description: shorten(row.description, WIDTH - column) }));
  const commands = page.groups.find(({ title }) => title === "Commands")?.rows ?? [];
  return joinBlocks([
    formatUsage(page),
    formatText(page.description),
    ...(commands.length === 0 ? [] : [formatCommandNames(commands)]),
    ...(rows.length === 0 ? [] : [formatGroup({ title: "Most used flags", rows }, column)]),
    formatExamples(page.examples.slice(0, SHOWN_EXAMPLES)),
    `Everything else: ${page.name} --help`,
  ]);
}

/** The page of `--help`. */
export function formatFullPage(page: Page): string {
  const settings = { title: "Server settings", rows: page.settings };
  const column = columnOf([...page.groups.flatMap(({ rows }) => rows), ...page.settings]);
  return joinBlocks([
    formatUsage(page),
    formatText(page.description),
    formatExamples(page.examples),
    ...page.groups.map((group) => formatGroup(group, column)),
    ...(page.settings.length === 0 ? [] : [formatGroup(settings, column)]),
    ...page.sections.map(formatSection),
    EXIT_STATUS.trim(),
  ]);
}

export function joinBlocks(blocks: readonly string[]): string {
  return `${blocks.join("\n\n")}\n`;
}

export function formatSection({ title, lines }: Section): string {
  if (title === undefined) return lines.join("\n");
  return [`${title}:`, ...lines.map((line) => line === "" ? "" : `  ${line}`)].join("\n");
}

/** The width of the terms of rows, with spaces on both sides. */
export function columnOf(rows: readonly Row[]): number {
  return Math.max(...rows.map(({ term }) => term.length)) + 4;
}

export function formatGroup({ title, rows }: Group, column: number): string {
  return [`${title}:`, ...rows.flatMap((row) => formatRow(row, column))].join("\n");
}

function formatRow({ term, description }: Row, column: number): readonly string[] {
  const [first = "", ...others] = description.split("\n").flatMap((line) =>
    wrapWords(line.split(" "), WIDTH - column, " ")
  );
  return [`  ${term.padEnd(column - 2)}${first}`, ...others.map((line) => `${" ".repeat(column)}${line}`)];
}

function formatUsage({ usage: [first, ...others] }: Page): string {
  return [`Usage: ${first}`, ...others.map((line) => `       ${line}`)].join("\n");
}

function formatText(text: string): string {
  return wrapWords(text.split(/\s+/), WIDTH, " ").join("\n");
}

function formatCommandNames(commands: readonly Row[]): string {
  const [first = "", ...others] = wrapWords(commands.map(({ term }) => term), WIDTH - 10, ", ");
  return [`Commands: ${first}`, ...others.map((line) => `          ${line}`)].join(",\n");
}

function formatExamples(examples: readonly (readonly string[])[]): string {
  return ["Examples:", ...examples.flat().map((line) => `  ${line}`)].join("\n");
}

/** Keeps the first line of a description, or the part of it before a detail if the line is too long. */
function shorten(description: string, width: number): string {
  const [line = ""] = description.split("\n");
  const parts = [...line.matchAll(/; |: | \(|, for example/g)].map(({ index }) => line.slice(0, index)).toReversed();
  return [line, ...parts, line.split(", ")[0] ?? line].find(({ length }) => length <= width) ?? line;
}
