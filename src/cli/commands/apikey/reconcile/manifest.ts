/**
 * The manifest of `apply`: a YAML or JSON file with the keys that must exist. Every error states a line and column. This
 * module is loaded on demand, because it loads the YAML parser.
 */
import * as z from "zod/mini";
import type { Document } from "yaml";
import { parseDescription } from "../../../../apikey/description.ts";
import { Failure, quote, reasonOf } from "../../../../apikey/failure.ts";
import { parseDuration } from "../../../../apikey/lifetime.ts";
import { type Name, parseName } from "../../../../apikey/name.ts";
import { didYouMean } from "../../../../apikey/nearest.ts";
import { ACTIONS, type NamedPermission, parsePermissionsOf, RESOURCES } from "../../../../apikey/permission.ts";
import { requireSomeRights } from "../../../../apikey/rights.ts";
import { parseRolesOf, ROLES } from "../../../../apikey/role.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import { resolvePath } from "../../../config_file/path.ts";
import type { Host } from "../../../host/host.ts";
import {
  failureAt,
  failureOf,
  formatPosition,
  offsetOf,
  parseYaml,
  typeOf,
  type YamlFile,
} from "../../../yaml/yaml_file.ts";
import { parseSimpleYaml } from "../../../yaml/simple_yaml.ts";
import type { KnownNames } from "../known_names.ts";
import { requireRotatable, type WantedKey } from "./plan.ts";

export interface Manifest {
  /** Marks the keys of this manifest on the server; `undefined` if the manifest does not name it. */
  readonly managedBy: string | undefined;
  /**
   * Parses the keys.
   *
   * @throws {UnknownName} if a role or resource is not known
   * @throws {Failure} `USAGE`, `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`, `NO_RIGHTS`
   */
  parseKeys(known: KnownNames): readonly WantedKey[];
}

// The message of each schema is the name of the expected type.

function text(description: string, more: Readonly<Record<string, unknown>> = {}): z.ZodMiniString {
  return z.string("text").register(z.globalRegistry, { description, ...more });
}

function duration(description: string): z.ZodMiniString {
  return z.string("a duration, for example 90d")
    .register(z.globalRegistry, { description, pattern: "^\\d+\\s*[smhdw]$", examples: ["90d"] });
}

const KEY = z.strictObject({
  name: text("Letters, digits and spaces. Unique among keys.", { pattern: "^[\\p{L}\\p{Nd} ]+$" }),
  description: z.optional(text("What the key is for.", { maxLength: 1024 })),
  roles: z.optional(z.array(text("A role.", { examples: ROLES }), "a list")),
  permissions: z.optional(
    z.array(
      text("RESOURCE:ACTION. * stands for every resource or every action.", {
        examples: [`${RESOURCES[0]}:${ACTIONS[0]}`, "DOCKER:*", "*:READ_ANY"],
      }),
      "a list",
    ),
  ),
  expiresIn: z.optional(duration("How long each secret is valid.")),
  rotateBefore: z.optional(
    duration("How long before the expiry the key gets a new secret. Needs expiresIn, and is shorter."),
  ),
  grace: z.optional(duration("How long the old secret stays valid after the key got a new one.")),
  secretFile: z.optional(
    text("The file for the secret, relative to --secrets-dir or to this file. By default, the name in --secrets-dir."),
  ),
}, "a mapping");

const MANIFEST = z.strictObject({
  $schema: z.optional(text("The JSON Schema of this file, for editors.")),
  managedBy: z.optional(
    text("Marks the keys of this manifest on the server. apply --prune deletes only keys with this mark.", {
      minLength: 1,
      maxLength: 255,
    }),
  ),
  keys: z.array(KEY, "a list").register(z.globalRegistry, { description: "The keys that must exist." }),
}, "a mapping").register(z.globalRegistry, { title: "Manifest of service-api apikey apply" });

/** The JSON Schema of a manifest. */
export function manifestSchema(): object {
  return z.toJSONSchema(MANIFEST);
}

type KeyEntry = z.infer<typeof KEY>;
type Issue = z.core.$ZodIssue;

/**
 * Parses a manifest.
 *
 * @param path the path of the manifest, for messages and for relative paths
 * @param secretsDir the value of `--secrets-dir`
 * @throws {Failure} `USAGE`; its message begins with `path:line:column: `
 */
