/** A gate, a service, and the proxy between them that a recipe configures. All listen on free ports of 127.0.0.1. */
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { freePort } from "../free_port.ts";
import { type ApiKey, LOCAL_ORIGIN, serverOver } from "../server/graphql/graphql.ts";
import { startHttp } from "../server/http/http_server.ts";
import { until } from "../server/until.ts";
import { findProgram, notInstalled } from "../tools.ts";
import { Relay } from "./relay.ts";
import { RECIPES } from "./workspace.ts";

export interface GuardedService {
  /** The origin of the proxy. */
  readonly url: string;
  /** What the proxy sends to the gate. */
  readonly gate: Relay;
  /** Creates a key with only these permissions. */
  readonly keyWith: (...permissions: readonly string[]) => Promise<ApiKey>;
  /** The requests that reached the service. */
  readonly received: Received[];
  /** Sends a request to the proxy and discards the body of the response. */
  send(path: string, headers?: Readonly<Record<string, string>>, init?: RequestInit): Promise<Response>;
}

/** A request that reached the service. */
export interface Received {
  readonly method: string;
  /** The path and the query. */
  readonly target: string;
  readonly headers: Headers;
  /** The size of the body in bytes. */
  readonly size: number;
}

export interface Proxy {
  readonly program: string;
  /** The path of the recipe, relative to `RECIPES`. */
  readonly recipe: string;
  /**
   * Writes the configuration files and returns the arguments of the program.
   *
   * @param recipe the text of the recipe, with the ports of the gate and the service
   * @param port the port that the proxy must listen on
   */
  readonly configure: (directory: string, recipe: string, port: number) => Promise<readonly string[]>;
}

/**
 * An `nginx.conf` for any user. If the user is root, the workers also run as root, because no other user can read the
 * temporary directory.
 *
 * @param files the files of recipes
 */
export function nginxConfiguration(files: string): string {
  return `user root;
daemon off;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path temporary;
    proxy_temp_path temporary;
    fastcgi_temp_path temporary;
    uwsgi_temp_path temporary;
    scgi_temp_path temporary;
    include ${files};
}
`;
}

export const NGINX: Proxy = {
  program: "nginx",
  recipe: "gate/nginx.conf",
  configure: async (directory, recipe, port) => {
    await Deno.writeTextFile(`${directory}/orders.conf`, recipe.replace("127.0.0.1:8080", `127.0.0.1:${port}`));
    await Deno.writeTextFile(`${directory}/nginx.conf`, nginxConfiguration("orders.conf"));
    return ["-p", directory, "-c", `${directory}/nginx.conf`, "-e", `${directory}/error.log`];
  },
};

export const CADDY: Proxy = {
  program: "caddy",
  recipe: "gate/Caddyfile",
  configure: async (directory, recipe, port) => {
    const site = recipe.replace("orders.example.com", `http://127.0.0.1:${port}`);
    await Deno.writeTextFile(`${directory}/Caddyfile`, `{\n\tadmin off\n}\n${site}`);
    return ["run", "--config", `${directory}/Caddyfile`, "--adapter", "caddyfile"];
  },
};

/** Registers tests that share a proxy. If its program is missing, registers one ignored test. */
export async function testProxy(proxy: Proxy, register: (service: GuardedService) => void): Promise<void> {
  const program = findProgram(proxy.program);
  if (program === undefined) {
    Deno.test.ignore(`${proxy.recipe} guards a service (skipped: ${notInstalled([proxy.program])})`, () => {});
    return;
  }
  const directory = await Deno.makeTempDir({ prefix: "service-api-proxy-" });
  const store = await openSqliteStore({ directory, busyTimeout: 5000 });
  await store.addResource({ name: "ORDERS", description: null }, LOCAL_ORIGIN, () => {});
  const server = await startHttp(store);
  const gate = new Relay(Number(new URL(server.url).port));
  const received: Received[] = [];
  const service = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => answer(request, received),
  );
  const recipe = (await Deno.readTextFile(`${RECIPES}/${proxy.recipe}`))
    .replace("127.0.0.1:4000", `127.0.0.1:${gate.port}`)
    .replace("127.0.0.1:3000", `127.0.0.1:${service.addr.port}`);
  const port = freePort();
  const running = await startProgram(
    program,
    await proxy.configure(directory, recipe, port),
    directory,
    () => accepts(port),
  );
  const url = `http://127.0.0.1:${port}`;
  register({
    url,
    gate,
    keyWith: serverOver(store).keyWith,
    received,
    send: async (path, headers = {}, init = {}) => {
      const response = await fetch(`${url}${path}`, { headers, ...init });
      await response.body?.cancel();
      return response;
    },
  });
  Deno.test.afterAll(async () => {
    await running.stop();
    gate.stop();
    await service.shutdown();
    await server.stop(1000);
    await Deno.remove(directory, { recursive: true });
  });
}

/** The service: records each request, and echoes the messages of WebSockets. */
async function answer(request: Request, received: Received[]): Promise<Response> {
  const { method, url, headers } = request;
  let size = 0;
  for await (const chunk of request.body ?? []) size += chunk.length;
  received.push({ method, target: url.slice(new URL(url).origin.length), headers, size });
  if (headers.get("upgrade") !== "websocket") return new Response("the service\n");
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

/** Ends the program when the standard input of the shell ends, so that it also ends if the test process is killed. */
const WHILE_INPUT = '"$@" >output 2>&1 & cat >/dev/null; kill $!; wait $!';

/**
 * Starts a server in a directory, which is also its home.
 *
 * @returns a function that stops the server
 * @throws {Error} if the server is not ready within 20 s
 */
export async function startProgram(
  program: string,
  args: readonly string[],
  directory: string,
  isReady: () => Promise<boolean>,
): Promise<{ readonly stop: () => Promise<void> }> {
  const shell = new Deno.Command("sh", {
    args: ["-c", WHILE_INPUT, "sh", program, ...args],
    cwd: directory,
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: directory },
    clearEnv: true,
    stdin: "piped",
    stdout: "null",
  }).spawn();
  const stop = async (): Promise<void> => {
    await shell.stdin.close();
    await shell.status;
  };
  try {
    await until(isReady);
  } catch (error) {
    await stop();
    throw new Error(await Deno.readTextFile(`${directory}/output`), { cause: error });
  }
  return { stop };
}

function accepts(port: number): Promise<boolean> {
  return Deno.connect({ hostname: "127.0.0.1", port }).then((connection) => {
    connection.close();
    return true;
  }, () => false);
}
