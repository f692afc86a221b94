/** The content of a help page, as data. The same page becomes the output of `-h` and `--help`, and a man page. */
import type { Argument, CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { SUBCOMMANDS } from "../commands/apikey/subcommands.ts";
import type { ProgramCommand } from "../program_command.ts";
import { SERVER_SETTINGS } from "../settings/server_flags.ts";

/** A term, for example a flag, and its description. Line breaks in a description are kept. */
export interface Row {
  readonly term: string;
  readonly description: string;
}

/** Rows under a title. */
export interface Group {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** Text under a title, without its indentation. A section without a title is a paragraph. */
export interface Section {
  readonly title: string | undefined;
  readonly lines: readonly string[];
}

export interface Page {
  /** `service-api apikey list`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** Each line begins with the name. */
  readonly usage: readonly string[];
  /** Arguments and subcommands, then flags. */
  readonly groups: readonly Group[];
  /** The flags that select a server or a store. Empty for commands without them. */
  readonly settings: readonly Row[];
  /** Each example has one or more lines; comments begin with `#`. */
  readonly examples: readonly (readonly string[])[];
  /** Everything else, except the exit status. */
  readonly sections: readonly Section[];
}

/**
 * Reads the page of a command.
 *
 * @param path the command without the program's name, for example `apikey list`
 */
export function readPage(command: ProgramCommand, path: string): Page {
  const name = `service-api ${path}`;
  const options = command.options.filter(({ hidden }) => !hidden);
  const titles = [...new Set(options.map(titleOf))];
  const flagGroups = titles.map((title) => ({ title, rows: options.filter(isIn(title)).map(describeOption) }));
  const sections = readSections(command.notes());
  return {
    name,
    summary: command.summary(),
    description: command.description(),
    usage: command.usage().split("\n").map((usage) => `${name} ${usage}`),
    groups: [
      { title: "Commands", rows: subcommandsOf(command, path) },
      { title: "Arguments", rows: command.registeredArguments.map(describeArgument) },
      ...flagGroups.filter(({ title }) => title !== SERVER_SETTINGS),
      { title: "Help", rows: [{ term: "-h, --help", description: "print the short help, or this page" }] },
    ].filter(({ rows }) => rows.length > 0),
    settings: flagGroups.find(({ title }) => title === SERVER_SETTINGS)?.rows ?? [],
    examples: sections.filter(isExamples).flatMap(({ lines }) => readExamples(lines)),
    sections: sections.filter((section) => !isExamples(section) && !isExitStatus(section)),
  };
}

function titleOf({ helpGroupHeading }: Option): string {
  return (helpGroupHeading ?? "Options:").replace(/:$/, "");
}

function isIn(title: string): (option: Option) => boolean {
  return (option) => titleOf(option) === title;
}

function describeOption({ flags, description, defaultValue, required }: Option): Row {
  const fallback = required && defaultValue !== undefined ? ` (default: ${defaultValue})` : "";
  return { term: flags, description: `${description}${fallback}` };
}

function describeArgument(argument: Argument): Row {
  const choices = argument.argChoices === undefined ? "" : argument.argChoices.join(", ");
  return { term: argument.name(), description: argument.description || choices };
}

function subcommandsOf(command: CommandUnknownOpts, path: string): readonly Row[] {
  // The program registers only the requested subcommand of apikey.
  if (path === "apikey") return SUBCOMMANDS.map(([term, description]) => ({ term, description }));
  return command.commands.map((subcommand) => ({ term: subcommand.name(), description: subcommand.summary() }));
}

/** Longer lines that end with a colon are sentences. */
const MAX_TITLE = 40;

/** Divides text into sections. A title is an unindented line that ends with a colon, before indented lines. */
export function readSections(text: string): readonly Section[] {
  const blocks = text.trim().split(/\n\n(?=\S)/);
  return blocks.map((block) => {
    const [first = "", ...lines] = block.split("\n");
    const isTitled = first.endsWith(":") && first.length <= MAX_TITLE &&
      lines.every((line) => line === "" || line.startsWith("  "));
    if (!isTitled) return { title: undefined, lines: block.split("\n") };
    return { title: first.slice(0, -1), lines: lines.map((line) => line.replace(/^ {2}/, "")) };
  });
}

function isExamples({ title }: Section): boolean {
  return title === "Examples" || title === "Example";
}

function isExitStatus({ lines: [first = ""] }: Section): boolean {
  return first.startsWith("Exit status:");
}

function readExamples(lines: readonly string[]): readonly (readonly string[])[] {
  const examples: string[][] = [];
  for (const line of lines) {
    const example = examples.at(-1);
    const previous = example?.at(-1);
    if (previous !== undefined && (previous.startsWith("#") || previous.endsWith("\\"))) example?.push(line);
    else examples.push([line]);
  }
  return examples;
}
