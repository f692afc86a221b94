/** What comes of many requests without a valid key. */
import { expect } from "expect";
import { behindProxies } from "../../../src/server/http/client_address.ts";
import { FailureThrottle } from "../../../src/server/auth/throttle.ts";
import { ask, URL_OF_GRAPHQL } from "../graphql/graphql.ts";
import { type HttpTest, withHttp } from "../http/http_server.ts";

const ME = "{ me { name } }";
const START = Date.parse("2026-02-03T04:05:06.789Z");

interface Throttled extends HttpTest {
  /** Puts the clock of the server so many milliseconds on. */
  readonly pass: (milliseconds: number) => void;
  /** Fails to authenticate. */
  readonly fail: (from?: string) => Promise<number>;
}

function withThrottle(
  test: (server: Throttled) => Promise<void>,
  { limit = 3, trustedProxies = [] }: { readonly limit?: number; readonly trustedProxies?: readonly string[] } = {},
): Promise<void> {
  let time = START;
  return withHttp(
    (server) =>
      test({
        ...server,
        pass: (milliseconds) => void (time += milliseconds),
        fail: async (from) =>
          (await ask(server.network, ME, {}, "sak_bad", from ? { "x-forwarded-for": from } : {})).status,
      }),
    { maxAuthFailures: limit, trustedProxies, now: () => new Date(time) },
  );
}

/** Does so many times what gives a status. */
async function repeat(count: number, act: () => Promise<number>): Promise<readonly number[]> {
  const statuses: number[] = [];
  // deno-lint-ignore no-await-in-loop -- one after the other
  for (let i = 0; i < count; i++) statuses.push(await act());
  return statuses;
}

Deno.test("after that many failures an address gets 429, told when it may come again", () =>
  withThrottle(async ({ fail, network, pass }) => {
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
    const { status, headers, codes, messages } = await ask(network, ME, {}, "sak_bad");
    expect({ status, codes, after: headers.get("retry-after") }).toEqual({
      status: 429,
      codes: ["UNAUTHENTICATED"],
      after: "60",
    });
    expect(messages[0]).toContain("Try again in 60 s.");
    expect(headers.get("cache-control")).toBe("no-store");
    pass(45_500);
    expect((await ask(network, ME, {}, "sak_bad")).headers.get("retry-after")).toBe("15");
  }));

Deno.test("requests without a key, with something else than a key and with an unknown key all count", () =>
  withThrottle(async ({ network }) => {
    const send = async (authorization?: string): Promise<number> => {
      const response = await network(
        new Request(URL_OF_GRAPHQL, { headers: authorization === undefined ? {} : { authorization } }),
      );
      await response.body?.cancel();
      return response.status;
    };
    expect(await send()).toBe(401);
    expect(await send("Basic abc")).toBe(401);
    expect((await ask(network, ME, {}, "sak_bad")).status).toBe(401);
    expect(await send()).toBe(429);
  }));

Deno.test("what is wrong with the request, or forbidden to the key, does not count as a failure to authenticate", () =>
  withThrottle(async ({ network, create, fail }) => {
    const { key } = await create({ name: "guest", roles: ["GUEST"] });
    const answers = await Promise.all(
      ["{", "{ nonsense }", "{ apiKeys { id } }"].map((query) => ask(network, query, {}, key)),
    );
    expect(answers.map(({ codes }) => codes[0])).toEqual(["USAGE", "USAGE", "FORBIDDEN"]);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
  }));

Deno.test("a key that was let in before works on while its address has to wait", () =>
  withThrottle(async ({ network, create, fail }) => {
    const { key } = await create({ name: "known", roles: ["GUEST"] });
    expect((await ask(network, ME, {}, key)).status).toBe(200);
    expect((await repeat(4, fail)).at(-1)).toBe(429);
    expect(await ask(network, ME, {}, key)).toMatchObject({ status: 200, data: { me: { name: "known" } } });
    expect(await fail()).toBe(429);
  }));

Deno.test("a key that was let in before and is gone since is refused like any other", () =>
  withThrottle(async ({ network, create, fail, store }) => {
    const { key, id } = await create({ name: "known", roles: ["GUEST"] });
    expect((await ask(network, ME, {}, key)).status).toBe(200);
    expect((await repeat(4, fail)).at(-1)).toBe(429);
    await store.remove([id], { at: new Date(START), actor: null, address: null, requestId: null }, () => {});
    expect((await ask(network, ME, {}, key)).status).toBe(401);
    expect((await ask(network, ME, {}, key)).status).toBe(429);
  }));

