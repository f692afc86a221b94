/**
 * Parses the config file: profiles by name, each with its settings. Every error states a line and column. No error
 * repeats a value, because a value may be a secret.
 */
import * as z from "zod/mini";
import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import { nearest } from "../../apikey/nearest.ts";
import { profileNameSchema } from "../settings/profile_name.ts";
import type { Profile, SourcedSetting } from "../settings/setting.ts";
import { PROFILE_SETTINGS, type SettingKey } from "../settings/table.ts";

export interface ConfigDocument {
  readonly document: Document;
  /** The profiles by name, in the order of the file. */
  readonly profiles: ReadonlyMap<string, Profile>;
}

// The message of each schema is the name of the expected type. The message of a check is a whole sentence.
const TEXT = z.string("text");
const PATH = z.string("text");
const BOOLEAN = z.boolean("true or false");

const HEADERS = z.nullable(z.record(
  z.string().check(z.regex(/^[^:]*$/, "A header name must not contain a colon.")),
  TEXT,
  "a mapping",
));

const MEMBER_SCHEMAS = { text: TEXT, path: PATH, boolean: BOOLEAN, headers: HEADERS } as const;

const PROFILE = z.nullable(z.strictObject(
  Object.fromEntries(PROFILE_SETTINGS.map(({ member, type }) => [member, z.optional(MEMBER_SCHEMAS[type])])),
  "a mapping",
));

/** A mapping can be `null`, because YAML parses an empty file, or a key without a value, as `null`. */
const CONFIG = z.nullable(z.strictObject({
  profiles: z.nullish(z.record(profileNameSchema(), PROFILE, "a mapping")),
}, "a mapping"));

type Issue = z.core.$ZodIssue;

/**
 * Parses the text of the config file at `path`.
 *
 * @param resolve makes a path in the file absolute
 * @throws {Failure} `USAGE`; its message begins with `path:line:column: ` and repeats no value
 */
export function parseConfig(text: string, path: string, resolve: (path: string) => string): ConfigDocument {
  const lines = new LineCounter();
  const formatPosition = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  const document = parseYaml(text, path, lines, formatPosition);
  rejectAnchors(document, formatPosition);
  const result = CONFIG.safeParse(document.toJS());
  if (!result.success) throw failureOf(result.error.issues, document, formatPosition);

  const createSetting = (keys: readonly string[], name: string, value: string): SourcedSetting => {
    const from = formatPosition(offsetOf(document.getIn(keys, true)));
    return { source: "file", from, name: `${from}: ${name}`, value };
  };
  const profiles = Object.entries(result.data?.profiles ?? {}).map(([name, members]): [string, Profile] => {
    const keyPath = (...keys: readonly string[]): readonly string[] => ["profiles", name, ...keys];
    const values: [SettingKey, SourcedSetting][] = [];
    const headers: SourcedSetting[] = [];
    for (const { key, member, type } of PROFILE_SETTINGS) {
      const value = members?.[member];
      if (typeof value === "string" || typeof value === "boolean") {
        const written = String(value);
        values.push([key, createSetting(keyPath(member), member, type === "path" ? resolve(written) : written)]);
      } else if (value) {
        headers.push(
          ...Object.entries(value).map(([header, content]) =>
            createSetting(keyPath(member, header), member, `${header}: ${content}`)
          ),
        );
      }
    }
    return [name, { name, values: new Map(values), headers }];
  });
  return { document, profiles: new Map(profiles) };
}

/**
 * Messages for the errors for which the library's message repeats text from the file, which may be a secret. Other
 * messages of the library repeat such text only after a colon, or at most one character of it.
 */
const MESSAGES: { readonly [code: string]: string } = {
  BAD_DQ_ESCAPE: "Invalid escape sequence",
  TAG_RESOLVE_FAILED: "Invalid tag",
};

