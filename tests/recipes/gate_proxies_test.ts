/** `gate/nginx.conf` and `gate/Caddyfile`: a real nginx and a real Caddy between clients, a service and the gate. */
import { expect } from "expect";
import { until } from "../server/until.ts";
import { CADDY, type GuardedService, NGINX, type Received, testProxy } from "./guarded_service.ts";

const READ = "ORDERS:READ_ANY";
const UPDATE = "ORDERS:UPDATE_ANY";

type Headers = Readonly<Record<string, string>>;

await testProxy(NGINX, (service) => {
  registerRules("nginx", service);

  Deno.test("if a client sends two keys, nginx asks the gate only about the bearer key", async () => {
    const { id, key } = await service.keyWith(READ);
    const { status, received } = await outcome(service, "/", { authorization: `bearer ${key}`, "x-api-key": "other" });
    expect([status, received.map(identity)]).toEqual([200, [[["x-api-key-id", id], [
      "x-api-key-name",
      expect.any(String),
    ]]]]);
  });

  Deno.test("if the gate is down, nginx answers 500 and the service gets nothing", async () => {
    expect(await whileDown(service)).toMatchObject({ status: 500, received: [] });
  });
});

await testProxy(CADDY, (service) => {
  registerRules("Caddy", service);

  Deno.test("if the gate is down, Caddy answers 502 and the service gets nothing", async () => {
    expect(await whileDown(service)).toMatchObject({ status: 502, received: [] });
  });
});

