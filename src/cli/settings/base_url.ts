/** The base URL of a server. */
import { quote } from "../../apikey/failure.ts";
import { redactSecrets } from "../../apikey/secret.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import type { Setting } from "./setting.ts";

function baseUrlSchema(allowHttp: boolean): TextSchema<URL> {
  return textSchema((text, reject) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
      if (/^postgres/i.test(text)) return reject("must be the URL of a server. A database needs --database-url.");
      // What precedes an @ may be a password.
      const shown = text.includes("@") ? "" : `, not ${quote(redactSecrets(text))}`;
      const complete = withScheme(text);
      const example = complete === text ? "https://keys.example.com" : complete;
      return reject(`must be a URL, for example ${example}${shown}.`);
    }
    if (url.username !== "" || url.password !== "") {
      return reject("must not contain a user or password. Use --key-file or SERVICE_API_KEY.");
    }
    if (url.search !== "" || url.hash !== "") return reject("must not have a query or fragment.");
    if (url.protocol === "https:" || allowHttp || isLoopback(url.hostname)) return url;
    return reject(
      `would send keys unencrypted to ${url.host}. Use https://, or add --allow-http if the network is private.`,
    );
  });
}

/**
 * Parses a base URL.
 *
 * @param options `allowHttp` accepts `http://` for hosts other than this machine
 * @returns `{base_url}/graphql`, whether the text ends in `/`, in `/graphql` or in neither
 * @throws {Failure} `USAGE`; its message repeats no user, password, query or fragment of a valid HTTP or HTTPS URL
 */
export function parseBaseUrl(setting: Setting, { allowHttp }: { readonly allowHttp: boolean }): URL {
  const url = parseSetting(setting, baseUrlSchema(allowHttp));
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/graphql$/, "").replace(/\/+$/, "")}/graphql`;
  return url;
}

/**
 * Adds the scheme that a user left out of a URL: `http://` for this machine, otherwise `https://`. Returns any other text
 * unchanged.
 *
 * @example withScheme("localhost:4100") // "http://localhost:4100"
 */
export function withScheme(text: string): string {
  const [, host] =
    /^(\[[\da-f:]+\]|localhost|[\w-]+(?=:\d)|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:\/.*)?$/i.exec(text.trim()) ?? [];
  if (host === undefined) return text;
  return `${isLoopback(host) ? "http" : "https"}://${text.trim()}`;
}

/** Whether a host, written as in a URL or as in `--host`, is always this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^127(\.\d{1,3}){3}$/.test(hostname) ||
    hostname === "[::1]" || hostname === "::1";
}
