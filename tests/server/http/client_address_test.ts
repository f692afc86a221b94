/** How the server finds the IP address of the client, with and without proxies. */
import { expect } from "expect";
import { behindProxies } from "../../../src/server/http/client_address.ts";

const PROXY = "192.0.2.1";
const NETWORK = "192.0.2.0/24";
const CLIENT = "203.0.113.1";

for (
  const [rule, proxies, connection, header, client] of [
    ["Without trusted proxies, X-Forwarded-For is ignored", [], PROXY, CLIENT, PROXY],
    ["From an untrusted address, X-Forwarded-For is ignored", [NETWORK], "198.51.100.1", CLIENT, "198.51.100.1"],
    ["If a proxy sends no X-Forwarded-For, the proxy is the client", [PROXY], PROXY, null, PROXY],
    ["If a proxy sends an empty X-Forwarded-For, the proxy is the client", [PROXY], PROXY, "", PROXY],
    [
      "Behind one trusted proxy, the client is the last address in X-Forwarded-For",
      [PROXY],
      PROXY,
      `198.51.100.1, ${CLIENT}`,
      CLIENT,
    ],
    [
      "The client is the last address that is not a trusted proxy",
      [NETWORK],
      PROXY,
      `10.0.0.1,${CLIENT} , 192.0.2.2`,
      CLIENT,
    ],
    [
      "If all addresses are trusted proxies, the first address is the client",
      [NETWORK],
      PROXY,
      "192.0.2.3, 192.0.2.2",
      "192.0.2.3",
    ],
    ["If the last address is invalid, the proxy is the client", [PROXY], PROXY, `${CLIENT}, <script>`, PROXY],
    [
      "The search for the client ends at an invalid address",
      [NETWORK],
      PROXY,
      `${CLIENT}, unknown, 192.0.2.2`,
      "192.0.2.2",
    ],
    ["Invalid addresses before the client are ignored", [PROXY], PROXY, `unknown, ,;, ${CLIENT}`, CLIENT],
    ["An IPv4-mapped IPv6 address is written as IPv4", [PROXY], "::ffff:192.0.2.1", "::FFFF:203.0.113.1", CLIENT],
    ["IPv6 networks can be trusted", ["2001:db8::/32"], "2001:db8::9", "2001:db9::1", "2001:db9::1"],
    ["IPv6 addresses outside the network are not trusted", ["2001:db8::/32"], "2001:db9::9", CLIENT, "2001:db9::9"],
    ["IPv4 and IPv6 proxies can be mixed", ["::1", "10.0.0.0/8"], "::1", `${CLIENT}, 10.255.0.1`, CLIENT],
    ["A port is removed", [PROXY], PROXY, `${CLIENT}:5678`, CLIENT],
    ["Brackets and port are removed, and IPv6 is compressed", [PROXY], PROXY, "[2001:DB8:0::1]:5678", "2001:db8::1"],
    ["A zone is removed", [], "fe80::1%eth0", null, "fe80::1"],
    ["0.0.0.0/0 trusts every IPv4 address", ["0.0.0.0/0"], PROXY, `${CLIENT}, 198.51.100.1`, CLIENT],
  ] as const
) {
  Deno.test(`${rule}: ${header ?? "no header"}`, () => {
    expect(behindProxies(proxies)(connection, header)).toBe(client);
  });
}

Deno.test("A trusted proxy that is neither an IP address nor a network is a usage error", () => {
  for (const proxy of ["", "proxy.example", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/1e1"]) {
    expect(() => behindProxies(["10.0.0.1", proxy])).toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining("--trust-proxy takes") }),
    );
  }
});
