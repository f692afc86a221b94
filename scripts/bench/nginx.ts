/** Runs nginx with one worker, for benchmarks. */
import { freePort } from "../../tests/free_port.ts";
import type { RunningServer } from "./running_server.ts";

/**
 * Serves a small file at `/open/` and, only to clients with a valid key, at `/guarded/`.
 *
 * @param gate the URL of a running `serve`
 * @returns `undefined` if nginx is not installed
 * @throws {Error} if nginx does not start
 */
export async function startNginx(directory: string, gate: string): Promise<RunningServer | undefined> {
  const port = freePort();
  await Deno.mkdir(`${directory}/files`, { recursive: true });
  await Deno.chmod(directory, 0o755);
  await Deno.writeTextFile(`${directory}/files/index.html`, "ok\n");
  await Deno.writeTextFile(`${directory}/nginx.conf`, configuration(directory, port, new URL(gate).host));
  const args = ["-p", directory, "-c", "nginx.conf", "-e", "error.log"];
  let process: Deno.ChildProcess;
  try {
    process = new Deno.Command("nginx", { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const url = `http://127.0.0.1:${port}/open/`;
  await waitUntilReady(url, 50);
  return {
    url,
    pid: process.pid,
    stop: async () => {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/** Without a master process, the processor time of the process is that of the worker. */
function configuration(directory: string, port: number, gate: string): string {
  return `
daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 1000000000;
  upstream gate { server ${gate}; keepalive 16; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location /open/ { alias ${directory}/files/; }
    location /guarded/ { auth_request /gate; alias ${directory}/files/; }
    location = /gate {
      internal;
      proxy_pass http://gate/verify;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }
  }
}
`;
}

async function waitUntilReady(url: string, attempts: number): Promise<void> {
  try {
    await (await fetch(url)).body?.cancel();
  } catch (error) {
    if (attempts === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
    await waitUntilReady(url, attempts - 1);
  }
}
