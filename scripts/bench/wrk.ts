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
}

/**
 * Sends requests for the given number of seconds.
 *
 * @throws {Error} with the output of wrk, if the server answers a request with an error
 */
export async function runWrk(
  { url, script, title }: Subject,
  seconds: number,
): Promise<{ readonly perSecond: number; readonly count: number }> {
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, url];
  const { stdout, success } = await new Deno.Command("wrk", { args }).output();
  const output = new TextDecoder().decode(stdout);
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(output) ?? [];
  const [, count] = /(\d+) requests in/.exec(output) ?? [];
  if (!success || perSecond === undefined || count === undefined || output.includes("Non-2xx")) {
    throw new Error(`${title}: ${output}`);
  }
  return { perSecond: Number(perSecond), count: Number(count) };
}

/** Writes a script that queries `me`. Returns the path of the script. */
export async function writeMeScript(path: string, key: string): Promise<string> {
  await Deno.writeTextFile(
    path,
    `wrk.method = "POST"
wrk.body = '{"query":"{ me { id name } }"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${key}"`,
  );
  return path;
}

/** Writes a script that creates keys, each with a different name. Returns the path of the script. */
export async function writeCreateScript(path: string, key: string): Promise<string> {
  await Deno.writeTextFile(
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
