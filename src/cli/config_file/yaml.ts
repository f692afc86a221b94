/**
 * The text of a config file: profiles by their names, each with the settings that it has. Whatever is not one of
 * them, or not of its type, is an error with line and column, in every profile of the file.
 */
import { type Document, isAlias, isMap, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import { nearest } from "../../apikey/nearest.ts";
import { isProfileName, PROFILE_NAME_RULE } from "../settings/profile_name.ts";
import type { GivenSetting, Profile } from "../settings/setting.ts";
import { MEMBERS, type SettingKey } from "../settings/table.ts";

export interface ConfigDocument {
  readonly document: Document;
  /** By name, in the order of the file. */
  readonly profiles: ReadonlyMap<string, Profile>;
}

/** An entry of a mapping; a value that is not there is `null`. */
interface Entry {
  readonly name: string;
  readonly key: Node;
  readonly value: Node | null;
}

/**
 * Reads the text of the config file at `path`.
 *
 * @param resolve makes a path of what is written in the file
 * @throws {Failure} `USAGE`; its message begins `path:line:column: ` and repeats no value
 */
export function parseConfig(text: string, path: string, resolve: (written: string) => string): ConfigDocument {
  const lines = new LineCounter();
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  const wrong = (at: Node, what: string): Failure => new Failure("USAGE", `${placeOf(at)}: ${what}`);
  const placeOf = (node: Node): string => place(node.range?.[0] ?? 0);
  const document = parseYaml(text, path, lines, place);

  /** The entries of a mapping that may be left empty. */
  function entriesOf(node: Node | null, what: string, at: Node): readonly Entry[] {
    if (node === null || isScalar(node) && node.value === null) return [];
    if (!isMap(node)) throw wrong(node, `${what} takes a mapping, not ${typeOf(node)}.`);
    return node.items.map(({ key, value }) => {
      if (!isScalar(key)) throw wrong(at, "A name in this mapping is not a plain one.");
      if (isAlias(value) || isNode(value) && "anchor" in value && value.anchor !== undefined) {
        throw wrong(value, "Anchors and aliases (& and *) have no place in this file: write the value itself.");
      }
      return { name: nameOf(key), key, value: isNode(value) ? value : null };
    });
  }

  function textOf({ key, value }: Entry, what: string): GivenSetting {
    if (isScalar(value) && typeof value.value === "string") return givenIn(value, what, value.value);
    const hint = isScalar(value) && value.value !== null ? ": put it in quotes" : "";
    throw wrong(value ?? key, `${what} takes a text, not ${typeOf(value)}${hint}.`);
  }

  function booleanOf({ key, value }: Entry, what: string): GivenSetting {
    if (isScalar(value) && typeof value.value === "boolean") return givenIn(value, what, String(value.value));
    throw wrong(value ?? key, `${what} takes true or false, not ${typeOf(value)}.`);
  }

  function givenIn(node: Node, what: string, value: string): GivenSetting {
    const from = placeOf(node);
    return { source: "file", from, name: `${from}: ${what}`, value };
  }

  function profileOf({ name, key, value }: Entry): Profile {
    if (!isProfileName(name)) throw wrong(key, PROFILE_NAME_RULE);
    const values: [SettingKey, GivenSetting][] = [];
    const headers: GivenSetting[] = [];
    for (const entry of entriesOf(value, `The profile ${name}`, key)) {
      const setting = MEMBERS.find(({ member }) => member === entry.name);
      if (setting === undefined) {
        const meant = nearest(entry.name, ["base-url", ...MEMBERS.map(({ member }) => member)]);
        throw wrong(entry.key, `There is no setting ${quote(entry.name)}; did you mean ${meant}?`);
      }
      if (setting.type === "headers") headers.push(...headersOf(entry));
      else if (setting.type === "boolean") values.push([setting.key, booleanOf(entry, setting.member)]);
      else {
        const given = textOf(entry, setting.member);
        values.push([setting.key, setting.type === "path" ? { ...given, value: resolve(given.value) } : given]);
      }
    }
    return { name, values: new Map(values), headers };
  }

  function headersOf({ key, value }: Entry): readonly GivenSetting[] {
    return entriesOf(value, "headers", key).map((entry) => {
      const line = textOf(entry, `The header ${quote(entry.name)}`);
      if (entry.name.includes(":")) throw wrong(entry.key, "The name of a header has no colon in it.");
      return { ...line, name: `${line.from}: headers`, value: `${entry.name}: ${line.value}` };
    });
  }

  const root = document.contents;
  const profiles = root === null ? [] : entriesOf(root, "The file", root).flatMap((entry) => {
    if (entry.name === "profiles") return entriesOf(entry.value, "profiles", entry.key).map(profileOf);
    throw wrong(entry.key, `There is no member ${quote(entry.name)} here; did you mean profiles?`);
  });
  return { document, profiles: new Map(profiles.map((profile) => [profile.name, profile])) };
}

function parseYaml(text: string, path: string, lineCounter: LineCounter, place: (offset: number) => string): Document {
  const document = parsed(text, path, lineCounter);
  const [error] = document.errors;
  if (error === undefined) return document;
  // After a colon the library shows what it has found, which may be a secret.
  throw new Failure("USAGE", `${place(error.pos[0])}: This is not YAML: ${error.message.replace(/:.*/s, "")}.`);
}

function parsed(text: string, path: string, lineCounter: LineCounter): Document {
  // With these the library prints what it reads, secrets too, on standard output.
  for (const name of ["LOG_STREAM", "LOG_TOKENS"]) Deno.env.delete(name);
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: true });
  } catch (error) {
    // Nested too deep.
    throw new Failure("USAGE", `${path}:1:1: This cannot be read as YAML: ${reasonOf(error)}.`, { cause: error });
  }
}

/** A name as it is written: 2024 is one, though YAML takes it for a number. */
export function nameOf(key: { readonly value: unknown; readonly source?: string }): string {
  return typeof key.value === "string" ? key.value : key.source ?? String(key.value);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

function typeOf(node: Node | null): string {
  if (isMap(node)) return "a mapping";
  if (node !== null && !isScalar(node)) return "a list";
  const value = node?.value ?? null;
  if (value === null) return "nothing";
  if (typeof value === "boolean") return "true or false";
  return typeof value === "string" ? "a text" : "a number";
}
