/** Runs the load generator `wrk`, and writes the Lua scripts that define its requests. */
import type { RunningServer } from "./running_server.ts";

const CONNECTIONS = 16;

/** The length of a round in seconds. */
export const ROUND = 3;

/** A server to measure, and the requests to send. */
export interface Subject extends RunningServer {
  readonly title: string;
  /** The path of a script for wrk. */
  readonly script: string;
  /** Whether the server should refuse all requests. */
  readonly isRefused?: boolean;
}

/** The result of a run of wrk. */
export interface Load {
  readonly perSecond: number;
  readonly count: number;
  /** The processor time that the server used for each request, in microseconds. NaN if `/proc` is not available. */
  readonly cpu: number;
  /** Percentiles of the time to a response, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Sends requests for the given number of seconds.
 *
 * @throws {Error} with the output of wrk, if the server answers a request with an unexpected status
 */
export async function runWrk({ url, script, title, pid, isRefused = false }: Subject, seconds: number): Promise<Load> {
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "--latency", "-s", script, url];
  const before = await processorTime(pid);
  const { stdout, success } = await new Deno.Command("wrk", { args }).output();
  const used = await processorTime(pid) - before;
  const output = new TextDecoder().decode(stdout);
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(output) ?? [];
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0);
  if (!success || perSecond === undefined || refused !== (isRefused ? count : 0)) {
    throw new Error(`${title}: ${output}`);
  }
  return {
    perSecond: Number(perSecond),
    count,
    cpu: used / count,
    p50: percentile(output, 50),
    p99: percentile(output, 99),
  };
}

/** The length of a clock tick in `/proc` on Linux, in microseconds. */
const TICK = 10_000;

/** Returns the processor time that a process has used, in microseconds. */
async function processorTime(pid: number): Promise<number> {
  // Deno itself reads `/proc` only with all permissions.
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/stat`], stderr: "null" }).output();
  const stat = new TextDecoder().decode(stdout);
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13);
  return (Number(user ?? NaN) + Number(system ?? NaN)) * TICK;
}

/** Returns a percentile of the latency that wrk prints, in milliseconds. */
function percentile(output: string, percent: number): number {
  const [, value, unit] = new RegExp(`\\s${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(output) ?? [];
  return Number(value) * (unit === "us" ? 1e-3 : unit === "ms" ? 1 : 1e3);
}

/** Writes a script that sends a GET request with a key. Returns the path of the script. */
export function writeGetScript(path: string, url: string, key: string): string {
  Deno.writeTextFileSync(path, `wrk.path = "${url}"\nwrk.headers["Authorization"] = "Bearer ${key}"`);
  return path;
}

/** Writes a script that introspects the key that it also authenticates with. Returns the path of the script. */
export function writeIntrospectScript(path: string, key: string): string {
  Deno.writeTextFileSync(
    path,
    `wrk.method = "POST"
wrk.path = "/introspect"
wrk.body = "token=${key}"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
wrk.headers["Authorization"] = "Bearer ${key}"`,
  );
  return path;
}

/** Writes a script that queries `me`. Returns the path of the script. */
export function writeMeScript(path: string, key: string): string {
  Deno.writeTextFileSync(
    path,
    `wrk.method = "POST"
wrk.body = '{"query":"{ me { id name } }"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${key}"`,
  );
  return path;
}

/** Writes a script that creates keys, each with a different name. Returns the path of the script. */
export function writeCreateScript(path: string, key: string): string {
  Deno.writeTextFileSync(
    path,
    `local n, run = 0, os.time()
local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer ${key}" }
local query = "mutation($i: CreateApiKeyInput!) { apiKey { create(input: $i) { id key name } } }"
function request()
  n = n + 1
  return wrk.format("POST", nil, headers, '{"query":"' .. query .. '","variables":{"i":{"name":"bench ' .. run .. " " .. n
    .. '","permissions":[{"resource":"DOCKER","actions":["READ_ANY"]}]}}}')
end
function response(status, _, body)
  if not body:find('"sak_', 1, true) then print(status, body) os.exit(1) end
end`,
  );
  return path;
}
