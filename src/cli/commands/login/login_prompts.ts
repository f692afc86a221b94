/** The prompts of `login`. */
import { escapeInvisible, Failure, quote } from "../../../apikey/failure.ts";
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

export interface ServerQuestion {
  /** The name of the profile. */
  readonly name: string;
  /** The text in the prompt when it appears; may be empty. */
  readonly initial: string;
  /** The profile if it exists. */
  readonly profile: Profile | undefined;
}

/**
 * Asks for the server of a profile.
 *
 * @returns its URL with a scheme
 */
export async function promptForServer(
  prompts: Prompts,
  { allowHttp: acceptsHttp = false }: AddressFlags,
  { name, initial, profile }: ServerQuestion,
): Promise<string> {
  const check = (typed: string): void => {
    const setting = { name: SERVER, value: withScheme(typed) };
    // The allow-http of a profile applies only to the server of that profile.
    const isSameServer = parseBaseUrl(setting, { allowHttp: true }).href === endpointOf(profile);
    const allowHttp = acceptsHttp || isSameServer && profile?.values.get("allowHttp")?.value === "true";
    parseBaseUrl(setting, { allowHttp });
  };
  const typed = await prompts.text({
    label: `Server of profile ${quote(name)}`,
    hint: "for example https://keys.example.com or localhost:4000",
    initial,
    check,
    checksOnEnter: true,
  });
  return withScheme(typed);
}

/** How many keys the user can try. */
const MAX_ATTEMPTS = 3;

export interface KeyQuestion {
  /** Which server the key is for and where it is stored, in one sentence. */
  readonly target: string;
  readonly server: string;
  /** The key of the profile, which the user can keep. */
  readonly current: SourcedSetting | undefined;
  /** Whether the profile had a different server, or none. The current key is then sent only if the user agrees. */
  readonly isNewServer: boolean;
  /** Whether the user can go back to the server. */
  readonly canGoBack: boolean;
}

/**
 * Asks for a key until the server accepts one, at most three times.
 *
 * @throws {Failure} of the last check; at once if it is not about the key
 * @throws {GoBack} if the user goes back to the server
 */
export async function promptForKey(
  prompts: Prompts,
  { target, server, current, isNewServer, canGoBack }: KeyQuestion,
  check: (key: SourcedSetting) => Promise<AcceptedKey>,
  host: Host,
): Promise<AcceptedKey> {
  const { styleFor, wrapMessage } = await import("#terminal");
  const { dim } = styleFor(host.stderr, host);
  const lines = wrapMessage(target, host.stderr.columns() - 1);
  await host.stderr.write(lines.map((line) => `${dim(line)}\n`).join(""));
  const sendsCurrent = current !== undefined && isNewServer &&
    await prompts.confirm({ label: `Send the current key to ${new URL(server).host}?`, initial: false, canGoBack });
  let agreed = sendsCurrent ? current : undefined;
  let kept = isNewServer ? undefined : current;
  for (let left = MAX_ATTEMPTS - 1;; left--) {
    // deno-lint-ignore no-await-in-loop -- one attempt at a time
    const key = agreed ?? await promptForSecret(prompts, kept, canGoBack);
    // If the server refuses the current key, the user cannot keep it.
    if (key === current) agreed = kept = undefined;
    const showTyping = host.hideTyping?.();
    try {
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      return await check(key);
    } catch (error) {
      if (!(error instanceof Failure && error.code === "UNAUTHENTICATED") || left === 0) throw error;
      const attempts = left === 1 ? "You can try 1 more time." : `You can try ${left} more times.`;
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      await writeProblem(`${error.message} ${attempts}`, host);
    } finally {
      showTyping?.();
    }
  }
}

/**
 * Asks whether to store a key that could not be checked.
 *
 * @param problem why the server did not check the key
 */
export async function confirmUnchecked(prompts: Prompts, problem: string, host: Host): Promise<boolean> {
  await writeProblem(problem, host);
  return await prompts.confirm({ label: "Store the server and the key without a check?", initial: false });
}

/** Shows at the terminal what is wrong, before the next prompt. */
export async function writeProblem(message: string, host: Host): Promise<void> {
  const { styleFor, wrapText } = await import("#terminal");
  const { yellow, symbols } = styleFor(host.stderr, host);
  const lines = wrapText(escapeInvisible(message), host.stderr.columns() - 5);
  await host.stderr.write(lines.map((line, i) => `${yellow(`  ${i === 0 ? symbols.error : " "} ${line}`)}\n`).join(""));
}

/** @param kept the key if the user only presses Enter */
async function promptForSecret(
  prompts: Prompts,
  kept: SourcedSetting | undefined,
  canGoBack: boolean,
): Promise<SourcedSetting> {
  const name = "The key";
  const parse = (value: string): SourcedSetting =>
    kept !== undefined && value.trim() === ""
      ? kept
      : settingFrom("flag", name, parseSetting({ name, value }, keySchema()));
  const typed = await prompts.secret({
    label: "API key",
    canGoBack,
    ...(kept === undefined ? {} : { hint: "Enter keeps the current key", emptyAnswer: "(kept)" }),
    check: (answer) => void parse(answer),
  });
  return parse(typed);
}
