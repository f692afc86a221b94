/**
 * Completes the word at the cursor for a shell. Completion creates and deletes nothing, never prompts, and prints only
 * the answer. If anything fails, the answer has no candidates.
 */
import type { Argument, CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { isRepeatable } from "../command.ts";
import { SUBCOMMANDS } from "../commands/apikey/subcommands.ts";
import { TOPICS } from "../help/topic_names.ts";
import type { Host } from "../host/host.ts";
import { type Answer, type Candidate, formatAnswer, matching, NO_CANDIDATES } from "./answer.ts";
import { type CommandLine, flagName, parseCommandLine, visibleOptions } from "./command_line.ts";
import { fetchCustomResources, fetchKeyNames } from "./server_candidates.ts";
import { completeValue } from "./values.ts";

/**
 * Writes the answer to standard output.
 *
 * @param words the words after the program's name, up to and including the one at the cursor
 * @param program the commands of the program; only the command in `words` has its flags
 */
export async function complete(words: readonly string[], program: CommandUnknownOpts, host: Host): Promise<void> {
  const answer = await answerFor(words, program, host).catch(() => NO_CANDIDATES);
  await host.stdout.write(formatAnswer(answer)).catch(() => {});
}

async function answerFor(words: readonly string[], program: CommandUnknownOpts, host: Host): Promise<Answer> {
  const [name, ...rest] = words;
  const command = program.commands.find((candidate) => candidate.name() === name);
  if (name === "help" && rest.length === 1) {
    return offer(rest[0] ?? "", [...commandCandidates(program), ...TOPIC_CANDIDATES]);
  }
  if (rest.length === 0) {
    return offer(name ?? "", [...commandCandidates(program), ...flagCandidates(program, NO_FLAGS)]);
  }
  if (command === undefined) return NO_CANDIDATES;
  const subcommand = rest.length > 1 ? command.commands.find((candidate) => candidate.name() === rest[0]) : undefined;
  if (subcommand !== undefined) return await answerForCommand(rest.slice(1), subcommand, host);
  const answer = await answerForCommand(rest, command, host);
  if (rest.length > 1 || answer.kind !== "candidates") return answer;
  const subcommands = name === "apikey"
    ? SUBCOMMANDS.map(([word, description]): Candidate => ({ word, description }))
    : commandCandidates(command);
  return { ...answer, candidates: [...matching(rest[0] ?? "", subcommands), ...answer.candidates] };
}

/** @param words the words after the command, up to and including the one at the cursor */
async function answerForCommand(words: readonly string[], command: CommandUnknownOpts, host: Host): Promise<Answer> {
  const line = parseCommandLine(words, command);
  const { cursor } = line;
  if (cursor.kind === "value") return await completeValue(cursor, line, command, host);
  const argument = argumentAt(command, line);
  if (argument?.name() === "document" && cursor.typed.startsWith("@")) return { kind: "files", prefix: "@" };
  if (argument?.name() === "file" && !cursor.typed.startsWith("-")) return { kind: "files", prefix: "" };
  const operands = await operandCandidates(command, argument, line, host);
  return offer(
    cursor.typed,
    cursor.kind === "operand" ? operands : [...operands, ...flagCandidates(command, line.given)],
  );
}

/** The topics of `help`. */
const TOPIC_CANDIDATES: readonly Candidate[] = [
  ["topics", "list the topics"] as const,
  ...TOPICS,
].map(([word, description]) => ({ word, description }));

const NO_FLAGS: CommandLine["given"] = new Map();

function offer(typed: string, candidates: readonly Candidate[]): Answer {
  return { kind: "candidates", candidates: matching(typed, candidates) };
}

function commandCandidates(program: CommandUnknownOpts): readonly Candidate[] {
  return program.createHelp().visibleCommands(program).map((command) => ({
    word: command.name(),
    description: command.summary() || command.description(),
  }));
}

function argumentAt(
  { registeredArguments: known }: CommandUnknownOpts,
  { operands }: CommandLine,
): Argument | undefined {
  const last = known.at(-1);
  return known[operands.length] ?? (last?.variadic ? last : undefined);
}

async function operandCandidates(
  command: CommandUnknownOpts,
  argument: Argument | undefined,
  line: CommandLine,
  host: Host,
): Promise<readonly Candidate[]> {
  if (argument?.name() === "name" && command.name() !== "create") return await fetchKeyNames(line, host);
  if (argument?.name() === "resource" && command.name() === "remove") return await fetchCustomResources(line, host);
  return (argument?.argChoices ?? []).map((word) => ({ word, description: "" }));
}

/** Pairs of flags that a command rejects together. */
export const CONFLICTING_FLAGS: readonly (readonly [string, string])[] = [
  ["--create", "--delete"],
  ["--create", "--id"],
  ["--create", "--match"],
  ["--create", "--expired"],
  ["--create", "--unused"],
  ["--create", "--if-exists"],
  ["--name", "--match"],
  ["--name", "--expired"],
  ["--name", "--unused"],
  ["--id", "--match"],
  ["--id", "--expired"],
  ["--id", "--unused"],
  ["--delete", "--roles"],
  ["--delete", "--permissions"],
  ["--delete", "--permissions-for"],
  ["--delete", "--description"],
  ["--delete", "--overwrite"],
  ["--delete", "--secret-file"],
  ["--delete", "--expires-in"],
  ["--delete", "--expires-at"],
  ["--expires-in", "--expires-at"],
  ["--no-expiry", "--expires-in"],
  ["--no-expiry", "--expires-at"],
  ["--enable", "--disable"],
  ["--roles", "--add-roles"],
  ["--roles", "--remove-roles"],
  ["--permissions", "--add-permissions"],
  ["--permissions", "--remove-permissions"],
  ["--json", "--jsonl"],
  ["--follow", "--json"],
  ["--query", "--body"],
  ["--variables", "--body"],
  ["--base-url", "--data-dir"],
  ["--base-url", "--database-url"],
  ["--data-dir", "--database-url"],
];

/** The flags that the command still accepts. */
function flagCandidates(command: CommandUnknownOpts, given: CommandLine["given"]): readonly Candidate[] {
  const conflicting = new Set(
    CONFLICTING_FLAGS.flatMap((
      [one, other],
    ) => [...(given.has(one) ? [other] : []), ...(given.has(other) ? [one] : [])]),
  );
  return visibleOptions(command)
    .filter((option) => canRepeat(option, command, given) || !given.has(flagName(option)))
    .map((option) => ({ word: flagName(option), description: shortDescription(option.description) }))
    .filter(({ word }) => !conflicting.has(word));
}

/** Without a subcommand, only `--delete` accepts several names. */
function canRepeat(option: Option, command: CommandUnknownOpts, given: CommandLine["given"]): boolean {
  return isRepeatable(option) &&
    (flagName(option) !== "--name" || command.name() !== "apikey" || given.has("--delete"));
}

/** The description of a flag in the help, on one line and without the environment variable and the default value. */
function shortDescription(description: string): string {
  return description.replace(/\s*\[SERVICE_API_.*$/s, "").replaceAll(/\s+/g, " ");
}
