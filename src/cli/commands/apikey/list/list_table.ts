/** Formats keys as a table for a terminal. */
import { escapeInvisible } from "../../../../apikey/failure.ts";
import type { ApiKey } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import { describeRights, statusOf } from "../key_output.ts";

/** The last columns are left out first if the terminal is too narrow. */
const COLUMNS = [
  { title: "NAME", isFlexible: true },
  { title: "RIGHTS", isFlexible: true },
  { title: "STATUS" },
  { title: "EXPIRES" },
  { title: "LAST USED" },
  { title: "CREATED" },
];

const STATUS = 2;
const EXPIRES = 3;

/** How many keys decide on the widths of the columns. If there are more, they are formatted page by page. */
const MEASURED_KEYS = 1000;

/** The time before the expiry of a key from which it stands out, in milliseconds. */
const SOON = 7 * 86_400_000;

/** Yields the header and the rows as text, or nothing if there is no key. */
export async function* formatTable(
  pages: AsyncIterable<readonly ApiKey[]>,
  host: Host,
): AsyncGenerator<string> {
  const { layoutTable, relativeTime, styleFor, tableRow, timeAgo } = await import("#terminal");
  const { dim, red, symbols: { ellipsis }, yellow } = styleFor(host.stdout, host);
  const now = host.now();
  let layout: ReturnType<typeof layoutTable> | undefined;

  const textsOf = (key: ApiKey): readonly string[] => {
    const times = [
      key.expiresAt && relativeTime(key.expiresAt, now),
      key.lastUsedAt && timeAgo(key.lastUsedAt, now),
      key.createdAt && timeAgo(key.createdAt, now),
    ];
    return [key.name, describeRights(key), statusOf(key, now), ...times].map((text) => escapeInvisible(text ?? ""));
  };
  const formatRow = (key: ApiKey): string => {
    const status = statusOf(key, now);
    const paint = (text: string, column: number): string => {
      if (status === "disabled") return dim(text);
      if (column !== STATUS && column !== EXPIRES) return text;
      if (status === "expired") return red(text);
      return column === EXPIRES && isSoon(key.expiresAt, now) ? yellow(text) : text;
    };
    return `${tableRow(layout ?? [], textsOf(key), ellipsis, paint)}\n`;
  };

  function formatFirst(keys: readonly ApiKey[], isComplete: boolean): string {
    const rows = keys.map(textsOf);
    const isShown = (index: number): boolean => !isComplete || rows.some((row) => row[index] !== "");
    layout = layoutTable(COLUMNS, rows, host.stdout.columns(), isShown);
    const header = tableRow(layout, COLUMNS.map(({ title }) => title), ellipsis, dim);
    return `${header}\n${keys.map(formatRow).join("")}`;
  }

  const first: ApiKey[] = [];
  for await (const keys of pages) {
    if (layout !== undefined) {
      yield keys.map(formatRow).join("");
      continue;
    }
    first.push(...keys);
    if (first.length >= MEASURED_KEYS) yield formatFirst(first.splice(0), false);
  }
  if (first.length > 0) yield formatFirst(first, true);
}

function isSoon(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && new Date(expiresAt).getTime() - now.getTime() < SOON;
}