Deno.test("a valid key that the server has not seen is refused until the time is over, as a guess would be", () =>
  withThrottle(async ({ network, create, fail, pass }) => {
    const { key } = await create({ name: "late", roles: ["GUEST"] });
    await repeat(3, fail);
    expect((await ask(network, ME, {}, key)).status).toBe(429);
    pass(59_999);
    expect((await ask(network, ME, {}, key)).status).toBe(429);
    pass(1);
    expect((await ask(network, ME, {}, key)).status).toBe(200);
  }));

Deno.test("trying on does not make the time longer, and after it the count begins anew", () =>
  withThrottle(async ({ fail, pass }) => {
    await repeat(3, fail);
    pass(59_000);
    expect(await repeat(3, fail)).toEqual([429, 429, 429]);
    pass(1000);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
  }));

Deno.test("failures more than a minute apart do not add up", () =>
  withThrottle(async ({ fail, pass }) => {
    expect(await repeat(2, fail)).toEqual([401, 401]);
    pass(60_000);
    expect(await repeat(3, fail)).toEqual([401, 401, 401]);
    expect(await fail()).toBe(429);
  }));

Deno.test("with a limit of 0 an address may fail as often as it likes", () =>
  withThrottle(async ({ fail }) => {
    expect(new Set(await repeat(50, fail))).toEqual(new Set([401]));
  }, { limit: 0 }));

Deno.test("behind a trusted proxy each client has a count of its own: the last address that is not a proxy's", () =>
  withThrottle(async ({ fail, network, create }) => {
    expect(await repeat(4, () => fail("203.0.113.7"))).toEqual([401, 401, 401, 429]);
    expect(await fail("198.51.100.1, 203.0.113.7")).toBe(429);
    expect(await fail("203.0.113.7, 10.1.2.3")).toBe(429);
    expect(await fail("203.0.113.8")).toBe(401);
    expect(await fail("203.0.113.7, 198.51.100.1")).toBe(401);
    const { key } = await create({ name: "elsewhere", roles: ["GUEST"] });
    expect((await ask(network, ME, {}, key, { "x-forwarded-for": "203.0.113.7" })).status).toBe(429);
    expect((await ask(network, ME, {}, key, { "x-forwarded-for": "203.0.113.9" })).status).toBe(200);
  }, { trustedProxies: ["127.0.0.1", "10.0.0.0/8"] }));

Deno.test("from anybody but a trusted proxy X-Forwarded-For does not count", async () => {
  for (const trustedProxies of [[], ["10.0.0.0/8"]]) {
    // deno-lint-ignore no-await-in-loop -- two of them
    await withThrottle(async ({ fail }) => {
      let last = 0;
      expect(await repeat(4, () => fail(`203.0.113.${last++}`))).toEqual([401, 401, 401, 429]);
    }, { trustedProxies });
  }
});

Deno.test("an IPv6 client counts with its /64, of which it has every address", () => {
  const throttle = new FailureThrottle(2);
  throttle.recordFailure("2001:db8:1:2::1", START);
  throttle.recordFailure("2001:db8:1:2:ffff:ffff:ffff:ffff", START);
  const waits = (address: string): boolean => throttle.secondsToWait(address, START) > 0;
  expect(["2001:db8:1:2::7", "2001:db8:1:2:3::", "2001:db8:1:2:0:0:0:1"].filter(waits)).toHaveLength(3);
  expect(["2001:db8:1:3::1", "2001:db8:1::2", "2001:db8::1:2", "::1", "2001:db8:1:20::1"].filter(waits)).toEqual([]);
});

Deno.test("an IPv6 address with its zeros left out in the network is the same as with them", () => {
  const throttle = new FailureThrottle(1);
  throttle.recordFailure("2001:db8::1", START);
  throttle.recordFailure("::1", START);
  throttle.recordFailure("2001:db8:0:1::", START);
  for (const address of ["2001:db8:0:0:9::", "2001:db8::9:0:0:1", "::9", "2001:db8:0:1:5::"]) {
    expect([address, throttle.secondsToWait(address, START)]).toEqual([address, 60]);
  }
  expect(throttle.secondsToWait("2001:db8:0:2::1", START)).toBe(0);
});

Deno.test("whoever has no address has nothing held against them", () => {
  const throttle = new FailureThrottle(1);
  throttle.recordFailure(null, START);
  expect(throttle.secondsToWait(null, START)).toBe(0);
});