function registerRules(name: string, service: GuardedService): void {
  const { url, gate, keyWith } = service;

  Deno.test(`${name} passes on requests with a key in either header, and says whose key it is`, async () => {
    const { id, key, name: keyName } = await keyWith(READ);
    const said = [["x-api-key-id", id], ["x-api-key-name", encodeURIComponent(keyName)]];
    // The service does not get the key itself.
    for (const headers of [bearer(key), { "x-api-key": key }, { "x-api-key": key, authorization: "Basic abc" }]) {
      // deno-lint-ignore no-await-in-loop -- `outcome` counts the requests between two calls
      const { status, received } = await outcome(service, "/orders/1?page=2", headers);
      expect([status, received.map(({ target }) => target), received.map(identity)])
        .toEqual([200, ["/orders/1?page=2"], [said]]);
    }
  });

  Deno.test(`clients of ${name} cannot send the headers that say whose key it is`, async () => {
    const { id, key, name: keyName } = await keyWith(READ);
    const forged = ["X-Api-Key-Id", "X-Api-Key-Name", "X_Api_Key_Id", "X-Api_Key-Name"].map((name) => [name, "forged"]);
    const { received } = await outcome(service, "/", { ...bearer(key), ...Object.fromEntries(forged) });
    expect(received.map(identity)).toEqual([[["x-api-key-id", id], ["x-api-key-name", encodeURIComponent(keyName)]]]);
  });

  Deno.test(`${name} answers 401 with the challenge of the gate if a request has no valid key`, async () => {
    const none = await outcome(service, "/");
    expect(none).toEqual({ status: 401, challenge: 'Bearer realm="service-api"', received: [] });
    const wrong = await outcome(service, "/", { "x-api-key": "wrong" });
    expect(wrong).toMatchObject({ status: 401, challenge: expect.stringContaining('"invalid_token"'), received: [] });
  });

  Deno.test(`${name} answers 403 with the permission that a key lacks`, async () => {
    const { key } = await keyWith("LOGS:READ_ANY");
    expect(await outcome(service, "/", bearer(key))).toEqual({
      status: 403,
      challenge: `Bearer realm="service-api", error="insufficient_scope", scope="${READ}"`,
      received: [],
    });
  });

  Deno.test(`${name} requires other permissions for other methods and paths`, async () => {
    const [reader, updater, other] = await Promise.all([READ, UPDATE, "LOGS:READ_ANY"].map((need) => keyWith(need)));
    const statuses = async (key: string | undefined, requests: readonly string[]): Promise<readonly number[]> =>
      await Promise.all(requests.map(async (request) => {
        const [method = "", path = ""] = request.split(" ");
        return (await service.send(path, bearer(key ?? ""), { method })).status;
      }));
    const requests = ["GET /orders", "HEAD /orders", "POST /orders", "OPTIONS /orders", "GET /status", "GET /status/1"];
    expect(await statuses(reader?.key, requests)).toEqual([200, 200, 403, 403, 200, 200]);
    expect(await statuses(updater?.key, requests)).toEqual([403, 403, 200, 200, 200, 403]);
    expect(await statuses(other?.key, requests)).toEqual([403, 403, 403, 403, 200, 403]);
  });

  Deno.test(`a path that ${name} reads as /status reaches the service only as /status`, async () => {
    const { key } = await keyWith("LOGS:READ_ANY");
    const paths = ["/x/..%2fstatus", "//status", "/%73tatus", "/orders/..%2f..%2fstatus", "/status/..;/orders"];
    const others = [
      "/status%2f..%2forders",
      "/orders%2f..%2fstatus",
      "/orders/..;/status",
      "/status;/orders",
      "/STATUS",
    ];
    service.received.length = 0;
    await Promise.all([...paths, ...others].map((path) => service.send(path, bearer(key))));
    const targets = service.received.map(({ target }) => decodeURIComponent(target));
    expect(targets).toEqual(targets.map(() => "/status"));
    expect(targets.length).toBeGreaterThan(2);
  });

  Deno.test(`a WebSocket opens through ${name}`, async () => {
    const { key } = await keyWith(READ);
    const socket = new WebSocket(`${url.replace("http", "ws")}/orders`, { headers: bearer(key) });
    const events: string[] = [];
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => {
      events.push(data);
      socket.close();
    };
    socket.onclose = () => void events.push("closed");
    await until(() => events.includes("closed"));
    expect(events).toEqual(["hello", "closed"]);
  });

  Deno.test(`${name} passes on no protocol other than WebSocket`, async () => {
    const { key } = await keyWith(READ);
    service.received.length = 0;
    const { host, hostname, port } = new URL(url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n${upgrade}\r\n`;
    await connection.write(new TextEncoder().encode(request));
    await until(() => service.received.length > 0);
    expect(service.received.map(({ headers }) => headers.get("upgrade"))).toEqual([null]);
  });

  Deno.test(`${name} sends the gate no part of an upload of 100 MB`, async () => {
    const { key } = await keyWith(UPDATE);
    gate.takeSent();
    const body = new Uint8Array(100_000_000);
    const { status, received } = await outcome(service, "/orders", bearer(key), { method: "POST", body });
    expect([status, received.map(({ size }) => size)]).toEqual([200, [100_000_000]]);
    const sent = gate.takeSent();
    expect(sent).toMatch(/^GET \/verify\/\S+ HTTP\/1\.1\r\n(.+\r\n)+\r\n$/);
    expect(sent).not.toMatch(/content-length|transfer-encoding/i);
  });
}

function bearer(key: string): Headers {
  return { authorization: `Bearer ${key}` };
}

/** Sends a request, and returns its response and what reached the service. */
async function outcome(
  service: GuardedService,
  path: string,
  headers: Headers = {},
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly challenge: string | null; readonly received: readonly Received[] }> {
  service.received.length = 0;
  const response = await service.send(path, headers, init);
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate"),
    received: service.received.splice(0),
  };
}

/** The headers about keys with which a request reached the service. */
function identity({ headers }: Received): readonly (readonly [string, string])[] {
  return [...headers].filter(([name]) => /key|auth/.test(name));
}

/** Sends a request with a valid key while the gate is down, and then while it is up. */
async function whileDown(service: GuardedService): ReturnType<typeof outcome> {
  const { key } = await service.keyWith(READ);
  service.gate.stop();
  try {
    return await outcome(service, "/orders", bearer(key));
  } finally {
    service.gate.start();
    expect(await outcome(service, "/orders", bearer(key))).toMatchObject({ status: 200 });
  }
}
