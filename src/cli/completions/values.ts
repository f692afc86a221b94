/** Completes the value of a flag. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { ROLE_MEANINGS, ROLES } from "../../apikey/role.ts";
import { chooseConfigPath } from "../config_file/path.ts";
import { SORTS } from "../commands/apikey/list/sort_keys.ts";
import { readConfigFile } from "../config_file/read.ts";
import type { Host } from "../host/host.ts";
import { type Answer, type Candidate, matching, NO_CANDIDATES } from "./answer.ts";
import { type CommandLine, type Cursor, flagName, givenValue, visibleOptions } from "./command_line.ts";
import { completeList, completeOnePermission, completePermissions } from "./comma_lists.ts";
import { fetchKeyIds, fetchKeyNames, fetchResourceNames, selectsEmbeddedServer } from "./server_candidates.ts";

type ValueCursor = Extract<Cursor, { kind: "value" }>;

/** The placeholders that the help uses for paths, and what the shell completes for each. */
const PATH_PLACEHOLDERS: Readonly<Record<string, "files" | "directories">> = {
  file: "files",
  pem: "files",
  dir: "directories",
};

/** Flags whose value can be a text, `@` and a path, or `-`. */
const TEXT_OR_FILE_FLAGS = ["--query", "--variables", "--body", "--permissions-for"];

/** Completes the value at the cursor. Free text has no candidates. */
export async function completeValue(
  cursor: ValueCursor,
  line: CommandLine,
  command: CommandUnknownOpts,
  host: Host,
): Promise<Answer> {
  const { flag, prefix, typed } = cursor;
  const option = visibleOptions(command).find((option) => flagName(option) === flag);
  const kind = PATH_PLACEHOLDERS[/<(.*)>/.exec(option?.flags ?? "")?.[1] ?? ""];
  if (kind !== undefined) return { kind, prefix };
  if (TEXT_OR_FILE_FLAGS.includes(flag)) {
    return typed.startsWith("@") ? { kind: "files", prefix: `${prefix}@` } : NO_CANDIDATES;
  }
  switch (flag) {
    case "--role":
      return offer(cursor, await roleCandidates(line, host));
    case "--roles":
    case "--add-roles":
    case "--remove-roles":
      return withPrefix(prefix, completeList(typed, await roleCandidates(line, host)));
    case "--permissions":
    case "--add-permissions":
    case "--remove-permissions":
      return withPrefix(prefix, await completePermissions(typed, () => fetchResourceNames(line, host)));
    case "--can":
      // The filter of `list` takes one permission, and the check of `verify` takes lists.
      return withPrefix(
        prefix,
        await (command.name() === "list" ? completeOnePermission : completePermissions)(
          typed,
          () => fetchResourceNames(line, host),
        ),
      );
    case "--sort":
      return offer(cursor, SORTS.map(toCandidate));
    case "--id":
      return offer(cursor, await fetchKeyIds(line, host));
    case "--key":
      return offer(cursor, await fetchKeyNames(line, host));
    case "--name":
      return expectsExistingName(line, command) ? offer(cursor, await fetchKeyNames(line, host)) : NO_CANDIDATES;
    case "--profile":
      return offer(cursor, (await readProfileNames(line, host)).map(toCandidate));
    default:
      return offer(cursor, (option?.argChoices ?? []).map(toCandidate));
  }
}

/** Describes the roles only for the embedded server, because they mean something else on other servers. */
async function roleCandidates(line: CommandLine, host: Host): Promise<readonly Candidate[]> {
  const isDescribed = await selectsEmbeddedServer(line, host).catch(() => false);
  return ROLES.map((role) => ({ word: role, description: isDescribed ? ROLE_MEANINGS[role] : "" }));
}

function toCandidate(word: string): Candidate {
  return { word, description: "" };
}

/** With `apikey` and `apikey create`, only these flags take the name of an existing key. */
function expectsExistingName({ given }: CommandLine, command: CommandUnknownOpts): boolean {
  return given.has("--delete") || given.has("--overwrite") || !["apikey", "create"].includes(command.name());
}

/**
 * The names of the profiles in the config file that the command line selects, in the order of the file.
 *
 * @throws {Failure} if the file cannot be read or is not valid
 */
async function readProfileNames(line: CommandLine, host: Host): Promise<readonly string[]> {
  const path = chooseConfigPath({ config: givenValue(line, "--config", host) }, host);
  return [...(path && await readConfigFile(path, host))?.profiles.keys() ?? []];
}

function offer({ prefix, typed }: ValueCursor, candidates: readonly Candidate[]): Answer {
  return withPrefix(prefix, { kind: "candidates", candidates: matching(typed, candidates) });
}

function withPrefix(prefix: string, answer: Answer): Answer {
  if (answer.kind !== "candidates") return answer;
  const candidates = answer.candidates.map((candidate) => ({ ...candidate, word: `${prefix}${candidate.word}` }));
  return { ...answer, candidates };
}
