/**
 * Parses the config file: profiles by name, each with its settings. Every error states a line and column. No error
 * repeats a value, because a value may be a secret.
 */
import * as z from "zod/mini";
import type { Document } from "yaml";
import { quote } from "../../apikey/failure.ts";
import { didYouMean } from "../../apikey/nearest.ts";
import { profileNameSchema } from "../settings/profile_name.ts";
import type { Profile, SourcedSetting } from "../settings/setting.ts";
import { PROFILE_SETTINGS, type SettingKey } from "../settings/table.ts";
import { failureOf, formatPosition, offsetOf, parseYaml, typeOf } from "../yaml/yaml_file.ts";

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
  const file = parseYaml(text, path);
  const { document } = file;
  const result = CONFIG.safeParse(document.toJS());
  if (!result.success) throw failureOf(file, result.error.issues, messageOf);

  const createSetting = (keys: readonly string[], name: string, value: string): SourcedSetting => {
    const from = formatPosition(file, offsetOf(document.getIn(keys, true)));
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

function messageOf(issue: Issue, document: Document): string {
  const { path, message } = issue;
  if (issue.code === "unrecognized_keys") {
    const [name = ""] = issue.keys;
    if (path.length === 0) return `Unknown member ${quote(name)}. Did you mean profiles?`;
    const known = PROFILE_SETTINGS.map(({ member }) => member);
    const advice = didYouMean(name, known) || ` The settings are ${known.join(", ")}.`;
    return `Unknown setting ${quote(name)}.${advice}`;
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
