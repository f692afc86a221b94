/** Rotates a key: the server issues a new secret. The id, the name and the rights of the key stay the same. */
import * as z from "zod/mini";
import { Failure, quote } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import { describeFailure, forCleanUp } from "../retry.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { type IssuedKey, issuedKey } from "../key.ts";
import { RequestRejected } from "../response_failure.ts";
import { findKey, type KeySelector, notFound } from "./find_key.ts";
import { serverFields, unsupported } from "./server_fields.ts";

export interface Rotation {
  readonly selector: KeySelector;
  /** How long the old secret stays valid, in milliseconds; 0 if the server rejects it at once. */
  readonly grace: number;
  /** The new expiry of the key. If it is not set, the expiry does not change. */
  readonly expiresAt: Date | undefined;
  /** The time of the request. If the response is lost, it helps to find out whether the server rotated the key. */
  readonly now: Date;
}

export const ROTATE = `mutation RotateApiKey($input: RotateApiKeyInput!) {
  apiKey { rotate(input: $input) { id key name graceUntil } }
}`;

/** A key with its new secret. */
export interface RotatedKey extends IssuedKey {
  /** Until when the old secret works, in RFC 3339; `null` if the server rejects it already. */
  readonly graceUntil?: string | null | undefined;
}

/** The largest number of the GraphQL type Int. As seconds, it is 68 years. */
const MAX_INT = 2 ** 31 - 1;

/**
 * Rotates a key with one request.
 *
 * @throws {Failure} `NOT_FOUND` with the nearest name; `EXPIRED` if the key has expired and there is no new expiry;
 * `UNSUPPORTED` if the server cannot rotate keys; any failure of {@linkcode execute}. The key was not rotated unless the
 * message says that it may have been.
 */
export async function rotateKey(endpoint: Endpoint, rotation: Rotation): Promise<RotatedKey> {
  const { selector, grace, expiresAt } = rotation;
  const input = {
    ...selector,
    ...(grace === 0 ? {} : { graceSeconds: Math.min(Math.ceil(grace / 1000), MAX_INT) }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
  };
  try {
    const { apiKey } = await execute(
      endpoint,
      ROTATE,
      { input },
      () => z.object({ apiKey: z.object({ rotate: z.extend(issuedKey(), { graceUntil: z.nullish(z.string()) }) }) }),
    );
    return apiKey.rotate;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.mayHaveExecuted) throw await withLostSecret(endpoint, error, rotation);
    if (error.code === "NOT_FOUND") throw await notFound(endpoint, selector);
    if (!(error instanceof RequestRejected && error.code === "FAILED")) throw error;
    const field = "ApiKeyMutations.rotate";
    if ((await serverFields(endpoint)).has(field)) throw error;
    throw unsupported(endpoint, field, await alternativeFor(endpoint, selector));
  }
}

/** Returns the failure after the response was lost. Its message says which secret is valid, as far as the server tells. */
async function withLostSecret(endpoint: Endpoint, failure: Failure, rotation: Rotation): Promise<Failure> {
  const advice = rotation.grace === 0
    ? await describeOldSecret(endpoint, rotation)
    : "The old secret is still valid. If the server rotated the key, the old secret is valid until the end of the " +
      "grace period, and the new secret is lost. To issue another secret, run the same command again. The second " +
      "rotation ends the grace period at once.";
  return new Failure(failure.code, `${describeFailure(failure)} ${advice}`, {
    cause: failure,
    mayHaveExecuted: true,
    saysWhatToRun: true,
  });
}

/** How much the clocks of this machine and of the server may differ, in milliseconds. */
const CLOCK_TOLERANCE = 60_000;

/** Asks the server when it last changed the key, to find out whether the old secret is still valid. */
async function describeOldSecret(endpoint: Endpoint, { selector, now }: Rotation): Promise<string> {
  try {
    const { updatedAt } = await findKey(forCleanUp(endpoint), selector);
    if (updatedAt !== null && Date.parse(updatedAt) >= now.getTime() - CLOCK_TOLERANCE) {
      return `The server changed the key at ${updatedAt}, so it has most likely rotated the key: the old secret is no ` +
        "longer valid, and the new secret is lost. To issue another secret, run the same command again.";
    }
    return `The server has not changed the key${updatedAt === null ? "" : ` since ${updatedAt}`}, so the old secret ` +
      "is still valid, unless the server is still executing the request. To rotate the key, run the same command again.";
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.code === "UNAUTHENTICATED"
      ? "The server no longer accepts the key in use. If this is the key to rotate, the server has rotated it and the " +
        "new secret is lost. To issue another secret, run the same command with another key."
      : "If the server rotated the key, the old secret is no longer valid, and the new secret is lost. To find out, verify the old secret: " +
        "service-api apikey verify --key-file FILE. To issue another secret, run the same command again.";
  }
}

/** Returns the advice for a server that cannot rotate keys: the command that replaces the key. */
async function alternativeFor(endpoint: Endpoint, selector: KeySelector): Promise<string> {
  const { name, description, roles, permissions } = await findKey(endpoint, selector);
  const flags = [
    ["--name", name],
    ["--roles", roles?.join(",")],
    ["--permissions", permissions?.join(",")],
    ["--description", description],
  ].flatMap(([flag = "", value]) => value ? [flag, shellWord(value)] : []);
  const command = ["service-api apikey --create", ...flags, "--overwrite"].join(" ");
  return `To replace ${quote(name)} with a new key that has the same name and rights, run: ${command}`;
}
