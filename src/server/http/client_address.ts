/** From which address a request comes, also behind proxies. */
import { BlockList, isIP, isIPv6 } from "node:net";
import { Failure, quote } from "../../apikey/failure.ts";

/** Tells the client's IP address from that of the connection and the value of `X-Forwarded-For`, `null` for none. */
export type ClientAddress = (connection: string, forwardedFor: string | null) => string;

/**
 * Believes what proxies at these addresses say of the client: of the addresses in `X-Forwarded-For` the last one that
 * is not theirs. Anybody can write the others.
 *
 * @param proxies IP addresses, or networks as `10.0.0.0/8`
 * @throws {Failure} `USAGE` for what is neither
 */
export function behindProxies(proxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const proxy of proxies) addTo(trusted, proxy);
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  return (connection, forwardedFor) => {
    let address = plain(connection);
    if (proxies.length === 0 || forwardedFor === null) return address;
    const hops = forwardedFor.split(",");
    while (hops.length > 0 && isTrusted(address)) {
      const next = plain(hops.pop()?.trim() ?? "");
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

function addTo(trusted: BlockList, proxy: string): void {
  const [address = "", bits, ...rest] = proxy.split("/");
  const family = isIP(address);
  const longest = family === 6 ? 128 : 32;
  const length = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
  if (family === 0 || !(length <= longest) || rest.length > 0) {
    throw new Failure(
      "USAGE",
      `--trust-proxy takes IP addresses and networks such as 10.0.0.0/8, not ${quote(proxy)}.`,
    );
  }
  trusted.addSubnet(address, length, family === 6 ? "ipv6" : "ipv4");
}

/**
 * An address in its one spelling: without brackets, port and zone, and an IPv4 address that came over a socket for IPv6
 * as itself.
 */
function plain(written: string): string {
  const bare = written.replace(/^\[(.*)\](:\d+)?$/, "$1").replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1").replace(
    /%.*$/,
    "",
  );
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}
