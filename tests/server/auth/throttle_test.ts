/** The limit on failed authentications from one client address. */
import { expect } from "expect";
import { FailureThrottle } from "../../../src/server/auth/throttle.ts";
import { makeSecret } from "../../../src/apikey/secret.ts";
import { GRAPHQL_URL, LOCAL_ORIGIN, ME, post, send } from "../graphql/graphql.ts";
import { type HttpTest, type HttpTestOptions, withHttp } from "../http/http_server.ts";
import { recordCalls, replaceMethods } from "../replaced_store.ts";

const UNKNOWN_SECRET = makeSecret(new Uint8Array(32).fill(5));

interface Throttled extends HttpTest {
  /** Moves the monotonic clock of the server forward by a duration in milliseconds. */
  readonly pass: (duration: number) => void;
  /** Sends a request with an invalid key and, optionally, an `X-Forwarded-For` header. Returns the status. */
  readonly fail: (forwardedFor?: string) => Promise<number>;
}

/** Runs a test on a server that by default allows three failed authentications per address and minute. */
function withThrottle(
  test: (server: Throttled) => Promise<void>,
  options: HttpTestOptions = {},
): Promise<void> {
  let time = 0;
  return withHttp(
    (server) =>
      test({
        ...server,
        pass: (duration) => void (time += duration),
        fail: async (forwardedFor) =>
          (await post(server.network, ME, {}, "sak_bad", forwardedFor ? { "x-forwarded-for": forwardedFor } : {}))
            .status,
      }),
    { maxAuthFailures: 3, clock: () => time, ...options },
  );
}

/** Calls `act` several times, one call after the other. Returns the statuses. */
async function repeat(count: number, act: () => Promise<number>): Promise<readonly number[]> {
  const statuses: number[] = [];
  // deno-lint-ignore no-await-in-loop -- the order matters
  for (let i = 0; i < count; i++) statuses.push(await act());
  return statuses;
}

Deno.test("After too many failed authentications, an address gets 429 with the number of seconds to wait", () =>
  withThrottle(async ({ fail, network, pass }) => {
    expect(await repeat(3, fail)).toEqual([401, 401, 401]);
    const { status, headers, codes, messages } = await post(network, ME, {}, "sak_bad");
    expect({ status, codes, retryAfter: headers.get("retry-after") }).toEqual({
      status: 429,
      codes: ["RATE_LIMITED"],
      retryAfter: "60",
    });
    expect(messages[0]).toContain("Try again in 60 s.");
    expect(headers.get("cache-control")).toBe("no-store");
    pass(45_500);
    expect((await post(network, ME, {}, "sak_bad")).headers.get("retry-after")).toBe("15");
  }));

Deno.test("A request counts as a failure if it has no key, an invalid key, or an Authorization header without a bearer key", () =>
  withThrottle(async ({ network, fail }) => {
    const get = async (headers: HeadersInit): Promise<number> =>
      (await send(network, new Request(GRAPHQL_URL, { headers }))).status;
    expect([await get({}), await get({ authorization: "Basic abc" }), await fail(), await get({})]).toEqual([
      401,
      401,
      401,
      429,
    ]);
  }));

Deno.test("Invalid and forbidden requests with a valid key do not count as failures", () =>
  withThrottle(async ({ network, create, fail }) => {
    const { key } = await create({ name: "guest", roles: ["GUEST"] });
    const results = await Promise.all(
      ["{", "{ nonsense }", "{ apiKeys { id } }"].map((query) => post(network, query, {}, key)),
    );
    expect(results.map(({ codes }) => codes[0])).toEqual(["USAGE", "USAGE", "FORBIDDEN"]);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
  }));

Deno.test("While an address must wait, every valid key works, whether or not it authenticated before", () =>
  withThrottle(async ({ network, create, fail }) => {
    const [known, fresh] = [
      await create({ name: "known", roles: ["GUEST"] }),
      await create({ name: "fresh", roles: ["GUEST"] }),
    ];
    const use = async ({ key }: { readonly key: string }): Promise<number> => (await post(network, ME, {}, key)).status;
    expect(await use(known)).toBe(200);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
    expect([await use(known), await use(fresh)]).toEqual([200, 200]);
    expect(await fail()).toBe(429);
  }));

Deno.test("While an address must wait, a deleted key and an unknown key get 429", () =>
  withThrottle(async ({ network, create, fail, store }) => {
    const { key, id } = await create({ name: "known", roles: ["GUEST"] });
    expect((await post(network, ME, {}, key)).status).toBe(200);
    await repeat(3, fail);
    await store.remove([id], LOCAL_ORIGIN, () => {});
    const results = [await post(network, ME, {}, key), await post(network, ME, {}, UNKNOWN_SECRET)];
    expect(results.map(({ status, codes }) => [status, codes])).toEqual([[429, ["RATE_LIMITED"]], [429, [
      "RATE_LIMITED",
    ]]]);
  }));