export function parseManifest(content: string, path: string, secretsDir: string | undefined, host: Host): Manifest {
  if (DEEP.test(content)) throw new Failure("USAGE", `${path}:1:1: The lists and mappings are nested too deeply.`);
  // Only the full parser knows positions. It runs again if a message needs one.
  let file: YamlFile | undefined;
  const readFile = (): YamlFile => file ??= parseYaml(content, path);
  const result = validate(parseSimpleYaml(content) ?? readFile().document.toJS(), readFile);
  if (!result.success) throw failureOf(readFile(), result.error.issues, messageOf);
  const { managedBy, keys } = result.data;
  if (managedBy !== undefined && !/^.{1,255}$/su.test(managedBy)) {
    const file = readFile();
    throw failureAt(file, file.document.getIn(["managedBy"], true), "managedBy must have 1 to 255 characters.");
  }
  return {
    managedBy,
    parseKeys: (names) => {
      const known = remember(names);
      const parsed = keys.map((entry, index): WantedKey => {
        const parse: ParseMember = (place, parse) => withPosition(readFile, ["keys", index, ...place], parse);
        const name = parse(["name"], () => parseName(entry.name));
        const secretFile = parse(["secretFile"], () => secretFileOf(entry.secretFile, name, path, secretsDir, host));
        return { ...parseEntry(entry, known, parse), name, managedBy, secretFile };
      });
      rejectDuplicates(parsed, readFile, host);
      return parsed;
    },
  };
}

/**
 * Lists and mappings that begin inside each other without an end. The YAML parser would need minutes and gigabytes for a
 * million of them.
 */
