/**
 * Brings keys and their files in order: finds out what each key needs, and does it. If the program is killed at any
 * moment, the next run finds what is left to do: a key whose file does not hold its current secret gets a new secret.
 */
import { Failure, type FailureCode, quote, toSentence } from "../../../../apikey/failure.ts";
import type { ApiKey, Client, IssuedKey, KeyChanges } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import { lockFile, type LockOptions } from "../../../host/lock_file.ts";
import { showWaiting } from "../../../host/show_waiting.ts";
import { openSecretFile, removeTemporaryFiles, type SecretFile } from "../../../host/secret_file.ts";
import { planKey, type PlannedKey, type WantedKey } from "./plan.ts";
import { readSecret } from "./read_secret.ts";

/** A key that could not be brought in order. */
export interface FailedKey {
  readonly name: string;
  readonly id: string | null;
  readonly failure: Failure;
}

export interface Inspection {
  readonly planned: readonly PlannedKey[];
  readonly failed: readonly FailedKey[];
  /** Whether the server is one of this program, with expiry, rotation and `managedBy`. */
  readonly isEmbedded: boolean;
  /** Whether the server is known to tell which secrets are current. */
  readonly tellsSecrets: boolean;
}

/** Finds out what each key needs. Changes nothing. */
export async function inspect(client: Client, wanted: readonly WantedKey[], now: Date): Promise<Inspection> {
  const failed: FailedKey[] = [];
  const collect = <Result>(one: WantedKey, id: string | null, act: () => Result): readonly Result[] => {
    try {
      return [act()];
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failed.push({ name: one.name, id, failure: error });
      return [];
    }
  };
  const read = wanted.flatMap((one) => collect(one, null, () => ({ one, secret: readSecret(one.secretFile) })));
  const { matches, isEmbedded, tellsSecrets } = await client.matchSecrets(
    read.map(({ one: { name }, secret }) => ({ name, secret })),
  );
  if (!isEmbedded) requirePublishedFields(client, wanted);
  const planned = read.flatMap(({ one, secret }, index) => {
    const { key, isCurrent = false } = matches[index] ?? {};
    const file = secret === undefined ? "missing" : isCurrent ? "current" : "other";
    const supported = isEmbedded ? one : { ...one, managedBy: undefined };
    return collect(one, key?.id ?? null, () => planKey(supported, { key, file }, now));
  });
  return { planned, failed, isEmbedded, tellsSecrets };
}

/** @throws {Failure} `UNSUPPORTED` if a key needs more than what every server has */
function requirePublishedFields(client: Client, wanted: readonly WantedKey[]): void {
  if (wanted.some(({ expiresIn, expiresAt }) => (expiresIn ?? expiresAt) !== undefined)) {
    throw client.unsupported("CreateApiKeyInput.expiresAt", "Without an expiry, the command works on this server.");
  }
  if (wanted.some(({ grace }) => grace !== undefined)) {
    throw client.unsupported("ApiKeyMutations.rotate", "Without a grace period, the command works on this server.");
  }
}

/** What is needed to change keys. */
export interface Session extends LockOptions {
  readonly client: Client;
  readonly host: Host;
}

/** A key that is in order. */
export interface SettledKey extends Pick<PlannedKey, "wanted" | "action"> {
  readonly id: string;
}

/** The number of keys that are changed at the same time. Each needs a connection, a lock and a temporary file. */
export const BATCH_SIZE = 50;

export interface Settlement {
  readonly settled: readonly SettledKey[];
  readonly failed: readonly FailedKey[];
  /** A failure that also concerns the other keys, for example if the server cannot be reached. */
  readonly fatal: Failure | undefined;
}

/**
 * Changes up to {@linkcode BATCH_SIZE} keys, while no other process changes their files. Because another process may have
 * changed them a moment earlier, finds out again what each key needs.
 */
