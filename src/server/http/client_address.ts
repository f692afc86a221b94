/** Finds the IP address of the client, even behind proxies. */
import { BlockList, isIP, isIPv6 } from "node:net";
import { Failure, quote } from "../../apikey/failure.ts";

/**
 * Returns the client's IP address.
 *
 * @param connection the IP address of the client or proxy that opened the connection
 * @param forwardedFor the value of `X-Forwarded-For`; `null` if the request has no such header
 */
export type ClientAddress = (connection: string, forwardedFor: string | null) => string;

/**
 * Returns a function that trusts `X-Forwarded-For` if the connection comes from one of these proxies. The client's
 * address is then the last address in the header that does not belong to a proxy, because a client can forge all
 * earlier addresses.
 *
 * @param proxies IP addresses, or networks like `10.0.0.0/8`
 * @throws {Failure} `USAGE` if an entry is neither an IP address nor a network
 */
export function behindProxies(proxies: readonly string[]): ClientAddress {
  const isTrusted = proxyMatcher(proxies);
  return (connection, forwardedFor) => {
    let address = normalize(connection);
    if (proxies.length === 0 || forwardedFor === null) return address;
    const hops = forwardedFor.split(",");
    while (hops.length > 0 && isTrusted(address)) {
      const next = normalize(hops.pop()?.trim() ?? "");
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

/**
 * Returns a function that says whether an address, as `ClientAddress` returns it, belongs to one of these proxies.
 *
 * @param proxies IP addresses, or networks like `10.0.0.0/8`
 * @throws {Failure} `USAGE` if an entry is neither an IP address nor a network
 */
export function proxyMatcher(proxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const proxy of proxies) addProxy(trusted, proxy);
  return (address) => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

function addProxy(trusted: BlockList, proxy: string): void {
  const [address = "", prefix, ...rest] = proxy.split("/");
  const family = isIP(address);
  const maxLength = family === 6 ? 128 : 32;
  const length = prefix === undefined ? maxLength : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
  if (family === 0 || !(length <= maxLength) || rest.length > 0) {
    throw new Failure("USAGE", `--trust-proxy takes IP addresses and networks like 10.0.0.0/8, not ${quote(proxy)}.`);
  }
  trusted.addSubnet(address, length, family === 6 ? "ipv6" : "ipv4");
}

/** Most addresses have this form, which is canonical. */
const PLAIN_IPV4 = /^[\d.]+$/;

/**
 * Returns the canonical form of an address, without brackets, port and zone. IPv6 is compressed. An IPv4-mapped IPv6
 * address becomes an IPv4 address.
 */
function normalize(text: string): string {
  if (PLAIN_IPV4.test(text)) return text;
  const bare = text
    .replace(/^\[(.*)\](:\d+)?$/, "$1")
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1")
    .replace(/%.*$/, "");
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}