Deno.test("If many requests fail to authenticate at once, the first of them get 401, up to the limit, and the others 429", () => {
  const count = 26;
  const allLookedUp = Promise.withResolvers<void>();
  let waiting = 0;
  return withThrottle(
    async ({ network }) => {
      const results = await Promise.all(
        Array.from({ length: count }, (_, i) => post(network, ME, {}, makeSecret(new Uint8Array(32).fill(i)))),
      );
      const statuses = results.map(({ status }) => status);
      expect(statuses.filter((status) => status === 401)).toHaveLength(20);
      expect(statuses.filter((status) => status === 429)).toHaveLength(6);
    },
    {
      maxAuthFailures: 20,
      wrap: (store) =>
        replaceMethods(store, {
          // Each look-up waits for all others, so that no request fails before the last one has arrived.
          findBySecretHash: async (hash) => {
            if (++waiting === count) allLookedUp.resolve();
            await allLookedUp.promise;
            return await store.findBySecretHash(hash);
          },
        }),
    },
  );
});

Deno.test("Malformed keys cost no look-up in the store", () => {
  const calls: string[] = [];
  return withThrottle(async ({ fail }) => {
    expect(await repeat(5, fail)).toEqual([401, 401, 401, 429, 429]);
    expect(calls).not.toContain("findBySecretHash");
  }, { wrap: (store) => recordCalls(store, calls) });
});

Deno.test("Setting the system clock neither ends nor extends a wait", () => {
  let time = Date.parse("2026-01-01T00:00:00Z");
  return withThrottle(async ({ fail }) => {
    await repeat(3, fail);
    time += 3_600_000;
    expect(await fail()).toBe(429);
    time -= 7_200_000;
    expect(await fail()).toBe(429);
  }, { now: () => new Date(time) });
});

Deno.test("Requests during the wait do not extend the wait, and after the wait the count starts again at 0", () =>
  withThrottle(async ({ fail, pass }) => {
    await repeat(3, fail);
    pass(59_000);
    expect(await repeat(3, fail)).toEqual([429, 429, 429]);
    pass(1000);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
  }));

Deno.test("Failures older than a minute do not count", () =>
  withThrottle(async ({ fail, pass }) => {
    await repeat(2, fail);
    pass(60_000);
    expect(await repeat(4, fail)).toEqual([401, 401, 401, 429]);
  }));

Deno.test("With a limit of 0, an address never has to wait", () =>
  withThrottle(async ({ fail }) => {
    expect(new Set(await repeat(30, fail))).toEqual(new Set([401]));
  }, { maxAuthFailures: 0 }));

Deno.test("Behind a trusted proxy, each client has its own count", () =>
  withThrottle(async ({ fail }) => {
    expect(await repeat(4, () => fail("203.0.113.7"))).toEqual([401, 401, 401, 429]);
    expect(await fail("203.0.113.7, 10.1.2.3")).toBe(429);
    expect(await fail("203.0.113.8")).toBe(401);
  }, { trustedProxies: ["127.0.0.1", "10.0.0.0/8"] }));

Deno.test("IPv6 addresses in the same /64 network share a count, however they are written", () => {
  const throttle = new FailureThrottle(2, () => 0);
  for (const address of ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "::1", "::2"]) {
    expect(throttle.countFailure(address)).toBe(0);
  }
  const mustWait = (address: string): boolean => throttle.countFailure(address) > 0;
  const same = ["2001:db8:1:2::7", "2001:db8:1:2:3::", "2001:db8:1:2:0:0:0:1", "::9", "0:0:0:0:1::"];
  expect(same.filter((address) => !mustWait(address))).toEqual([]);
  const others = ["2001:db8:1:3::1", "2001:db8:1::2", "2001:db8::1:2", "2001:db8:1:20::1"];
  expect(others.filter(mustWait)).toEqual([]);
});

Deno.test("The local caller, who has no address, never waits", () => {
  const throttle = new FailureThrottle(1, () => 0);
  expect([throttle.countFailure(null), throttle.countFailure(null)]).toEqual([0, 0]);
});

Deno.test("With more than 100,000 addresses, the address whose count started first is forgotten", () => {
  const throttle = new FailureThrottle(1, () => 0);
  for (let i = 0; i < 100_001; i++) throttle.countFailure(`10.${i >> 16}.${i >> 8 & 255}.${i & 255}`);
  // Asks for the forgotten address last: counting it makes the throttle forget another address.
  const waits = ["10.1.134.160", "10.0.0.1", "10.0.0.0"].map((address) => throttle.countFailure(address));
  expect(waits).toEqual([60, 60, 0]);
});