export async function settle(wanted: readonly WantedKey[], session: Session): Promise<Settlement> {
  const failed: FailedKey[] = [];
  const settled: SettledKey[] = [];
  const locked: { readonly one: WantedKey; readonly release: () => Promise<void> }[] = [];
  let fatal: Failure | undefined;
  const record = (wanted: WantedKey, id: string | null, error: unknown): void => {
    if (!(error instanceof Failure)) throw error;
    if (FATAL.has(error.code)) fatal ??= error;
    else failed.push({ name: wanted.name, id, failure: error });
  };
  try {
    // Every process takes the locks in the same order, so that no two wait for each other.
    for (const one of wanted.toSorted((a, b) => a.secretFile < b.secretFile ? -1 : 1)) {
      try {
        const holder = (): string => `another process that changes ${quote(one.secretFile)}`;
        // deno-lint-ignore no-await-in-loop -- one lock after the other
        const release = await showWaiting(holder, session.host, lockFile(one.secretFile, session));
        locked.push({ one, release });
      } catch (error) {
        if (!(error instanceof Failure) || error.code === "INTERRUPTED") throw error;
        failed.push({ name: one.name, id: null, failure: error });
      }
    }
    await removeTemporaryFiles(locked.map(({ one }) => one.secretFile));
    const found = await inspect(session.client, locked.map(({ one }) => one), session.host.now());
    failed.push(...found.failed);
    const carryOutOne = async (planned: PlannedKey): Promise<void> => {
      const { wanted, key } = planned;
      try {
        settled.push(await carryOutOrPlanAgain(planned, found.isEmbedded, session));
      } catch (error) {
        record(wanted, key?.id ?? null, error);
      }
    };
    if (found.isEmbedded) await Promise.all(found.planned.map(carryOutOne));
    else {
      for (const planned of found.planned) {
        // deno-lint-ignore no-await-in-loop -- other servers lag, so they get one change after the other
        if (fatal === undefined) await carryOutOne(planned);
      }
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    fatal = error;
  } finally {
    await Promise.all(locked.map(({ release }) => release()));
  }
  return { settled, failed, fatal };
}

/** The codes of failures that concern every key. */
export const FATAL: ReadonlySet<FailureCode> = new Set<FailureCode>([
  "UNAUTHENTICATED",
  "UNREACHABLE",
  "TLS",
  "TIMEOUT",
  "BAD_RESPONSE",
  "RATE_LIMITED",
  "UNSUPPORTED",
  "INTERRUPTED",
]);

/**
 * Carries out a plan. If the key to create exists by then, plans again. This happens if another process creates the store
 * or, without this lock, the key.
 */
async function carryOutOrPlanAgain(planned: PlannedKey, isEmbedded: boolean, session: Session): Promise<SettledKey> {
  const { wanted, action } = planned;
  try {
    return { wanted, action, id: await carryOut(planned, isEmbedded, session) };
  } catch (error) {
    if (!(error instanceof Failure && error.code === "ALREADY_EXISTS")) throw error;
    const { planned: [again], failed: [failed] } = await inspect(session.client, [wanted], session.host.now());
    if (failed !== undefined) throw failed.failure;
    if (again?.key === undefined) throw unreadable(wanted.name, error);
    return { wanted, action: again.action, id: await carryOut(again, isEmbedded, session) };
  }
}

/** @returns the id of the key */
async function carryOut(planned: PlannedKey, isEmbedded: boolean, { client, host }: Session): Promise<string> {
  const { wanted, key, action, changes } = planned;
  const issuesSecret = action === "create" || action === "rotate";
  const file = issuesSecret ? await openSecretFile(wanted.secretFile, { overwrite: true }, host) : undefined;
  try {
    const isReplaced = action === "rotate" && !isEmbedded;
    if (key !== undefined && Object.keys(changes).length > 0 && !isReplaced) await update(key, changes, client);
    if (file === undefined) return key?.id ?? "";
    const issued = await issueSecret(planned, isEmbedded, client, host.now());
    await writeSecret(file, issued);
    return issued.id;
  } finally {
    await file?.discard();
  }
}

async function update(key: ApiKey, changes: KeyChanges, client: Client): Promise<void> {
  const { kind } = await client.updateKey(key, changes);
  if (kind === "updated") return;
  throw new Failure(
    "FAILED",
    `Another caller changed the key ${quote(key.name)} meanwhile. Run the same command again.`,
  );
}

async function issueSecret(
  { wanted, key, action, expiresAt }: PlannedKey,
  isEmbedded: boolean,
  client: Client,
  now: Date,
): Promise<IssuedKey> {
  const { name, roles, permissions, managedBy, grace } = wanted;
  if (key !== undefined && isEmbedded) {
    return await client.rotateKey({ selector: { id: key.id }, grace: grace ?? 0, expiresAt, now });
  }
  const description = wanted.description ?? key?.description ?? undefined;
  const overwrite = action === "rotate";
  return await client.createKey({ name, description, roles, permissions, overwrite, expiresAt, managedBy });
}

function unreadable(name: string, cause: Failure): Failure {
  return new Failure(
    "ALREADY_EXISTS",
    `A key named ${
      quote(name)
    } exists, but the key in use is not allowed to read it. Choose another name, or use a key ` +
      "with API_KEY:READ_ANY and API_KEY:UPDATE_ANY.",
    { cause },
  );
}

async function writeSecret(file: SecretFile, { key, name, id }: IssuedKey): Promise<void> {
  try {
    await file.write(key);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(
      error.code,
      `The key ${quote(name)} (${id}) got a new secret, but the secret could not be written: ` +
        `${toSentence(error.message)} To issue another one, run the same command again.`,
      { cause: error },
    );
  }
}