function parseYaml(
  text: string,
  path: string,
  lineCounter: LineCounter,
  formatPosition: (offset: number) => string,
): Document {
  // If these variables are set, the library prints the file, including secrets, on standard output.
  for (const name of ["LOG_STREAM", "LOG_TOKENS"]) Deno.env.delete(name);
  let document: Document;
  try {
    document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: true });
  } catch (error) {
    // The library throws if the nesting is too deep.
    throw new Failure("USAGE", `${path}:1:1: Invalid YAML: ${reasonOf(error)}.`, { cause: error });
  }
  const [error] = document.errors;
  if (error === undefined) return document;
  const reason = MESSAGES[error.code] ?? error.message.replace(/:.*/s, "");
  throw new Failure("USAGE", `${formatPosition(error.pos[0])}: Invalid YAML: ${reason}.`);
}

function rejectAnchors(document: Document, formatPosition: (offset: number) => string): void {
  visit(document, {
    Node: (_key, node) => {
      if (!isAlias(node) && node.anchor === undefined) return;
      throw new Failure(
        "USAGE",
        `${
          formatPosition(offsetOf(node))
        }: Anchors and aliases (& and *) are not supported here. Write the value itself.`,
      );
    },
  });
}

/** Returns the failure for the issue that comes first in the file, with its line and column. */
function failureOf(issues: readonly Issue[], document: Document, formatPosition: (offset: number) => string): Failure {
  const [first] = issues.map((issue) => ({ issue, offset: offsetOf(nodeOf(issue, document)) }))
    .toSorted((one, other) => one.offset - other.offset);
  if (first === undefined) return new Failure("USAGE", `${formatPosition(0)}: Invalid config file.`);
  return new Failure("USAGE", `${formatPosition(first.offset)}: ${messageOf(first.issue, document)}`);
}

/**
 * Returns the node that an error points at. This is the key if the key is unknown or invalid, or if no colon follows
 * the key. Otherwise, it is the value.
 */
function nodeOf({ code, path, ...issue }: Issue, document: Document): unknown {
  if (code === "unrecognized_keys" && "keys" in issue) return keyNode(document, [...path, issue.keys[0]]);
  if (code === "invalid_key") return keyNode(document, path);
  return document.getIn(path, true) ?? keyNode(document, path);
}

function keyNode(document: Document, path: readonly unknown[]): unknown {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  return isMap(parent)
    ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))?.key
    : document.contents;
}

function messageOf(issue: Issue, document: Document): string {
  const { path, message } = issue;
  if (issue.code === "unrecognized_keys") {
    const [name = ""] = issue.keys;
    if (path.length === 0) return `Unknown member ${quote(name)}. Did you mean profiles?`;
    const meant = nearest(name, ["base-url", ...PROFILE_SETTINGS.map(({ member }) => member)]);
    return `Unknown setting ${quote(name)}. Did you mean ${meant}?`;
  }
  if (issue.code === "invalid_key") {
    const [{ message: rule } = { message: "is invalid." }] = issue.issues;
    return path.length === 2 ? `The profile name ${rule}` : rule;
  }
  const actual = typeOf(document.getIn(path, true));
  const hint = message === "text" && actual.isScalar ? " Put it in quotes." : "";
  return `${nameAt(path)} must be ${message}, not ${actual.name}.${hint}`;
}

/** Returns how a message names the value at a path. */
function nameAt([root, profile, member, header]: readonly PropertyKey[]): string {
  if (header !== undefined) return `The header ${quote(String(header))}`;
  if (member !== undefined) return String(member);
  if (profile !== undefined) return `The profile ${String(profile)}`;
  return root === undefined ? "The file" : String(root);
}

function typeOf(node: unknown): { readonly name: string; readonly isScalar: boolean } {
  if (isMap(node)) return { name: "a mapping", isScalar: false };
  if (isNode(node) && !isScalar(node)) return { name: "a list", isScalar: false };
  const value = isScalar(node) ? node.value : null;
  if (value === null) return { name: "empty", isScalar: false };
  const name = typeof value === "boolean" ? "true or false" : typeof value === "string" ? "text" : "a number";
  return { name, isScalar: true };
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node as Node).range?.[0] ?? 0 : 0;
}
