/** Renders help pages in the man(7) format of roff, for groff and mandoc. */
import { wrapWords } from "../../src/cli/terminal/wrap.ts";
import type { Group, Page, Row, Section } from "../../src/cli/help/page.ts";

/** A man page, for example `service-api-apikey(1)`. */
export interface ManPage {
  /** The name without the section. */
  readonly name: string;
  readonly section: 1 | 7;
  readonly summary: string;
  /** The lines after the section NAME. */
  readonly body: readonly string[];
  /** For example `service-api(1)`. */
  readonly seeAlso: readonly string[];
}

/** @param date for example `2026-12-31` */
export function renderPage({ name, section, summary, body, seeAlso }: ManPage, date: string, version: string): string {
  return [
    `.TH ${escape(name.toUpperCase())} ${section} ${date} "service\\-api ${version}"`,
    // No justified text and no hyphens: they would change commands.
    ".ad l",
    ".nh",
    ".SH NAME",
    `${escape(name)} \\- ${escape(summary)}`,
    ...body.filter((line, index) => line !== ".PP" || !body[index - 1]?.startsWith(".SH")),
    ".SH SEE ALSO",
    ...seeAlso.map((page, index) => {
      const [bold, number] = page.split(/(?=\(\d\))/);
      return `\\fB${escape(bold ?? "")}\\fR${number}${index < seeAlso.length - 1 ? "," : ""}`;
    }),
    "",
  ].join("\n");
}

/** Everything of a command's page after its name. */
export function renderCommand(page: Page): readonly string[] {
  return [
    ".SH SYNOPSIS",
    ".nf",
    ...page.usage.map((line) => line.replace(page.name, "")).map((rest) =>
      `\\fB${escape(page.name)}\\fR${escape(rest)}`
    ),
    ".fi",
    ".SH DESCRIPTION",
    ...fill(page.description),
    ...renderExamples(page.examples.flat()),
    ...page.groups.flatMap(renderGroup),
    ...renderGroup({ title: "Server settings", rows: page.settings }),
    ...page.sections.flatMap(renderSection),
  ];
}

export function renderExamples(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [".SH EXAMPLES", ...renderLiteral(lines)];
}

/** Renders nothing if there are no rows. */
export function renderGroup({ title, rows }: Group): readonly string[] {
  return rows.length === 0 ? [] : [`.SH ${escape(title.toUpperCase())}`, ...rows.flatMap(renderRow)];
}

export function renderSection({ title, lines }: Section): readonly string[] {
  if (title === "Examples") return renderExamples(lines);
  return [`.SH ${escape((title ?? "Notes").toUpperCase())}`, ...renderLines(lines)];
}

function renderRow({ term, description }: Row): readonly string[] {
  const [first = "", ...others] = description.split("\n");
  return [".TP", `\\fB${escape(term)}\\fR`, ...fill(first), ...others.flatMap((line) => [".br", ...fill(line)])];
}

/** Renders text as it is, in lines, with the usual indentation or as much of it as fits into 80 columns. */
function renderLiteral(lines: readonly string[]): readonly string[] {
  const indentation = Math.max(0, Math.min(7, 78 - Math.max(...lines.map(({ length }) => length))));
  return [
    ".PP",
    ".nf",
    `.in ${indentation}n`,
    ...lines.map((line) => line === "" ? ".sp" : textLine(line)),
    ".in",
    ".fi",
  ];
}

/** A term and a description in two columns: `ADMIN    every action on every resource`. */
const ROW = /^( *\S(?:.*?\S)?) {2,}(\S.*)$/;

/**
 * Renders the lines of a section. Unindented lines become paragraphs. Lines with two columns become terms with
 * descriptions, to which the next lines in the second column belong. Other indented lines, JSON and YAML stay as they
 * are.
 */
function renderLines(lines: readonly string[]): readonly string[] {
  const output: string[] = [];
  let kind: "none" | "text" | "row" | "literal" = "none";
  let column = 0;
  let literal: string[] = [];
  const close = (): void => {
    if (literal.length > 0) output.push(...renderLiteral(literal));
    literal = [];
  };
  lines.forEach((line, index) => {
    const next = lines[index + 1] ?? "";
    const [, term = "", description = ""] = ROW.exec(line) ?? [];
    if (line === "") {
      close();
      kind = "none";
    } else if (kind === "row" && line.startsWith(" ".repeat(column)) && line[column] !== " ") {
      // JSON begins a new line.
      if (/^\s*\{/.test(line)) output.push(".br");
      output.push(...fill(line.trim()));
    } else if (isCode(line, next) || kind === "literal" && /^ |^[\w-]+:( |$)/.test(line)) {
      literal.push(line);
      kind = "literal";
    } else if (description !== "") {
      close();
      output.push(".TP", `\\fB${escape(term.trim())}\\fR`, ...fill(description));
      kind = "row";
      column = line.length - description.length;
    } else if (isTerm(line, next)) {
      close();
      output.push(".TP", `\\fB${escape(line.trim())}\\fR`);
      kind = "row";
      column = next.length - next.trimStart().length;
    } else if (line.startsWith(" ")) {
      literal.push(line);
      kind = "literal";
    } else {
      if (kind !== "text") {
        close();
        output.push(".PP");
      }
      output.push(...fill(line));
      kind = "text";
    }
  });
  close();
  return output;
}

/** Whether a line begins or belongs to code: JSON, YAML with indented members, or text with a comment. */
function isCode(line: string, next: string): boolean {
  return /^\s*["{]/.test(line) || / {2,}# /.test(line) || /^[\w-]+:$/.test(line) && next.startsWith("  ");
}

/** Whether a line is only a term, with its description in the next line. */
function isTerm(line: string, next: string): boolean {
  return !line.trimEnd().endsWith(".") && / {9}\S/.test(next) && /^ *[\w, -]+$/.test(line) && line.length < 40;
}

/** Breaks text that roff fills into lines of at most 80 characters. */
function fill(text: string): readonly string[] {
  return wrapWords(escape(text.replaceAll(/\s+/g, " ")).split(" "), 80, " ").map(protect);
}

function textLine(text: string): string {
  return protect(escape(text));
}

/** Prevents that a line begins with the character of a request. */
function protect(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}

const SPECIAL: ReadonlyMap<string, string> = new Map([
  ["\\", "\\e"],
  ["-", "\\-"],
  ["'", "\\(aq"],
  ["`", "\\(ga"],
  ["^", "\\(ha"],
  ["~", "\\(ti"],
  ['"', "\\(dq"],
]);

/** Escapes text for roff, so that it is printed unchanged. */
function escape(text: string): string {
  return text.replace(/[\\\-'`^~"]|[^ -~]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return SPECIAL.get(character) ?? `\\[u${codePoint.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}
