/** The address of a server. */
import { Failure, quote } from "../../apikey/failure.ts";

/**
 * Brings `{base_url}`, `{base_url}/` or `{base_url}/graphql` to `{base_url}/graphql`.
 *
 * @param setting where it comes from, for messages
 * @throws {Failure} `USAGE`
 */
export function parseBaseUrl(text: string, setting: string, allowHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Failure("USAGE", `${setting} takes a URL such as https://host.example, and not ${quote(text)}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Failure("USAGE", `${setting} may not contain a user or password. Use --key-file or SERVICE_API_KEY.`);
  }
  if (url.search !== "" || url.hash !== "") {
    throw new Failure("USAGE", `${setting} may not have a query or fragment: ${quote(text)}.`);
  }
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname)) {
    throw new Failure(
      "USAGE",
      `${setting}: keys would cross the network in clear to ${url.host}: use https://, or --allow-http if that is all right.`,
    );
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/graphql$/, "").replace(/\/+$/, "")}/graphql`;
  return url;
}

/** Whether a host, as URLs and `--host` have it, can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^127(\.\d{1,3}){3}$/.test(hostname) ||
    hostname === "[::1]" || hostname === "::1";
}
