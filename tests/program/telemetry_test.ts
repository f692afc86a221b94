/** OpenTelemetry from Deno: on if the program runs from its sources with `OTEL_DENO=true`. */
import { expect } from "expect";
import { until } from "../server/until.ts";
import { fromSources } from "./from_sources.ts";
import { readyLine } from "./installations.ts";

/** A collector for OTLP over HTTP that records the request bodies as text. */
function startCollector(): { readonly url: string; readonly received: () => string } & AsyncDisposable {
  const bodies: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    bodies.push(await request.text());
    return Response.json({});
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received: () => bodies.join("\n"),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("with OTEL_DENO=true the server sends spans and metrics of requests and of the store, without secrets", async () => {
  await using collector = startCollector();
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const args = fromSources();
  const env = {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: "200",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    SERVICE_API_DATA_DIR: `${directory}/data`,
  };
  const made = await new Deno.Command(Deno.execPath(), {
    args: [...args, "apikey", "--create", "--name", "a", "--roles", "ADMIN"],
    env: { SERVICE_API_DATA_DIR: env.SERVICE_API_DATA_DIR },
  }).output();
  const secret = new TextDecoder().decode(made.stdout).trim();
  const server = new Deno.Command(Deno.execPath(), {
    args: [...args, "serve", "--port", "0"],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const { url, drained } = await readyLine(server.stdout);
  try {
    const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
    const answer = await fetch(url, { method: "POST", headers, body: '{"query":"{ me { name } }"}' });
    expect(await answer.json()).toEqual({ data: { me: { name: "a" } } });
    for (const word of ["find key by secret", "service_api.store.duration", "http.server.request.duration"]) {
      // deno-lint-ignore no-await-in-loop -- waits for one word at a time
      await until(() => collector.received().includes(word));
    }
    expect(collector.received()).not.toContain(secret.slice(4));
  } finally {
    server.kill("SIGTERM");
    await server.status;
    await drained();
    await Deno.remove(directory, { recursive: true });
  }
});
