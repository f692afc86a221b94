/** The executable in a container without a shell, home directory or passwd entry, on a read-only root file system. */
import { expect } from "expect";
import { parse } from "yaml";
import deno from "../../deno.json" with { type: "json" };
import { startServer } from "../client/foreign_server.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { command } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { asProcess, inProcess } from "../program/program.ts";
import { openTerminal } from "../program/terminal.ts";
import { sectionOf, textsIn } from "../readme.ts";
import { missingPrograms, notInstalled } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import {
  createContainer,
  createRoot,
  IMAGE,
  runContainer,
  type RunOptions,
  signalProcess1,
  startContainer,
  whyNoContainers,
} from "./container.ts";

const build = await buildExecutable();
const reason = build.kind === "not built" ? build.reason : await whyNoContainers();
const directory = await Deno.makeTempDir({ prefix: "service-api-image-" });
const root = build.kind === "built" && reason === undefined ? await createRoot(directory, build.path) : "";
Deno.test.afterAll(() => Deno.remove(directory, { recursive: true }));

/** Registers a test with a directory for its mounts, or a skipped test whose name says why it cannot run. */
function testInContainer(rule: string, test: (directory: string) => Promise<void>, missing = reason): void {
  const name = `in a container: ${rule}`;
  if (missing === undefined) Deno.test(name, () => inTemporaryDirectory(test));
  else Deno.test.ignore(`${name} (skipped: ${missing})`, () => {});
}

/** Creates a volume for `/data`. Like a container engine, copies the owner and the mode of `/data` in the image. */
async function volume(directory: string): Promise<RunOptions> {
  await command("cp", ["-a", `${root}/data`, `${directory}/volume`]);
  return { mounts: [{ source: `${directory}/volume`, target: "/data" }] };
}

/** A file that only one user can read, by default the user of the image. */
async function secretFile(directory: string, text: string, owner = "65532"): Promise<string> {
  const path = await Deno.makeTempFile({ dir: directory, prefix: "secret-" });
  await Deno.writeTextFile(path, text);
  await Deno.chmod(path, 0o400);
  await command("chown", [`${owner}:${owner}`, path]);
  return path;
}

/** Makes `serve` listen on loopback and on a free port, because the containers share the network of the tests. */
function onFreePort(args: readonly string[]): readonly string[] {
  return [...args.map((word) => word === "0.0.0.0" ? "127.0.0.1" : word), "--port", "0"];
}

const create = (name: string, role: string): readonly string[] => [
  ...["apikey", "--create", "--name", name],
  ...["--roles", role],
];
const CREATE = create("new", "GUEST");

for (const [state, options] of [["empty", {}], ["closed", { stdin: "closed" }]] as const) {
  testInContainer(`--version and --help work with ${state} standard input`, async () => {
    const version = await runContainer(root, ["--version"], options);
    expect(version).toEqual({ code: 0, stdout: expect.stringContaining(`service-api ${deno.version}`), stderr: "" });
    const help = await runContainer(root, ["apikey", "--help"], options);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: service-api apikey/), stderr: "" });
  });

  testInContainer(`a command that would prompt is a usage error with ${state} standard input`, async (directory) => {
    const outcome = await runContainer(root, ["apikey", "--create"], { ...await volume(directory), ...options });
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^service-api: .*--/) });
  });
}

testInContainer("apikey creates and deletes keys over HTTP with a key from a mounted file", async (directory) => {
  const store = await volume(directory);
  const admin = await runContainer(root, create("admin", "ADMIN"), store);
  expect(admin).toEqual({ code: 0, stdout: expect.stringMatching(/^sak_\w+\n$/), stderr: "" });

  await using server = await startContainer(root, ["serve", "--port", "0"], store);
  const { url, drained } = await readyLine(server.process.stdout);
  const source = await secretFile(directory, admin.stdout);
  const remote: RunOptions = {
    env: { SERVICE_API_URL: url, SERVICE_API_KEY_FILE: "/run/secrets/key" },
    mounts: [{ source, target: "/run/secrets/key", readOnly: true }],
    without: ["/etc/hosts"],
  };
  expect(await runContainer(root, CREATE, remote)).toMatchObject({ code: 0, stderr: "" });
  expect(await runContainer(root, ["apikey", "--delete", "--name", "new", "--json"], remote)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\{"deleted":1,/),
  });

  await server.signal("TERM");
  expect((await server.process.status).code).toBe(0);
  await drained();
  const files = `${directory}/volume/service-api`;
  expect(await Array.fromAsync(Deno.readDir(files), ({ name }) => name)).toEqual(["keys.db"]);
  expect(await Deno.stat(`${files}/keys.db`)).toMatchObject({ uid: 65532, gid: 65532, mode: 0o100600 });
});

