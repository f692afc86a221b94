/** Rotates a key: the server issues a new secret. The id, the name and the rights of the key stay the same. */
import * as z from "zod/mini";
import { Failure, quote, toSentence } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { type IssuedKey, issuedKey } from "../key.ts";
import { mayHaveExecuted } from "../network_failure.ts";
import { RequestRejected } from "../response_failure.ts";
import { findKey, type KeySelector, notFound } from "./find_key.ts";
import { serverFields, unsupported } from "./server_fields.ts";

export interface Rotation {
  readonly selector: KeySelector;
  /** How long the old secret stays valid, in milliseconds; 0 if the server rejects it at once. */
  readonly grace: number;
  /** The new expiry of the key. If it is not set, the expiry does not change. */
  readonly expiresAt: Date | undefined;
}

export const ROTATE = `mutation RotateApiKey($input: RotateApiKeyInput!) {
  apiKey { rotate(input: $input) { id key name } }
}`;

/** The largest number of the GraphQL type Int. As seconds, it is 68 years. */
const MAX_INT = 2 ** 31 - 1;

/**
 * Rotates a key with one request.
 *
 * @throws {Failure} `NOT_FOUND` with the nearest name; `EXPIRED` if the key has expired and there is no new expiry;
 * `UNSUPPORTED` if the server cannot rotate keys; any failure of {@linkcode execute}. The key was not rotated unless the
 * message says that it may have been.
 */
export async function rotateKey(endpoint: Endpoint, rotation: Rotation): Promise<IssuedKey> {
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
      () => z.object({ apiKey: z.object({ rotate: issuedKey() }) }),
    );
    return apiKey.rotate;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (mayHaveExecuted(error)) throw withLostSecret(error, rotation);
    if (error.code === "NOT_FOUND") throw await notFound(endpoint, selector);
    if (!(error instanceof RequestRejected && error.code === "FAILED")) throw error;
    const field = "ApiKeyMutations.rotate";
    if ((await serverFields(endpoint)).has(field)) throw error;
    throw unsupported(endpoint, field, await alternativeFor(endpoint, selector));
  }
}

function withLostSecret(failure: Failure, { grace }: Rotation): Failure {
  const advice = grace === 0
    ? "If the server rotated the key, the old secret is no longer valid, and the new secret is lost. To find out, " +
      "verify the old secret: service-api apikey verify --key-file FILE. To issue another secret, run the same " +
      "command again. If the key in use is no longer valid, use another key."
    : "The old secret is still valid. If the server rotated the key, the old secret is valid until the end of the " +
      "grace period, and the new secret is lost. To issue another secret, run the same command again. The old secret " +
      "then stops working at once.";
  return new Failure(failure.code, `${toSentence(failure.message)} ${advice}`, { cause: failure });
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
