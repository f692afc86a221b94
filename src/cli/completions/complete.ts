/**
 * Answers a shell that asks what the word under the cursor can become. It changes nothing, asks nobody anything, says
 * nothing but the answer, and has no other way to fail than to know of no candidate.
 */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { isRepeatable } from "../command.ts";
import type { Host } from "../host/host.ts";
import { type Answer, beginningWith, type Candidate, NOTHING, render } from "./answer.ts";
import { type CommandLine, flagOf, optionsOf, readCommandLine } from "./command_line.ts";
import { excludedBy } from "./exclusive.ts";
import { completeValue } from "./values.ts";

/**
 * Writes the answer.
 *
 * @param words those after the program's name, up to and with the one under the cursor
 * @param program with the flags of the command that the words name
 */
export async function complete(words: readonly string[], program: CommandUnknownOpts, host: Host): Promise<void> {
  const answer = await decide(words, program, host).catch(() => NOTHING);
  await host.stdout.write(render(answer)).catch(() => {});
}

async function decide(words: readonly string[], program: CommandUnknownOpts, host: Host): Promise<Answer> {
  const [name, ...rest] = words;
  const command = program.commands.find((candidate) => candidate.name() === name);
  if (name === "help" && rest.length === 1) return offer(rest[0] ?? "", commands(program));
  if (rest.length === 0) return offer(name ?? "", [...commands(program), ...flags(program, NO_FLAGS)]);
  if (command === undefined) return NOTHING;
  const line = readCommandLine(rest, command);
  const { cursor } = line;
  if (cursor.kind === "value") return await completeValue(cursor, line, command, host);
  const operands = choicesOf(command, line.operands.length);
  return offer(cursor.typed, cursor.kind === "operand" ? operands : [...operands, ...flags(command, line.given)]);
}

const NO_FLAGS: CommandLine["given"] = new Map();

function offer(typed: string, candidates: readonly Candidate[]): Answer {
  return { kind: "candidates", candidates: beginningWith(typed, candidates) };
}

function commands(program: CommandUnknownOpts): readonly Candidate[] {
  return program.createHelp().visibleCommands(program).map((command) => ({
    word: command.name(),
    description: command.summary() || command.description(),
  }));
}

/** The values of the operand that comes next, where they are known. */
function choicesOf(command: CommandUnknownOpts, index: number): readonly Candidate[] {
  const choices = command.registeredArguments[index]?.argChoices ?? [];
  return choices.map((word) => ({ word, description: "" }));
}

/** The flags that can still be given. */
function flags(command: CommandUnknownOpts, given: CommandLine["given"]): readonly Candidate[] {
  const excluded = excludedBy([...given.keys()]);
  return optionsOf(command)
    .filter((option) => isRepeatable(option) || !given.has(flagOf(option)))
    .map((option) => ({ word: flagOf(option), description: inOneLine(option.description) }))
    .filter(({ word }) => !excluded.has(word));
}

/** The words of the help without what they say of variables and defaults. */
function inOneLine(description: string): string {
  return description.replace(/\s*\[SERVICE_API_.*$/s, "").replaceAll(/\s+/g, " ");
}
