/** The prompts of `login`. */
import { escapeInvisible, Failure } from "../../../apikey/failure.ts";
import { keySchema } from "../../connection/headers.ts";
import type { Host } from "../../host/host.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { parseBaseUrl, withScheme } from "../../settings/base_url.ts";
import { parseSetting } from "../../settings/schema.ts";
import type { AddressFlags } from "../../settings/server_flags.ts";
import { type Profile, settingFrom, type SourcedSetting } from "../../settings/setting.ts";
import type { AcceptedKey } from "./identify.ts";
import { endpointOf } from "./stored_profile.ts";

/** How messages name the server that the user types at the prompt. */
export const SERVER = "The server";

/** Asks for the server. Returns its URL with a scheme. */
export async function promptForServer(
  prompts: Prompts,
  { allowHttp: acceptsHttp = false }: AddressFlags,
  oldProfile: Profile | undefined,
): Promise<string> {
  const initial = oldProfile?.values.get("baseUrl")?.value;
  const check = (typed: string): void => {
    const setting = { name: SERVER, value: withScheme(typed) };
    // The allow-http of a profile applies only to the server of that profile.
    const isSameServer = parseBaseUrl(setting, { allowHttp: true }).href === endpointOf(oldProfile);
    const allowHttp = acceptsHttp || isSameServer && oldProfile?.values.get("allowHttp")?.value === "true";
    parseBaseUrl(setting, { allowHttp });
  };
  const typed = await prompts.text({
    label: "Server",
    hint: "for example https://keys.example.com or localhost:4000",
    ...(initial === undefined ? {} : { initial }),
    check,
    checksOnEnter: true,
  });
  return withScheme(typed);
}

/** How many keys the user can try. */
const MAX_ATTEMPTS = 3;

/**
 * Asks for a key until the server accepts one, at most three times.
 *
 * @throws {Failure} of the last check; at once if it is not about the key
 */
export async function promptForKey(
  prompts: Prompts,
  hint: string,
  check: (key: SourcedSetting) => Promise<AcceptedKey>,
  host: Host,
): Promise<AcceptedKey> {
  const { styleFor, wrapText } = await import("#terminal");
  const { yellow, symbols } = styleFor(host.stderr, host);
  for (let left = MAX_ATTEMPTS - 1;; left--) {
    // deno-lint-ignore no-await-in-loop -- one attempt at a time
    const key = await promptForSecret(prompts, hint);
    const showTyping = host.hideTyping?.();
    try {
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      return await check(key);
    } catch (error) {
      if (!(error instanceof Failure && error.code === "UNAUTHENTICATED") || left === 0) throw error;
      const attempts = left === 1 ? "You can try 1 more time." : `You can try ${left} more times.`;
      const lines = wrapText(`${escapeInvisible(error.message)} ${attempts}`, host.stderr.columns() - 5);
      const text = lines.map((line, i) => yellow(`  ${i === 0 ? symbols.error : " "} ${line}`)).join("\n");
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      await host.stderr.write(`${text}\n`);
    } finally {
      showTyping?.();
    }
  }
}

async function promptForSecret(prompts: Prompts, hint: string): Promise<SourcedSetting> {
  const name = "The key";
  const parse = (value: string): string => parseSetting({ name, value }, keySchema());
  const typed = await prompts.secret({ label: "API key", hint, check: (answer) => void parse(answer) });
  return settingFrom("flag", name, parse(typed));
}
