/**
 * Guards against a change that locks the user out: one that deletes or weakens the key in use, or the last key with the
 * role ADMIN. Before such a change, the user types the name of the key in full.
 */
import { Failure, quote } from "../../../apikey/failure.ts";
import type { ApiKey, Client } from "../../../client/client.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { Dialog } from "../../host/dialog.ts";
import { isPlain } from "../../terminal/style.ts";

/** What decides whether a change is a risk. `undefined` and `null` stand for what the server does not report. */
export interface GuardedKey {
  readonly id: string;
  readonly name: string;
  readonly roles?: readonly string[] | null | undefined;
  readonly permissions?: readonly string[] | null | undefined;
  readonly enabled?: boolean | null | undefined;
  /** RFC 3339; `null` also if the key does not expire. */
  readonly expiresAt?: string | null | undefined;
}

/** A key whose change can lock the user out. At least one of the members is true. */
export interface Risk {
  readonly key: GuardedKey;
  readonly isInUse: boolean;
  /** Whether no usable key has the role ADMIN after the change. */
  readonly endsAdmin: boolean;
}

/**
 * Compares the keys of a server before and after a change.
 *
 * @param before the keys that change, and every key with the role ADMIN; other keys may be missing
 * @param after the same keys, without those that the change deletes
 * @param keyInUse the id of the key that makes the requests; `undefined` if there is none, or if it is unknown
 * @returns the keys that are at risk, in the order of `before`
 */
export function findRisks(
  before: readonly GuardedKey[],
  after: readonly GuardedKey[],
  keyInUse: string | undefined,
  now: Date,
): readonly Risk[] {
  const afterById = new Map(after.map((key) => [key.id, key]));
  const admins = before.filter((key) => isAdmin(key, now));
  // If several ADMIN keys end at once, typing the name of one is enough.
  const lastAdmin = after.some((key) => isAdmin(key, now))
    ? undefined
    : admins.find(({ id }) => id === keyInUse) ?? admins.at(-1);
  return before
    .map((key): Risk => ({
      key,
      isInUse: key.id === keyInUse && losesRights(key, afterById.get(key.id), now),
      endsAdmin: key === lastAdmin,
    }))
    .filter(({ isInUse, endsAdmin }) => isInUse || endsAdmin);
}

/** Omits the risk that no key has the role ADMIN any more if the caller sees only some keys, so that it cannot know this. */
export async function knownRisks(risks: readonly Risk[], client: Client): Promise<readonly Risk[]> {
  if (!risks.some(({ endsAdmin }) => endsAdmin) || !await client.seesOnlyOwnKeys()) return risks;
  return risks.filter(({ isInUse }) => isInUse).map((risk) => ({ ...risk, endsAdmin: false }));
}

/** Finds the risks for a warning. Returns none if the server does not say: a warning may be missing. */
export async function risksToWarnOf(find: () => Promise<readonly Risk[]>): Promise<readonly Risk[]> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof Failure && error.code !== "INTERRUPTED") return [];
    throw error;
  }
}

/** Lists the keys with the role ADMIN. */
export async function listAdmins(client: Client): Promise<readonly GuardedKey[]> {
  const pages = await Array.fromAsync(client.readKeys({ filter: { role: "ADMIN" } }));
  return pages.flat();
}

/** Returns the marks for a list of keys, by id: `in use` and `last ADMIN`. Expects every key with the role ADMIN. */
export function markRisks(
  keys: readonly GuardedKey[],
  keyInUse: string | undefined,
  now: Date,
): ReadonlyMap<string, string> {
  const [admin, ...others] = keys.filter((key) => isAdmin(key, now));
  const lastAdmin = others.length === 0 ? admin?.id : undefined;
  const inUse = keyInUse === undefined ? [] : [[keyInUse, "in use"] as const];
  if (lastAdmin === undefined) return new Map(inUse);
  return new Map([...inUse, [lastAdmin, lastAdmin === keyInUse ? "in use, last ADMIN" : "last ADMIN"]]);
}

