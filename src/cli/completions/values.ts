/** What the value of a flag can be. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { ROLE_MEANINGS, ROLES } from "../../apikey/role.ts";
import type { Host } from "../host/host.ts";
import { type Answer, beginningWith, type Candidate, NOTHING } from "./answer.ts";
import { type CommandLine, type Cursor, flagOf, optionsOf, typedValue } from "./command_line.ts";
import { readKeyNames } from "./key_names.ts";
import { completeList, completePermissions } from "./lists.ts";
import { readProfileNames } from "./profile_names.ts";

type Value = Extract<Cursor, { kind: "value" }>;

/** What the placeholder of a flag's value says that it is. */
const PATHS: Readonly<Record<string, "files" | "directories">> = { file: "files", pem: "files", dir: "directories" };

/** Flags that take a text, or `@` and a file that has it. */
const TEXTS = ["--query", "--variables", "--body"];

/** Completes the value of a flag; of one whose values cannot be known there is nothing to say. */
export async function completeValue(
  value: Value,
  line: CommandLine,
  command: CommandUnknownOpts,
  host: Host,
): Promise<Answer> {
  const { flag, before, typed } = value;
  const option = optionsOf(command).find((option) => flagOf(option) === flag);
  const kind = PATHS[/<(.*)>/.exec(option?.flags ?? "")?.[1] ?? ""];
  if (kind !== undefined) return { kind, before };
  if (TEXTS.includes(flag)) return typed.startsWith("@") ? { kind: "files", before: `${before}@` } : NOTHING;
  switch (flag) {
    case "--roles":
      return inWord(before, completeList(typed, ROLE_CANDIDATES));
    case "--permissions":
      return inWord(before, completePermissions(typed));
    case "--name":
      return wantsExistingName(line) ? offer(value, await readKeyNames(line, host)) : NOTHING;
    case "--profile":
      return offer(value, (await readProfileNames(typedValue(line, "--config", host), host)).map(plain));
    default:
      return offer(value, (option?.argChoices ?? []).map(plain));
  }
}

const ROLE_CANDIDATES: readonly Candidate[] = ROLES.map((role) => ({ word: role, description: ROLE_MEANINGS[role] }));

function plain(word: string): Candidate {
  return { word, description: "" };
}

/** A key is deleted or replaced by its name; a new one gets a name that nobody else knows. */
function wantsExistingName({ given }: CommandLine): boolean {
  return given.has("--delete") || given.has("--overwrite");
}

function offer({ before, typed }: Value, candidates: readonly Candidate[]): Answer {
  return inWord(before, { kind: "candidates", candidates: beginningWith(typed, candidates) });
}

function inWord(before: string, answer: Answer): Answer {
  if (answer.kind !== "candidates") return answer;
  const candidates = answer.candidates.map((candidate) => ({ ...candidate, word: `${before}${candidate.word}` }));
  return { ...answer, candidates };
}