testInContainer("the services of the README's compose.yaml serve keys and delete a key", async (directory) => {
  const { keys, revoke } = COMPOSE.services;
  const store = await volume(directory);
  const { stdout: admin } = await runContainer(root, create("admin", "ADMIN"), store);
  await runContainer(root, create("temporary", "GUEST"), store);
  await using server = await startContainer(root, onFreePort(keys.command), store);
  const { url, drained } = await readyLine(server.process.stdout);

  const source = await secretFile(directory, admin);
  const mounts = revoke.secrets.map((name) => ({ source, target: `/run/secrets/${name}`, readOnly: true }));
  const env = { ...revoke.environment, SERVICE_API_URL: new URL(url).origin };
  expect(await runContainer(root, revoke.command, { env, mounts })).toMatchObject({
    code: 0,
    stdout: "Successfully deleted 1 API key\n",
  });
  await drained();
});

testInContainer("the container can run as any user that can read the mounted key file", async (directory) => {
  await using server = startServer(() => Response.json({ data: {} }));
  const request = async (owner: string, user: string): Promise<{ readonly code: number; readonly stderr: string }> => {
    const source = await secretFile(directory, "sak_1", owner);
    return await runContainer(root, ["request", "--query", "{ a }"], {
      user,
      env: { SERVICE_API_URL: server.url, SERVICE_API_KEY_FILE: "/run/secrets/key", HOME: "/" },
      mounts: [{ source, target: "/run/secrets/key", readOnly: true }],
    });
  };
  expect(await request("1234", "1234")).toMatchObject({ code: 0, stderr: "" });
  expect(await request("1235", "1000:1000")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/SERVICE_API_KEY_FILE.*"\/run\/secrets\/key".*Permission denied/),
  });
  expect(server.requests.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer sak_1"]);
});

testInContainer("apikey --create fails with UNREACHABLE without a volume", async () => {
  for (const env of [{}, { HOME: "/home/nonroot", XDG_DATA_HOME: "" }, { SERVICE_API_DATA_DIR: "/keys" }]) {
    // deno-lint-ignore no-await-in-loop -- one container at a time
    const { code, stdout } = await runContainer(root, [...CREATE, "--json"], { env });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toEqual({
      error: expect.stringMatching(/"\/.*": Read-only file system/),
      code: "UNREACHABLE",
    });
  }
});

testInContainer("serve exits with 4 on a volume that belongs to another user", async (directory) => {
  const store = await volume(directory);
  await command("chown", ["0:0", `${directory}/volume`]);
  expect(await runContainer(root, ["serve", "--port", "0"], store)).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/"\/data\/service-api": Permission denied/),
  });
});

testInContainer("a config file in a Kubernetes secret selects the store or the server", async (directory) => {
  // Kubernetes mounts each file of a secret as a link into a directory. To update the secret, it replaces the directory.
  const source = `${directory}/secret`;
  await Deno.mkdir(`${source}/..version`, { recursive: true });
  const config = `profiles:
  default: { database-url: "postgres://a:hidden@127.0.0.1:1/b" }
  remote: { base-url: "https://localhost:1" }
`;
  await Deno.writeTextFile(`${source}/..version/config.yaml`, config);
  await Deno.chmod(`${source}/..version/config.yaml`, 0o440);
  await Deno.symlink("..version", `${source}/..data`);
  await Deno.symlink("..data/config.yaml", `${source}/config.yaml`);
  await command("chown", ["-R", "0:65532", source]);
  const options: RunOptions = {
    env: { SERVICE_API_CONFIG: "/run/secrets/service-api/config.yaml" },
    mounts: [{ source, target: "/run/secrets/service-api", readOnly: true }],
  };
  const created = await runContainer(root, CREATE, options);
  expect(created).toMatchObject({ code: 4, stderr: expect.stringMatching(/127\.0\.0\.1:1\/b/) });
  expect(created.stderr).not.toContain("hidden");
  const remote = await runContainer(root, [...CREATE, "--profile", "remote"], options);
  expect(remote).toMatchObject({ code: 4, stderr: expect.stringMatching(/localhost:1/) });
});

