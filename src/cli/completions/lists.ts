/** Comma-separated lists that are being typed: the item under the cursor is completed, those before it stay. */
import { toUpperCase } from "../../apikey/comma_list.ts";
import { ACTIONS, RESOURCES } from "../../apikey/permission.ts";
import { type Answer, beginningWith, type Candidate } from "./answer.ts";

interface TypedList {
  /** The list up to and with its last comma and the spaces after it, as it was typed. */
  readonly before: string;
  /** The items of `before`, in upper case. */
  readonly items: readonly string[];
  /** What is typed of the last item. */
  readonly typed: string;
}

function readList(text: string): TypedList {
  const [, before = "", typed = ""] = /^((?:.*,)?\s*)(.*)$/s.exec(text) ?? [];
  return { before, typed, items: before.split(",").map((item) => toUpperCase(item.replaceAll(/\s/g, ""))) };
}

/** The list with each of the items that it does not have yet. */
export function completeList(text: string, items: readonly Candidate[]): Answer {
  const list = readList(text);
  return { kind: "candidates", candidates: extend(list, items.filter(({ word }) => !list.items.includes(word))) };
}

/** First the resource and a colon, then its actions. */
export function completePermissions(text: string): Answer {
  const list = readList(text);
  const left = (resource: string): readonly Candidate[] =>
    ACTIONS.map((action) => ({ word: `${resource}:${action}`, description: "" }))
      .filter(({ word }) => !list.items.includes(word));
  const [resource = "", action] = toUpperCase(list.typed).split(":");
  if (action !== undefined) {
    const known = RESOURCES.find((candidate) => candidate === resource.trim());
    return { kind: "candidates", candidates: known === undefined ? [] : extend(list, left(known)) };
  }
  const resources = RESOURCES.filter((candidate) => left(candidate).length > 0);
  const candidates = extend(list, resources.map((word) => ({ word: `${word}:`, description: "" })));
  return { kind: "candidates", candidates, goesOn: true };
}

function extend({ before, typed }: TypedList, items: readonly Candidate[]): readonly Candidate[] {
  return beginningWith(typed, items).map((item) => ({ ...item, word: `${before}${item.word}` }));
}
