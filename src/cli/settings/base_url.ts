/** The base URL of a server. */
import * as z from "zod/mini";
import { quote } from "../../apikey/failure.ts";
import { parseSetting, textSchema } from "./schema.ts";
import type { Setting } from "./setting.ts";

const HTTP_URL = textSchema(
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url !== undefined && ["http:", "https:"].includes(url.protocol) ? url : undefined;
  },
  (text) => `must be a URL, for example https://keys.example.com, not ${quote(text)}.`,
).check(
  z.refine(
    ({ username, password }) => username === "" && password === "",
    "must not contain a user or password. Use --key-file or SERVICE_API_KEY.",
  ),
  z.refine(({ search, hash }) => search === "" && hash === "", "must not have a query or fragment."),
);

const SECURE_URL = HTTP_URL.check(
  z.refine(({ protocol, hostname }) => protocol === "https:" || isLoopback(hostname), {
    error: ({ input }) =>
      `would send keys unencrypted to ${input instanceof URL ? input.host : "that host"}. Use https://, or add ` +
      "--allow-http if the network is private.",
  }),
);

/**
 * Parses a base URL.
 *
 * @param options `allowHttp` accepts `http://` for hosts other than this machine
 * @returns `{base_url}/graphql`, whether the text ends in `/`, in `/graphql` or in neither
 * @throws {Failure} `USAGE`; its message repeats no user, password, query or fragment
 */
export function parseBaseUrl(setting: Setting, { allowHttp }: { readonly allowHttp: boolean }): URL {
  const url = parseSetting(setting, allowHttp ? HTTP_URL : SECURE_URL);
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/graphql$/, "").replace(/\/+$/, "")}/graphql`;
  return url;
}

/** Whether a host, written as in a URL or as in `--host`, is always this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^127(\.\d{1,3}){3}$/.test(hostname) ||
    hostname === "[::1]" || hostname === "::1";
}
