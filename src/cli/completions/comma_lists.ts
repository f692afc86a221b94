/** Completes the last item of a comma-separated list and keeps the items before it. */
import { toUpperCase } from "../../apikey/comma_list.ts";
import { ACTIONS, RESOURCES } from "../../apikey/permission.ts";
import { type Answer, type Candidate, matching } from "./answer.ts";

interface TypedList {
  /** The list as typed, up to and including the last comma and the spaces after it. */
  readonly prefix: string;
  /** The items in `prefix`, in upper case. */
  readonly items: readonly string[];
  /** The typed part of the last item. */
  readonly typed: string;
}

function parseList(text: string): TypedList {
  const [, prefix = "", typed = ""] = /^((?:.*,)?\s*)(.*)$/s.exec(text) ?? [];
  return { prefix, typed, items: prefix.split(",").map((item) => toUpperCase(item.replaceAll(/\s/g, ""))) };
}

/** Offers the items that the list does not contain yet. */
export function completeList(text: string, items: readonly Candidate[]): Answer {
  const list = parseList(text);
  return { kind: "candidates", candidates: extend(list, items.filter(({ word }) => !list.items.includes(word))) };
}

/** Fetches the names of the server's resources, or none if the server does not answer in time. */
type FetchResources = () => Promise<readonly string[]>;

/**
 * Completes a list of permissions with wildcards. Offers resources until the user has typed a colon, and then the pairs
 * of that resource. Omits the pairs that the list already contains.
 */
export async function completePermissions(text: string, fetchResources: FetchResources): Promise<Answer> {
  const list = parseList(text);
  return completePairs(list, [...await knownResources(list, fetchResources), WILDCARD], [...ACTIONS, WILDCARD]);
}

/** Completes one permission, without wildcards. Offers resources until the user has typed a colon, and then the pairs. */
export async function completeOnePermission(text: string, fetchResources: FetchResources): Promise<Answer> {
  const list = { prefix: "", items: [], typed: text };
  return completePairs(list, await knownResources(list, fetchResources), ACTIONS);
}

/** Asks the server only if the user has not typed a resource of this program and a colon. */
async function knownResources({ typed }: TypedList, fetchResources: FetchResources): Promise<readonly string[]> {
  const [resource = "", action] = toUpperCase(typed).split(":");
  const isKnown = action !== undefined && [...RESOURCES, WILDCARD].includes(resource.trim());
  return isKnown ? RESOURCES : [...new Set([...RESOURCES, ...await fetchResources()])];
}

const WILDCARD = "*";

function completePairs(list: TypedList, resources: readonly string[], actions: readonly string[]): Answer {
  const unusedPairs = (resource: string): readonly Candidate[] =>
    actions.map((action) => ({
      word: `${resource}:${action}`,
      description: action === WILDCARD ? "every action" : "",
    })).filter(({ word }) => !list.items.includes(word));
  const [resource = "", action] = toUpperCase(list.typed).split(":");
  if (action !== undefined) {
    const known = resources.find((candidate) => candidate === resource.trim());
    return { kind: "candidates", candidates: known === undefined ? [] : extend(list, unusedPairs(known)) };
  }
  const offered = resources.filter((candidate) => unusedPairs(candidate).length > 0).map((word) => ({
    word: `${word}:`,
    description: word === WILDCARD ? "every resource" : "",
  }));
  return { kind: "candidates", candidates: extend(list, offered), isPartial: true };
}

function extend({ prefix, typed }: TypedList, items: readonly Candidate[]): readonly Candidate[] {
  return matching(typed, items).map((item) => ({ ...item, word: `${prefix}${item.word}` }));
}
