/** Deno's export of OpenTelemetry data. If the program runs from its sources, `OTEL_DENO=true` turns the export on. */
import { expect } from "expect";
import { denoDirectory, fromSources } from "./from_sources.ts";
import { startServe } from "./installations.ts";
import { asProcess } from "./program.ts";

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

Deno.test("OTEL_DENO=true makes serve export spans and metrics of requests and of the store, without secrets", async () => {
  await using collector = startCollector();
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const dataDirectory = { SERVICE_API_DATA_DIR: `${directory}/data` };
  const program = asProcess(Deno.execPath(), fromSources());
  const env = { DENO_DIR: await denoDirectory(), ...dataDirectory };
  const { stdout } = await program(["apikey", "--create", "--name", "a", "--roles", "ADMIN"], { env });
  const secret = stdout.trim();
  // Deno sends the remaining data when the program ends. This test keeps Deno's long default intervals, because with
  // shorter intervals Deno sometimes hangs when the program ends.
  const server = await startServe(Deno.execPath(), [...fromSources(), "serve", "--port", "0"], {
    ...env,
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  try {
    const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
    const answer = await fetch(server.url, { method: "POST", headers, body: '{"query":"{ me { name } }"}' });
    expect(await answer.json()).toEqual({ data: { me: { name: "a" } } });
  } finally {
    expect(await server.stop()).toBe(0);
    await Deno.remove(directory, { recursive: true });
  }
  const received = collector.received();
  for (const word of ["find key by secret", "service_api.store.duration", "http.server.request.duration"]) {
    expect(received).toContain(word);
  }
  expect(received).not.toContain(secret.slice(4));
});