Deno.test("of too many addresses the one whose failures are oldest is forgotten", () => {
  const throttle = new FailureThrottle(1);
  for (let i = 0; i < 100_001; i++) throttle.recordFailure(`10.${i >> 16}.${i >> 8 & 255}.${i & 255}`, START);
  const waits = ["10.0.0.0", "10.0.0.1", "10.1.134.160"].map((address) => throttle.secondsToWait(address, START));
  expect(waits).toEqual([0, 60, 60]);
});

for (
  const [what, proxies, connection, header, client] of [
    ["without proxies the connection's own", [], "192.0.2.1", null, "192.0.2.1"],
    ["without proxies the connection's own, whatever the header says", [], "192.0.2.1", "203.0.113.1", "192.0.2.1"],
    ["from another address the connection's own", ["192.0.2.9"], "192.0.2.1", "203.0.113.1", "192.0.2.1"],
    ["from a proxy without the header the proxy's own", ["192.0.2.1"], "192.0.2.1", null, "192.0.2.1"],
    ["from a proxy with an empty header the proxy's own", ["192.0.2.1"], "192.0.2.1", "", "192.0.2.1"],
    ["from a proxy the one in the header", ["192.0.2.1"], "192.0.2.1", "203.0.113.1", "203.0.113.1"],
    ["from a proxy the last one in the header", ["192.0.2.1"], "192.0.2.1", "198.51.100.1, 203.0.113.1", "203.0.113.1"],
    [
      "through two proxies the last one before them",
      ["192.0.2.0/24"],
      "192.0.2.1",
      "198.51.100.1,203.0.113.1 , 192.0.2.2",
      "203.0.113.1",
    ],
    ["through proxies alone the first one", ["192.0.2.0/24"], "192.0.2.1", "192.0.2.3, 192.0.2.2", "192.0.2.3"],
    ["with garbage in the header the proxy's own", ["192.0.2.1"], "192.0.2.1", "203.0.113.1, <script>", "192.0.2.1"],
    [
      "with garbage before a proxy that proxy's",
      ["192.0.2.0/24"],
      "192.0.2.1",
      "203.0.113.1, unknown, 192.0.2.2",
      "192.0.2.2",
    ],
    ["with garbage farther away the right one", ["192.0.2.1"], "192.0.2.1", "unknown, ,;, 203.0.113.1", "203.0.113.1"],
    ["over a socket for IPv6 the IPv4 address", [], "::ffff:192.0.2.1", null, "192.0.2.1"],
    [
      "from a proxy over a socket for IPv6 the one in the header",
      ["192.0.2.1"],
      "::ffff:192.0.2.1",
      "::FFFF:203.0.113.1",
      "203.0.113.1",
    ],
    ["from a proxy with IPv6 the one in the header", ["2001:db8::/32"], "2001:db8::9", "2001:db9::1", "2001:db9::1"],
    [
      "from beside a network of IPv6 the connection's own",
      ["2001:db8::/32"],
      "2001:db9::9",
      "203.0.113.1",
      "2001:db9::9",
    ],
    [
      "through proxies of both kinds the last one before them",
      ["::1", "10.0.0.0/8"],
      "::1",
      "203.0.113.1, 10.255.0.1",
      "203.0.113.1",
    ],
    ["without its port", ["192.0.2.1"], "192.0.2.1", "203.0.113.1:5678", "203.0.113.1"],
    ["without brackets and port", ["192.0.2.1"], "192.0.2.1", "[2001:DB8:0::1]:5678", "2001:db8::1"],
    ["without its zone", ["192.0.2.1"], "192.0.2.1", "fe80::1%1", "fe80::1"],
    ["without the zone of the connection", [], "fe80::1%eth0", "203.0.113.1", "fe80::1"],
    ["not looked for in what a stranger sends", ["192.0.2.1"], "198.51.100.1", "[::%%]:x, fe80::1%1", "198.51.100.1"],
    ["from beyond a network the connection's own", ["10.0.0.0/8"], "11.0.0.1", "203.0.113.1", "11.0.0.1"],
    ["with everybody trusted the first one", ["0.0.0.0/0"], "192.0.2.1", "203.0.113.1, 198.51.100.1", "203.0.113.1"],
  ] as const
) {
  Deno.test(`the client's address is ${what}`, () => {
    expect(behindProxies(proxies)(connection, header)).toBe(client);
  });
}

for (
  const proxy of [
    "",
    "proxy.example",
    "10.0.0",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "10.0.0.0/1e1",
    "::/129",
    "*",
  ]
) {
  Deno.test(`${JSON.stringify(proxy)} is no proxy to trust`, () => {
    const refused = expect(() => behindProxies(["10.0.0.1", proxy]));
    refused.toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining("--trust-proxy takes") }),
    );
  });
}
