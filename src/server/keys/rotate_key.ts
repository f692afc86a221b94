/** Rotates a key: gives it a new secret. Its id, name and rights stay the same. */
import { Failure } from "../../apikey/failure.ts";
import { parseName } from "../../apikey/name.ts";
import type { KeySelector } from "../../store/key_store.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { byId, changeKey } from "./change_key.ts";
import { parseExpiry, requireAllowedExpiry } from "./expiry.ts";
import { generateSecret, type NewKey } from "./new_secret.ts";
import type { RequestContext } from "./request_context.ts";

/** The GraphQL input `RotateApiKeyInput`. Exactly one of `id` and `name` must be set. */
export interface RotateKeyInput {
  readonly id?: string | null;
  readonly name?: string | null;
  /** How long the old secret stays valid, in seconds. */
  readonly graceSeconds?: number | null;
  /** In RFC 3339. If it is not set or `null`, the expiry stays unchanged. */
  readonly expiresAt?: string | null;
}

/**
 * Rotates a key.
 *
 * @throws {Failure} `USAGE` or `INVALID_NAME` if the input is invalid
 * @throws {Failure} `USAGE` if the key would live longer than the server allows
 * @throws {Failure} `EXPIRED` if the key has expired and the input has no expiry
 * @throws {Failure} what {@linkcode changeKey} throws
 */
export async function rotateKey(input: RotateKeyInput, context: RequestContext): Promise<NewKey> {
  const { origin: { at }, hashSecret, lifetimes } = context;
  let secret = "";
  const key = await changeKey("ROTATE", targetOf(input), context, async () => {
    const selector = parseSelector(input);
    const grace = parseGrace(input.graceSeconds ?? 0);
    const expiry = typeof input.expiresAt === "string" ? parseExpiry(input.expiresAt, at) : undefined;
    const { secret: newSecret, ...hashAndTail } = await generateSecret(hashSecret);
    secret = newSecret;
    return {
      selector,
      apply: (held) => {
        const expiresAt = expiry ?? held.expiresAt;
        if (expiry === undefined && isOver(held.expiresAt, at)) throw expired(held.expiresAt);
        requireAllowedExpiry(expiresAt, lifetimes, at);
        return {
          ...held,
          ...hashAndTail,
          expiresAt,
          previousSecretHash: held.secretHash,
          graceUntil: endOfGrace(held, grace, at),
        };
      },
    };
  });
  return { key, secret };
}

/** Returns the key that an input names. */
export function targetOf({ id, name }: RotateKeyInput): { readonly id?: string; readonly name?: string } {
  return { ...typeof id === "string" && { id }, ...typeof name === "string" && { name } };
}

function parseSelector({ id, name }: RotateKeyInput): KeySelector {
  if (typeof id === "string" && typeof name !== "string") return byId(id);
  if (typeof name === "string" && typeof id !== "string") return { name: parseName(name) };
  throw new Failure("USAGE", "Give exactly one of id and name.");
}

/** @returns milliseconds */
function parseGrace(seconds: number): number {
  if (seconds >= 0) return seconds * 1000;
  throw new Failure("USAGE", "graceSeconds must not be negative.");
}

/** Returns until when the old secret of a key stays valid, at most until its own expiry; `null` if not at all. */
function endOfGrace({ expiresAt }: StoredKey, grace: number, now: Date): Date | null {
  const end = new Date(now.getTime() + grace);
  const earlier = expiresAt !== null && expiresAt < end ? expiresAt : end;
  return earlier > now ? earlier : null;
}

function isOver(expiry: Date | null, now: Date): expiry is Date {
  return expiry !== null && expiry <= now;
}

function expired(since: Date): Failure {
  return new Failure(
    "EXPIRED",
    `The key expired at ${since.toISOString()}. Give a new expiry to rotate it (--expires-in).`,
  );
}
