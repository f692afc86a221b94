/** Parses a YAML file. Every error states a line and column. No error repeats a value, because a value may be a secret. */
import type * as z from "zod/mini";
import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import { Failure, reasonOf } from "../../apikey/failure.ts";

export interface YamlFile {
  readonly path: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

type Issue = z.core.$ZodIssue;

/**
 * Messages for the errors for which the library's message repeats text from the file, which may be a secret, or names a
 * function of the library. Other messages of the library repeat such text only after a colon, or at most one character of
 * it.
 */
const MESSAGES: { readonly [code: string]: string } = {
  BAD_DQ_ESCAPE: "Invalid escape sequence",
  TAG_RESOLVE_FAILED: "Invalid tag",
  MULTIPLE_DOCS: "The file has several documents",
};

/**
 * Parses YAML without anchors and aliases.
 *
 * @param path the name of the file in messages
 * @throws {Failure} `USAGE`; its message begins with `path:line:column: `
 */
export function parseYaml(text: string, path: string): YamlFile {
  // If these variables are set, the library prints the file, including secrets, on standard output.
  for (const name of ["LOG_STREAM", "LOG_TOKENS"]) Deno.env.delete(name);
  const lines = new LineCounter();
  let document: Document;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, uniqueKeys: true });
  } catch (error) {
    // The library throws if the nesting is too deep.
    throw new Failure("USAGE", `${path}:1:1: Invalid YAML: ${reasonOf(error)}.`, { cause: error });
  }
  const file = { path, document, lines };
  const [error] = document.errors;
  if (error !== undefined) {
    const reason = MESSAGES[error.code] ?? error.message.replace(/:.*/s, "");
    throw new Failure("USAGE", `${formatPosition(file, error.pos[0])}: Invalid YAML: ${reason}.`);
  }
  // Most files need no search.
  if (/[&*]/.test(text)) rejectAnchors(file);
  return file;
}

function rejectAnchors(file: YamlFile): void {
  visit(file.document, {
    Node: (_key, node) => {
      if (!isAlias(node) && node.anchor === undefined) return;
      throw failureAt(
        file,
        node,
        "Anchors and aliases (& and *) are not supported here. Write the value itself, and put a text that begins with & " +
          "or * in quotes.",
      );
    },
  });
}

/** Returns a failure whose message begins with the position of a node. */
export function failureAt(file: YamlFile, node: unknown, message: string): Failure {
  return new Failure("USAGE", `${formatPosition(file, offsetOf(node))}: ${message}`);
}

/** Returns `path:line:column` for an offset, which counts UTF-16 code units. */
export function formatPosition({ path, lines }: YamlFile, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${path}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
}

export function offsetOf(node: unknown): number {
  return isNode(node) ? (node as Node).range?.[0] ?? 0 : 0;
}

/** Returns the failure for the issue that comes first in the file. */
export function failureOf(
  file: YamlFile,
  issues: readonly Issue[],
  messageOf: (issue: Issue, document: Document) => string,
): Failure {
  const { document } = file;
  const [first] = issues.map((issue) => ({ issue, node: nodeOf(issue, document) }))
    .toSorted((one, other) => offsetOf(one.node) - offsetOf(other.node));
  return failureAt(file, first?.node, first === undefined ? "The file is invalid." : messageOf(first.issue, document));
}

/**
 * Returns the node that an error points at. This is the key if the key is unknown or invalid, or if no colon follows
 * the key. Otherwise, it is the value, or what contains it if it is missing.
 */
function nodeOf({ code, path, ...issue }: Issue, document: Document): unknown {
  if (code === "unrecognized_keys" && "keys" in issue) return keyNode(document, [...path, issue.keys[0]]);
  if (code === "invalid_key") return keyNode(document, path);
  return document.getIn(path, true) ?? keyNode(document, path);
}

function keyNode(document: Document, path: readonly unknown[]): unknown {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return document.contents;
  return parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))?.key ?? parent;
}

/** Returns the YAML type of a node in words, and whether the node is a single value. */
export function typeOf(node: unknown): { readonly name: string; readonly isScalar: boolean } {
  if (isMap(node)) return { name: "a mapping", isScalar: false };
  if (isNode(node) && !isScalar(node)) return { name: "a list", isScalar: false };
  const value = isScalar(node) ? node.value : null;
  if (value === null) return { name: "empty", isScalar: false };
  const name = typeof value === "boolean" ? "true or false" : typeof value === "string" ? "text" : "a number";
  return { name, isScalar: true };
}
