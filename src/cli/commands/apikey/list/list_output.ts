/** Prints lists of keys page by page: as JSON, as a table or, for other programs, as fields separated by tabs. */
import { escapeInvisible, NOTHING_CHANGED } from "../../../../apikey/failure.ts";
import type { ApiKey } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import { unlessInterrupted } from "../../../host/interrupt.ts";
import { escapeInJson } from "../../../report.ts";
import { statusOf, toKeyJson } from "../key_output.ts";
import { formatTable } from "./list_table.ts";

interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly jsonl?: boolean | undefined;
}

/** After how many keys to collect garbage. By itself, V8 would let the garbage of a long list grow to more than 100 MB. */
const KEYS_PER_COLLECTION = 3000;

type Pages = AsyncIterable<readonly ApiKey[]>;

/**
 * Prints keys on standard output. Writes each page before it reads the next one, except with `--json`, because the only
 * line of the output must be a failure if a page cannot be read.
 *
 * @returns the number of keys
 * @throws {Failure} `FAILED` if the output cannot be written; `INTERRUPTED`; the failures of `pages`
 */
export async function printKeys(pages: Pages, { json, jsonl }: OutputFlags, host: Host): Promise<number> {
  let count = 0;
  const counted = async function* (): AsyncGenerator<readonly ApiKey[]> {
    for await (const keys of pages) {
      count += keys.length;
      yield keys;
    }
  }();
  const texts = json
    ? formatJson(counted)
    : jsonl
    ? formatEach(counted, toJsonLines)
    : host.stdout.isTerminal()
    ? formatTable(counted, host)
    : formatEach(counted, (keys) => toLines(keys, host.now()));
  const { gc } = globalThis as { readonly gc?: () => void };
  let collected = 0;
  for await (const text of texts) {
    // The reader of a pipe can stop reading without closing it.
    if (text !== "") await unlessInterrupted(host.stdout.write(text), NOTHING_CHANGED, host);
    if (count - collected < KEYS_PER_COLLECTION) continue;
    gc?.();
    collected = count;
  }
  return count;
}

async function* formatEach(pages: Pages, format: (keys: readonly ApiKey[]) => string): AsyncGenerator<string> {
  for await (const keys of pages) yield format(keys);
}

async function* formatJson(pages: Pages): AsyncGenerator<string> {
  const texts: string[] = [];
  for await (const keys of pages) {
    if (keys.length > 0) texts.push(toJsonLines(keys).trimEnd().replaceAll("\n", ","));
  }
  yield '{"keys":[';
  for (const [index, text] of texts.entries()) yield index === 0 ? text : `,${text}`;
  yield "]}\n";
}

/** JSON has no line feeds, so all lines can be escaped at once. */
function toJsonLines(keys: readonly ApiKey[]): string {
  return escapeInJson(keys.map((key) => `${JSON.stringify(toKeyJson(key))}\n`).join(""));
}

function toLines(keys: readonly ApiKey[], now: Date): string {
  return keys.map((key) => {
    const { name, id, roles, permissions, createdAt, lastUsedAt, expiresAt, description } = key;
    const lists = [roles?.join(), permissions?.join()];
    const fields = [name, id, statusOf(key, now), ...lists, createdAt, lastUsedAt, expiresAt, description];
    return `${fields.map((field) => escapeInvisible(field ?? "")).join("\t")}\n`;
  }).join("");
}