/** Every key that the caller may read. */
export interface MarkedKeys {
  readonly keys: readonly ApiKey[];
  /** The id of the key in use; `undefined` if there is none, if it is unknown, or if there are no keys. */
  readonly keyInUse: string | undefined;
  /** See {@linkcode markRisks}. */
  readonly marks: ReadonlyMap<string, string>;
}

/** Reads the keys for a list. */
export async function readMarkedKeys(client: Client, now: Date): Promise<MarkedKeys> {
  const keys = (await Array.fromAsync(client.readKeys())).flat();
  const keyInUse = keys.length === 0 ? undefined : (await client.findKeyInUse())?.id;
  return { keys, keyInUse, marks: markRisks(keys, keyInUse, now) };
}

function isAdmin(key: GuardedKey, now: Date): boolean {
  return (key.roles?.includes("ADMIN") ?? false) && isUsable(key, now);
}

function isUsable({ enabled, expiresAt }: GuardedKey, now: Date): boolean {
  // A time that cannot be parsed compares as not expired.
  return enabled !== false && !(expiresAt && Date.parse(expiresAt) <= now.getTime());
}

function losesRights(before: GuardedKey, after: GuardedKey | undefined, now: Date): boolean {
  if (after === undefined || isUsable(before, now) && !isUsable(after, now)) return true;
  if (after.roles?.includes("ADMIN")) return false;
  const held = new Set([...after.roles ?? [], ...after.permissions ?? []]);
  return [...before.roles ?? [], ...before.permissions ?? []].some((right) => !held.has(right));
}

/**
 * Prompts the user to type the name of each key at risk, unless `--yes` is given.
 *
 * @param verb what the command does with the key, for example `delete`
 * @param client reads the keys, to describe them first; `undefined` if the command has described them
 * @throws {Failure} `USAGE` if there is a risk, `--yes` is not given, and the command cannot prompt; `INTERRUPTED`
 */
export async function confirmRisks(
  risks: readonly Risk[],
  verb: string,
  flags: PromptFlags,
  dialog: Dialog,
  client?: Client,
): Promise<void> {
  const [risk] = risks;
  if (risk === undefined || flags.yes) return;
  if (!canPrompt(flags, dialog.host)) {
    throw new Failure("USAGE", `${describeRisk(risk)} To ${verb} it without a prompt, add --yes.`);
  }
  const { describeKeys, openDialog } = await import("#prompts");
  if (client !== undefined) {
    const { keys, marks } = await readMarkedKeys(client, dialog.host.now());
    await describeKeys(keys.filter(({ id }) => risks.some(({ key }) => key.id === id)), marks, dialog);
  }
  const prompts = await openDialog(dialog);
  for (const risk of risks) {
    const { noun, expected } = whatToType(risk.key);
    // deno-lint-ignore no-await-in-loop -- one prompt at a time
    await prompts.text({
      label: `${describeRisk(risk)} To ${verb} it, type its ${noun}`,
      // A plain prompt shows a hint as what the user can type.
      ...isPlain(dialog.host) ? {} : { hint: `Using ${dialog.target.description}` },
      check: (typed) => {
        if (typed.trim().normalize("NFC") === expected) return;
        throw new Failure("USAGE", `Type ${quote(expected)}, or press Ctrl-C to cancel.`);
      },
    });
  }
}

function describeRisk({ key, isInUse, endsAdmin }: Risk): string {
  const name = quote(key.name);
  const inUse = isInUse ? [`${name} is the key in use.`] : [];
  const admin = endsAdmin ? [`Without ${isInUse ? "it" : name}, no key has the role ADMIN.`] : [];
  return [...inUse, ...admin].join(" ");
}

/** The longest name to type, in code points. The prompt shows names in full up to this length. */
const MAX_TYPED = 80;

/** The name, or the id if the name is too long or cannot be typed: names on other servers can contain any characters. */
function whatToType({ id, name }: GuardedKey): { readonly noun: string; readonly expected: string } {
  const text = name.trim().normalize("NFC");
  const isTypeable = text !== "" && !/\p{C}/u.test(text) && [...text].length <= MAX_TYPED;
  return isTypeable ? { noun: "name", expected: text } : { noun: `id, which is ${quote(id)}`, expected: id };
}
