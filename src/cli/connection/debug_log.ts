/**
 * What `LOG_LEVEL=debug` shows of a connection: the settings in effect, the server or store, and each request. It is loaded
 * only then.
 */
import * as z from "zod/mini";
import type { Endpoint } from "../../client/endpoint.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { EffectiveSettings } from "./effective_settings.ts";
import { settingRows } from "./setting_rows.ts";
import type { Settings } from "./settings.ts";
import { describePlace } from "./target.ts";

/** Logs every setting that has a value, and then what the command uses. The settings must be valid. */
export function logSettings(effective: EffectiveSettings, settings: Settings, host: Host, log: Log): void {
  for (const { name, value, from, source, ignored } of settingRows(effective, effective.key, host)) {
    // `readEffectiveSettings` logs the ignored settings.
    if (value === null || ignored !== undefined) continue;
    log.debug("Setting {name}: {value} ({from})", { name, value, from: from ?? source });
  }
  log.debug("Target: {place} ({by})", { place: describePlace(settings), by: settings.selectedBy });
}

/**
 * Returns a function that sends requests with `fetch`, and logs each of them and its response.
 *
 * @param clock milliseconds since any time
 */
export function logRequests(
  fetch: Endpoint["fetch"],
  log: Pick<Log, "debug">,
  clock = (): number => performance.now(),
): Endpoint["fetch"] {
  let count = 0;
  return async (request) => {
    const number = ++count;
    const body = await request.clone().text();
    const names = [...request.headers.keys()].join(", ");
    log.debug("Request {number}: {operation}, {length} characters, headers {names}", {
      number,
      operation: operationIn(body),
      length: body.length,
      names,
    });
    const start = clock();
    const duration = (): string => `${(clock() - start).toFixed(1)} ms`;
    try {
      const response = await fetch(request);
      const id = response.headers.get("x-request-id");
      log.debug("Request {number}: status {status} after {duration}{id}", {
        number,
        status: response.status,
        duration: duration(),
        id: id === null ? "" : `, request id ${id}`,
      });
      return response;
    } catch (error) {
      log.debug("Request {number}: no response after {duration}", { number, duration: duration() });
      throw error;
    }
  };
}

/** Returns the kind and the name of the operation in a request body, for example `query ListKeys`. */
function operationIn(body: string): string {
  const { data } = z.safeParse(z.object({ query: z.string() }), parseJson(body));
  if (data === undefined) return "not GraphQL";
  const document = data.query.replaceAll(/#.*/g, "");
  const [, kind = "query", name] = /(?:^|\})\s*(query|mutation|subscription)\b\s*(\w+)?/.exec(document) ?? [];
  return name === undefined ? kind : `${kind} ${name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