const DEEP = /(?:[[{][^[{\]}]*){100}|(?:- \s*){100}/;

function validate(value: unknown, readFile: () => YamlFile): ReturnType<typeof MANIFEST.safeParse> {
  try {
    return MANIFEST.safeParse(value);
  } catch (error) {
    // With a hundred thousand mistakes, zod exceeds the stack.
    throw failureAt(readFile(), undefined, `The manifest has too many mistakes: ${reasonOf(error)}.`);
  }
}

/** Parses what is at a place in the entry of a key. If that fails, the message begins with the position. */
type ParseMember = <Result>(place: readonly (string | number)[], parse: () => Result) => Result;

function withPosition<Result>(
  readFile: () => YamlFile,
  place: readonly (string | number)[],
  parse: () => Result,
): Result {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const file = readFile();
    const node = file.document.getIn(place, true) ?? file.document.getIn(place.slice(0, -1), true);
    const message = `${formatPosition(file, offsetOf(node))}: ${error.message}`;
    throw new (error instanceof UnknownName ? UnknownName : Failure)(error.code, message, { cause: error });
  }
}

function parseEntry(
  { description, roles = [], permissions = [], ...times }: KeyEntry,
  known: EntryParsers,
  parse: ParseMember,
): Omit<WantedKey, "name" | "managedBy" | "secretFile"> {
  const rights = {
    roles: unique(roles.flatMap((role, index) => parse(["roles", index], () => known.parseRole(role)))),
    permissions: unique(
      permissions.flatMap((permission, index) =>
        parse(["permissions", index], () => known.parsePermission(permission))
      ),
    ),
  };
  parse([], () => requireSomeRights(rights.roles, rights.permissions));
  const parseTime = (member: "expiresIn" | "rotateBefore" | "grace"): number | undefined => {
    const value = times[member];
    return value === undefined ? undefined : parse([member], () => known.parseDuration(value));
  };
  const lifetime = {
    expiresIn: parseTime("expiresIn"),
    rotateBefore: parseTime("rotateBefore"),
    grace: parseTime("grace"),
  };
  parse(["rotateBefore"], () => requireRotatable(lifetime, { expiresIn: "expiresIn", rotateBefore: "rotateBefore" }));
  return {
    ...rights,
    ...lifetime,
    expiresAt: undefined,
    description: description && parse(["description"], () => parseDescription(description)),
  };
}

interface EntryParsers {
  readonly parseRole: (text: string) => readonly string[];
  readonly parsePermission: (text: string) => readonly NamedPermission[];
  readonly parseDuration: (text: string) => number;
}

/** Returns parsers that parse each text only once, because the keys of a manifest often have the same rights and durations. */
function remember({ roles, resources }: KnownNames): EntryParsers {
  return {
    parseRole: memoize((text) => parseRolesOf(roles, [text])),
    parsePermission: memoize((text) => parsePermissionsOf(resources, [text])),
    parseDuration: memoize(parseDuration),
  };
}

function memoize<Result>(parse: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>();
  return (text) => {
    const result = results.get(text) ?? parse(text);
    results.set(text, result);
    return result;
  };
}

function unique<Item>(items: readonly Item[]): readonly Item[] {
  return [...new Set(items)];
}

/**
 * Returns the path of a key's file if the manifest does not name it: in `--secrets-dir`, with the name of the key and
 * hyphens for spaces. Names cannot contain hyphens, so two names never have the same file.
 */
export function defaultSecretFile(name: string, secretsDir: string): string {
  return `${secretsDir}/${name.replaceAll(" ", "-")}.key`;
}

/** Returns the path of a key's file. */
function secretFileOf(
  given: string | undefined,
  name: Name,
  manifest: string,
  secretsDir: string | undefined,
  host: Host,
): string {
  if (given === "") throw new Failure("USAGE", "secretFile is empty. Write the path of a file.");
  const directory = secretsDir === undefined ? undefined : `${secretsDir}/`;
  if (given !== undefined) return resolvePath(given, directory ?? manifest, host);
  if (secretsDir !== undefined) return defaultSecretFile(name, secretsDir);
  throw new Failure("USAGE", `The key ${quote(name)} has no secretFile. Add it, or pass --secrets-dir.`);
}

/** @throws {Failure} `USAGE` if two keys have the same name or the same file */
function rejectDuplicates(keys: readonly WantedKey[], readFile: () => YamlFile, { platform }: Host): void {
  const seen = new Map<string, number>();
  const reject = (index: number, member: "name" | "secretFile", value: string): void => {
    const first = seen.get(`${member} ${value}`);
    if (first === undefined) return void seen.set(`${member} ${value}`, index);
    withPosition(readFile, ["keys", index, member], () => {
      const file = readFile();
      const line = formatPosition(file, offsetOf(file.document.getIn(["keys", first], true)));
      throw new Failure("USAGE", `The key at ${line} has the same ${member}, ${quote(keys[index]?.[member] ?? "")}.`);
    });
  };
  keys.forEach(({ name, secretFile }, index) => {
    reject(index, "name", name);
    // Most file systems of macOS and Windows ignore the case of letters.
    const path = simplify(secretFile, platform);
    reject(index, "secretFile", platform === "linux" ? path : path.toLowerCase());
  });
}

/** Removes `.`, `..` and repeated separators from a path, so that two spellings of one file are equal. */
function simplify(path: string, platform: Host["platform"]): string {
  const parts: string[] = [];
  for (const part of path.split(platform === "windows" ? /[\\/]/ : "/")) {
    const last = parts.at(-1);
    if (part === "." || (part === "" && last !== undefined)) continue;
    if (part === ".." && last !== undefined && last !== "" && last !== "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
}

function messageOf(issue: Issue, document: Document): string {
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    const [unknown = ""] = issue.keys;
    const known = Object.keys((path.length === 0 ? MANIFEST : KEY).shape);
    const advice = didYouMean(unknown, known) || ` The members are ${known.join(", ")}.`;
    return `Unknown member ${quote(unknown)}.${advice}`;
  }
  const actual = typeOf(document.getIn(path, true));
  const member = path.findLast((part) => typeof part === "string");
  const subject = path.length === 0
    ? "The manifest"
    : typeof path.at(-1) === "number"
    ? `An item of ${String(member)}`
    : String(member);
  if (actual.name === "empty" && !hasMember(path, document)) return `${subject} is missing.`;
  const hint = issue.message === "text" && actual.isScalar ? " Put it in quotes." : "";
  return `${subject} must be ${issue.message}, not ${actual.name}.${hint}`;
}

function hasMember(path: readonly PropertyKey[], document: Document): boolean {
  return path.length === 0 || document.hasIn(path);
}
