/** Checks that a server accepts a key, and in which header. */
import { Failure, quote } from "../../../apikey/failure.ts";
import type { KeyReference, Verification } from "../../../client/client.ts";
import type { EffectiveSettings } from "../../connection/effective_settings.ts";
import type { KeyRemedies } from "../../connection/key_source.ts";
import type { Host } from "../../host/host.ts";
import type { Log } from "../../host/log.ts";
import { settingFrom, type SourcedSetting } from "../../settings/setting.ts";

export interface Identity {
  /** `undefined` if the server does not say which key it accepted. */
  readonly caller: KeyReference | undefined;
  /** The header in which the server accepts the key, if this is not the header of the settings. */
  readonly foundKeyHeader?: string;
  /** What the key may do; `undefined` if the server does not report it. */
  readonly verification: Verification | undefined;
}

/** A key that the server accepts, and the settings with it. */
export interface AcceptedKey extends Identity {
  readonly effective: EffectiveSettings;
  readonly key: SourcedSetting;
  /** Whether the server was not available, and the user wants to store the key without a check. */
  readonly isUnchecked?: true;
}

/**
 * Checks the key. If the server refuses it as a bearer token, and no setting names a header for the key, checks it again
 * in the header that such servers usually expect.
 */
export async function identify(settings: EffectiveSettings, host: Host, log: Log): Promise<Identity> {
  const { BearerRefused, parseSettings, USUAL_KEY_HEADER, withClientFor } = await import("#connection");
  const identifyWith = async (effective: EffectiveSettings): Promise<Identity> => {
    const useClient = withClientFor(await parseSettings(effective, host, log), host, log, remediesFor(effective));
    return await useClient(async (connect) => {
      const client = await connect();
      const caller = await client.identify();
      return { caller, verification: caller && await ifReported(client.verifyKey()) };
    });
  };
  try {
    return await identifyWith(settings);
  } catch (error) {
    if (!(error instanceof BearerRefused) || settings.keyHeader !== undefined) throw error;
    log.debug("The server refused the key as a bearer token. Trying the header {name}.", { name: USUAL_KEY_HEADER });
    const keyHeader = settingFrom("flag", "--key-header", USUAL_KEY_HEADER);
    try {
      return { ...await identifyWith({ ...settings, keyHeader }), foundKeyHeader: USUAL_KEY_HEADER };
    } catch (secondError) {
      // If the server refuses the key in this header too, the advice in the first error would be wrong.
      const isFinal = secondError instanceof Failure && ["UNAUTHENTICATED", "INTERRUPTED"].includes(secondError.code);
      throw isFinal ? secondError : error;
    }
  }
}

/** The usual advice, to log in, is of no use here. A user who did not enter the key has to know where it is. */
function remediesFor({ key, config: { profile } }: EffectiveSettings): KeyRemedies {
  const sources = { flag: undefined, variable: key?.from, file: `profile ${quote(profile?.name ?? "")}` } as const;
  const source = key && sources[key.source];
  const place = source === undefined ? "" : `The key comes from ${source}.`;
  return {
    keyRemedy: `${place} Check that it is the whole key, and a key of this server.`.trimStart(),
    knownKeyRemedy: place,
    newSecretRemedy: place,
  };
}

/** What the key may do is not needed to log in, so a server may refuse to say it. */
async function ifReported(verifying: Promise<Verification>): Promise<Verification | undefined> {
  try {
    return await verifying;
  } catch (error) {
    if (error instanceof Failure && error.code !== "INTERRUPTED") return undefined;
    throw error;
  }
}
