/** The metrics of `serve --metrics-port`, read over HTTP. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { makeSecret } from "../../../src/apikey/secret.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { outcomeOf } from "../../execute.ts";
import { SERVER_README } from "../../readme.ts";
import { addAll } from "../../store/changes.ts";
import { newKey, newKeyWithSecret } from "../../store/stored_key.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import { testWith } from "../../tools.ts";
import { replaceMethods } from "../replaced_store.ts";
import { startHttp, statusOf, withHttp } from "./http_server.ts";

/** Serves metrics on a free port. */
const MEASURED = { metrics: { hostname: "127.0.0.1", port: 0 } };

/** Reads the lines of the page that have values. */
async function readMetrics(url: string): Promise<readonly string[]> {
  const response = await fetch(url);
  return (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

/** Returns the values of a metric other than 0, by its labels. */
async function valuesOf(name: string, url: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await readMetrics(url)).map((line) => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []);
  const values = lines.filter(([, metric]) => metric === name).map((
    [, , labels = "", value],
  ) => [labels, Number(value)]);
  return Object.fromEntries(values.filter(([, value]) => value !== 0));
}

Deno.test("The metrics count requests by route and status, and all unknown paths have the same route", () =>
  withHttp(async ({ at, metricsUrl }) => {
    for (const path of ["/healthz", "/healthz?a=b", "/graphql", "/verify", "/verify/any/orders/7", "/orders", "/a/b"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      await statusOf(at(path));
    }
    expect(await valuesOf("service_api_http_requests_total", metricsUrl)).toEqual({
      'route="/healthz",status="200"': 2,
      'route="/graphql",status="401"': 1,
      'route="/verify",status="401"': 2,
      'route="other",status="404"': 2,
    });
    expect(await valuesOf("service_api_http_request_duration_seconds_count", metricsUrl)).toEqual({
      'route="/healthz"': 2,
      'route="/graphql"': 1,
      'route="/verify"': 2,
      'route="other"': 2,
    });
  }, MEASURED));

Deno.test("The metrics count the checks of keys at /verify by outcome", () =>
  withHttp(async ({ at, store, metricsUrl }) => {
    const past = new Date(Date.now() - 1000);
    const made = await Promise.all([
      newKeyWithSecret("valid"),
      newKeyWithSecret("disabled", { enabled: false, expiresAt: past }),
      newKeyWithSecret("expired", { expiresAt: past }),
      newKeyWithSecret("previous"),
    ]);
    const [valid, disabled, expired, previous] = made;
    const rotated = await newKey("rotated", { previousSecretHash: previous.key.secretHash });
    await addAll(store, [valid.key, disabled.key, expired.key, rotated]);
    const ask = (secret: string | undefined, path = "/verify"): Promise<number> =>
      statusOf(at(path), { headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` } });
    const statuses = await Promise.all([
      ask(valid.secret),
      ask(valid.secret, "/verify/any/orders"),
      ask(undefined),
      ask("typo"),
      ask(makeSecret(new Uint8Array(32))),
      ask(disabled.secret),
      ask(expired.secret),
      ask(previous.secret),
      ask(valid.secret, "/verify?can=DOCKER:READ_ANY"),
      ask(valid.secret, "/verify?can=DOCKER"),
    ]);
    expect(statuses).toEqual([204, 200, 401, 401, 401, 401, 401, 401, 403, 400]);
    expect(await valuesOf("service_api_verifications_total", metricsUrl)).toEqual({
      'outcome="valid"': 2,
      'outcome="missing_key"': 1,
      'outcome="mistyped"': 1,
      'outcome="unknown"': 1,
      'outcome="disabled"': 1,
      'outcome="expired"': 1,
      'outcome="rotated"': 1,
      'outcome="insufficient_scope"': 1,
      'outcome="invalid_request"': 1,
    });
    expect(await valuesOf("service_api_keys", metricsUrl)).toEqual({
      'state="active"': 2,
      'state="disabled"': 1,
      'state="expired"': 1,
    });
  }, MEASURED));

Deno.test("The metrics contain no names, ids or secrets of keys, and no addresses, paths or methods of clients", () =>
  withHttp(async ({ at, create, metricsUrl }) => {
    const { id, key, name } = await create({ name: "Peculiar", roles: ["ADMIN"] });
    const headers = { authorization: `Bearer ${key}`, "x-api-key-name": name };
    for (const path of ["/verify", `/verify/any/${name}/${key}`, `/${name}`, `/${id}`, "/graphql?query={me{name}}"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      await statusOf(at(path), { headers, method: path === "/verify" ? "BREW" : "GET" });
    }
    const page = await (await fetch(metricsUrl)).text();
    expect(page).toContain('route="/graphql",status="200"');
    for (const word of [name, id, key.slice(4, 20), "127.0.0.1", "BREW"]) expect(page).not.toContain(word);
  }, MEASURED));

Deno.test("If the store does not respond, the metrics say so and keep the last numbers of keys", async () => {
  let isGone = false;
  const fail = <Result>(act: () => Promise<Result>): Promise<Result> =>
    isGone ? Promise.reject(new Failure("UNREACHABLE", "The store is gone.")) : act();
  await withHttp(async ({ at, create, metricsUrl }) => {
    await create({ name: "one", roles: ["GUEST"] });
    expect(await valuesOf("service_api_store_up", metricsUrl)).toEqual({ "": 1 });
    isGone = true;
    const headers = { authorization: `Bearer ${makeSecret(new Uint8Array(32))}` };
    expect(await statusOf(at("/verify"), { headers })).toBe(503);
    // The server asks the store at most once per second.
    const deadline = Date.now() + 20_000;
    // deno-lint-ignore no-await-in-loop -- polls
    while ((await valuesOf("service_api_store_up", metricsUrl))[""] === 1 && Date.now() < deadline);
    expect(await readMetrics(metricsUrl)).toEqual(
      expect.arrayContaining([
        "service_api_store_up 0",
        'service_api_keys{state="active"} 1',
        'service_api_verifications_total{outcome="unavailable"} 1',
      ]),
    );
  }, {
    ...MEASURED,
    wrap: (store) =>
      replaceMethods(store, {
        checkHealth: () => fail(() => store.checkHealth()),
        countKeys: () => fail(() => store.countKeys()),
        findBySecretHash: (hash) => fail(() => store.findBySecretHash(hash)),
      }),
  });
});

Deno.test("The metrics measure operations of the store", () =>
  withHttp(async ({ at, create, metricsUrl }) => {
    const { key } = await create({ name: "one", roles: ["GUEST"] });
    for (let i = 0; i < 3; i++) {
      // deno-lint-ignore no-await-in-loop -- one after the other
      await statusOf(at("/verify"), { headers: { "x-api-key": key } });
    }
    expect(await valuesOf("service_api_store_operation_duration_seconds_count", metricsUrl)).toMatchObject({
      'operation="find key by secret"': 3,
      'operation="find key by id"': 1,
    });
  }, MEASURED));

Deno.test("The port of the metrics answers only GET and HEAD for /metrics, and the public port has no metrics", () =>
  withHttp(async ({ at, metricsUrl }) => {
    const { status, headers, body } = await fetch(metricsUrl);
    await body?.cancel();
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    const statuses = await Promise.all([
      statusOf(metricsUrl, { method: "HEAD" }),
      statusOf(`${metricsUrl}?a=b`),
      statusOf(metricsUrl, { method: "POST" }),
      statusOf(new URL("/graphql", metricsUrl)),
      statusOf(new URL("/verify", metricsUrl)),
      statusOf(at("/metrics")),
    ]);
    expect(statuses).toEqual([200, 200, 405, 404, 404, 404]);
  }, MEASURED));

Deno.test("If the server cannot listen on its public port, it does not keep the port of the metrics either", () =>
  withHttp(({ url }) =>
    inTemporaryDirectory(async (directory) => {
      const store = await openSqliteStore({ directory, busyTimeout: 5000 });
      const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = free.addr;
      free.close();
      const metrics = { hostname: "127.0.0.1", port };
      await expect(startHttp(store, { port: Number(new URL(url).port), metrics })).rejects.toThrow(
        "Choose another --host or --port.",
      );
      Deno.listen(metrics).close();
      await store.close();
    })
  ));

testWith(["promtool"], "promtool accepts the metrics", () =>
  withHttp(async ({ at, store, metricsUrl }) => {
    await addAll(store, [await newKey("expiring", { expiresAt: new Date(Date.now() + 60_000) })]);
    await Promise.all(["/graphql", "/verify", "/x"].map((path) => statusOf(at(path))));
    const page = await (await fetch(metricsUrl)).text();
    expect(page).toMatch(/^service_api_next_key_expiry_seconds [\d.]+$/m);
    const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    const promtool = new Deno.Command("promtool", { args: ["check", "metrics"], ...streams }).spawn();
    expect(await outcomeOf(promtool, page)).toEqual({ code: 0, stdout: "", stderr: "" });
  }, MEASURED));

Deno.test("src/server/README.md describes every metric", () =>
  withHttp(async ({ metricsUrl }) => {
    const types = (await (await fetch(metricsUrl)).text()).matchAll(/^# TYPE (\S+) (\S+)$/gm);
    const [, section = ""] = SERVER_README.split("\n### Metrics\n");
    const rows = section.matchAll(/^\| `(\w+)` +\| (counter|gauge|histogram) .*$/gm);
    const described = [...rows].filter(([row]) => !row.includes("Only on PostgreSQL"));
    expect(described.map(([, name, type]) => [name, type]).toSorted())
      .toEqual([...types].map(([, name, type]) => [name, type]).toSorted());
  }, MEASURED));