testInContainer("the program trusts only the CA certificates of the image", async (directory) => {
  await using server = startServer(() => Response.json({ data: {} }), { cert: CERTIFICATE, key: PRIVATE_KEY });
  const request = ["request", "--query", "{ a }"];
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sak_1" };
  expect(await runContainer(root, request, { env })).toMatchObject({ code: 0, stderr: "" });
  // With an empty SSL_CERT_FILE, the program finds the CA certificates in their usual place.
  expect(await runContainer(root, request, { env: { ...env, SSL_CERT_FILE: "" } })).toMatchObject({ code: 0 });
  const mounts = [{ source: directory, target: "/etc/ssl/certs" }];
  const { code, stderr } = await runContainer(root, request, { env, mounts });
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/localhost.*--ca-file/s) });
});

testInContainer("apikey --create fails with UNREACHABLE if the host name cannot be resolved", async () => {
  const env = { SERVICE_API_URL: "https://keys.example.com", SERVICE_API_KEY: "sak_1" };
  const { code, stdout } = await runContainer(root, [...CREATE, "--json"], { env, without: ["/etc/hosts"] });
  expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringMatching(/keys\.example\.com.*"UNREACHABLE"/) });
});

testInContainer("the executable needs /proc, but neither /dev nor /tmp", async (directory) => {
  const store = await volume(directory);
  const withoutProc = await runContainer(root, ["--version"], { without: ["/proc"] });
  expect(withoutProc).toMatchObject({ code: 1, stderr: expect.stringMatching(/Is \/proc mounted\?/) });
  const withoutTmp = `${directory}/root`;
  await command("cp", ["-a", root, withoutTmp]);
  await Deno.remove(`${withoutTmp}/tmp`);
  expect(await runContainer(withoutTmp, CREATE, { ...store, without: ["/dev"] })).toMatchObject({ code: 0 });
});

/** A server that accepts one connection and sends nothing. */
function silentServer(): { readonly port: number; readonly accepted: Promise<void> } & Disposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = listener.accept();
  return {
    port: listener.addr.port,
    accepted: connection.then(() => {}),
    [Symbol.dispose]: () => {
      listener.close();
      void connection.then((accepted) => accepted.close(), () => {});
    },
  };
}

const WAITING = [
  ["TERM", "apikey --create", CREATE, "URL"],
  ["INT", "apikey --create", CREATE, "URL"],
  ["TERM", "request", ["request", "--query", "{ a }"], "URL"],
  ["TERM", "apikey --create on PostgreSQL", CREATE, "DATABASE_URL"],
  ["TERM", "serve on PostgreSQL", ["serve", "--port", "0"], "DATABASE_URL"],
] as const;
for (const [signal, what, args, variable] of WAITING) {
  testInContainer(`SIG${signal} ends ${what}, which runs as process 1 and waits for a response`, async () => {
    using server = silentServer();
    const address = variable === "URL"
      ? `http://127.0.0.1:${server.port}`
      : `postgres://a:b@127.0.0.1:${server.port}/c`;
    // The timeout is longer than any test takes.
    const env = { [`SERVICE_API_${variable}`]: address, SERVICE_API_TIMEOUT: "1h" };
    await using container = await startContainer(root, args, { env });
    await server.accepted;
    await container.signal(signal);
    expect((await container.process.status).code).toBe(130);
    expect(await new Response(container.process.stderr).text()).toMatch(/^service-api: Interrupted/);
  });
}

testInContainer("SIGTERM ends a command that runs as process 1 and reads its standard input", async () => {
  const args = ["request", "--query", "-"];
  await using container = await startContainer(root, args, { env: { SERVICE_API_URL: "http://127.0.0.1:1" } });
  await container.signal("TERM");
  expect((await container.process.status).code).toBe(130);
});

const [noTmux] = missingPrograms(["tmux"]).map((program) => notInstalled([program]));
testInContainer("SIGTERM ends a command that runs as process 1 and prompts at a terminal", async (directory) => {
  const pid = `${directory}/pid`;
  const options = { ...await volume(directory), env: { TERM: "xterm" } };
  const container = await createContainer(root, ["apikey", "--create"], options);
  const script = 'sh -c \'echo $$ > "$0"; exec "$@"\' "$0" "$@"; echo "status $?"';
  await using terminal = await openTerminal(["sh", "-c", script, pid, ...container.command]);
  await terminal.shows(/Name:/);
  await terminal.type("by hand");
  await terminal.press("Enter");
  await terminal.shows(/Description/);
  await signalProcess1(Number(await Deno.readTextFile(pid)), "TERM");
  expect(await terminal.shows(/status \d+\b/)).toMatch(/\bstatus 130\b/);
  await container.remove();
}, reason ?? noTmux);

interface Compose {
  readonly services: Readonly<
    Record<"keys" | "revoke", {
      readonly command: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
      readonly ports: readonly string[];
      readonly secrets: readonly string[];
      readonly volumes: readonly string[];
    }>
  >;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const CONTAINER_SECTION = sectionOf("Container");
const COMPOSE: Compose = parse(textsIn(CONTAINER_SECTION, "yaml").find((text) => text.includes("services:")) ?? "");

Deno.test("the commands and the compose.yaml in the README publish the default port of serve", async () => {
  expect((await inProcess(["serve", "--help"])).stdout).toMatch(/--port <port> [^-]*default:\s+"?4000\b/);
  expect(textsIn(CONTAINER_SECTION, "sh").join("")).toContain(" -p 127.0.0.1:4000:4000 ");
  expect(COMPOSE.services.keys.ports).toEqual(["127.0.0.1:4000:4000"]);
  expect(COMPOSE.services.revoke.environment["SERVICE_API_URL"]).toBe("http://keys:4000");
});

Deno.test("the README's compose.yaml uses every volume and secret that it declares, and gives its containers no privileges", () => {
  const { services, secrets, volumes } = COMPOSE;
  expect(services.keys.volumes).toEqual(Object.keys(volumes).map((name) => `${name}:/data`));
  expect(services.revoke.secrets).toEqual(Object.keys(secrets));
  expect(services.revoke.environment["SERVICE_API_KEY_FILE"]).toBe(`/run/secrets/${services.revoke.secrets[0]}`);
  for (const service of [services.keys, services.revoke]) {
    const security = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
    expect(service).toMatchObject({ image: "service-api", ...security });
  }
});

const OUTSIDE =
  "outside a container, the executable needs no privileges or home directory, and no variable except XDG_DATA_HOME";
const [noProgram] = missingPrograms(["setpriv", "env"]).map((program) => notInstalled([program]));
if (build.kind === "not built" || noProgram !== undefined) {
  Deno.test.ignore(`${OUTSIDE} (skipped: ${build.kind === "not built" ? build.reason : noProgram})`, () => {});
} else {
  Deno.test(OUTSIDE, () =>
    inTemporaryDirectory(async (directory) => {
      const isRoot = (await command("id", ["-u"])).trim() === "0";
      const executable = `${directory}/service-api`;
      await Deno.copyFile(build.path, executable);
      await Deno.mkdir(`${directory}/data`);
      if (isRoot) await command("chown", [IMAGE.user, `${directory}/data`]);
      await Deno.chmod(directory, 0o555);
      const unprivileged = isRoot ? ["--reuid=65532", "--regid=65532", "--clear-groups", "--inh-caps=-all"] : [];
      const program = asProcess("setpriv", [...unprivileged, "--no-new-privs", executable]);
      try {
        expect(await program(["--version"])).toMatchObject({ code: 0, stderr: "" });
        expect(await program(["apikey", "--create"])).toMatchObject({ code: 2, stdout: "" });
        const data = { XDG_DATA_HOME: `${directory}/data` };
        expect(await program(CREATE, { env: data })).toMatchObject({ code: 0, stderr: "" });
        const nowhere = { XDG_DATA_HOME: `${directory}/nowhere` };
        expect(await program([...CREATE, "--json"], { env: nowhere })).toMatchObject({
          code: 4,
          stdout: expect.stringMatching(/Permission denied.*"UNREACHABLE"/),
        });
      } finally {
        await Deno.chmod(directory, 0o755);
      }
    }));
}
