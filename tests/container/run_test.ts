/** The executable in a container: no shell, no home, nobody's user, a root file system that it cannot write. */
import { expect } from "expect";
import deno from "../../deno.json" with { type: "json" };
import { startServer } from "../client/foreign_server.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { command } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { asProcess, type Program } from "../program/program.ts";
import { openTerminal } from "../program/terminal.ts";
import { missingPrograms } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import {
  createContainer,
  runContainer,
  type RunOptions,
  signalProcess1,
  startContainer,
  whyNoContainers,
} from "./container.ts";
import { addLibraries, buildImage, type Image } from "./image.ts";
import { type Place, secretFile, testOnImage, volume } from "./place.ts";
import { writeRelease } from "./release.ts";

const build = await buildExecutable();
const why = build.kind === "not built" ? `for want of an executable: ${build.reason}` : await whyNoContainers();
const directory = await Deno.makeTempDir({ prefix: "service-api-image-" });
const image = build.kind === "built" && why === undefined ? await buildReleased(build.path) : undefined;
Deno.test.afterAll(async () => {
  await Deno.remove(directory, { recursive: true });
  if (build.kind === "built") await build.remove();
});

/** The image of a release of an executable. */
async function buildReleased(executable: string): Promise<Image> {
  const context = `${directory}/context`;
  await Deno.mkdir(context);
  await writeRelease(context, deno.version, executable, [Deno.build.target]);
  const dockerfile = `${import.meta.dirname}/../../scripts/Dockerfile`;
  const built = await buildImage({ dockerfile, context, args: { VERSION: deno.version }, directory });
  await addLibraries(built);
  return built;
}

function testInContainer(rule: string, test: (place: Place) => Promise<void>): void {
  testOnImage(image, why, `in a container: ${rule}`, test);
}

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST"] as const;

testInContainer("the image has the labels of a release, and its licences", async ({ image }) => {
  expect(image.labels).toEqual({
    "org.opencontainers.image.title": "service-api",
    "org.opencontainers.image.description": expect.stringMatching(/API keys/),
    "org.opencontainers.image.source": "https://github.com/service-api/service-api",
    "org.opencontainers.image.licenses": deno.license,
    "org.opencontainers.image.version": deno.version,
  });
  const documents = await Array.fromAsync(Deno.readDir(`${image.root}/usr/share/doc/service-api`), ({ name }) => name);
  expect(documents.toSorted()).toEqual(["LICENSE", "THIRD-PARTY-LICENSES"]);
});

for (const stdin of [undefined, "closed"] as const) {
  testInContainer(`--version and --help, with standard input ${stdin ?? "at its end"}`, async ({ image }) => {
    const options = stdin && { stdin };
    const version = await runContainer(image, ["--version"], options);
    expect(version).toEqual({ code: 0, stdout: expect.stringContaining(`service-api ${deno.version}`), stderr: "" });
    const help = await runContainer(image, ["apikey", "--help"], options);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: service-api apikey/), stderr: "" });
  });

  testInContainer(`a question is a usage error, with standard input ${stdin ?? "at its end"}`, async (place) => {
    const options = { ...await volume(place), ...stdin && { stdin } };
    for (const args of [["apikey"], ["apikey", "--create"], ["apikey", "--delete"], ["login"]]) {
      // deno-lint-ignore no-await-in-loop -- a short list
      const outcome = await runContainer(place.image, args, options);
      expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^service-api: .*--/) });
    }
  });
}

testInContainer("keys are made and deleted over serve, with a key from a file", async (place) => {
  const { image } = place;
  const store = await volume(place);
  const admin = await runContainer(image, ["apikey", "--create", "--name", "admin", "--roles", "ADMIN"], store);
  expect(admin).toEqual({ code: 0, stdout: expect.stringMatching(/^sak_\w+\n$/), stderr: "" });

  await using server = await startContainer(image, ["serve", "--port", "0"], store);
  const { url, drained } = await readyLine(server.process.stdout);
  const source = await secretFile(place, admin.stdout);
  const remote: RunOptions = {
    env: { SERVICE_API_URL: url, SERVICE_API_KEY_FILE: "/run/secrets/key" },
    mounts: [{ source, target: "/run/secrets/key", readOnly: true }],
    lacks: ["hosts"],
  };
  expect(await runContainer(image, CREATE, remote)).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^sak_\w+\n$/),
    stderr: "",
  });
  expect(await runContainer(image, ["apikey", "--delete", "--name", "new", "--json"], remote)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\{"deleted":1,/),
  });

  await server.signal("TERM");
  expect((await server.process.status).code).toBe(0);
  await drained();
  const kept = `${place.directory}/volume/service-api`;
  expect(await Array.fromAsync(Deno.readDir(kept), ({ name }) => name)).toEqual(["keys.db"]);
  expect(await Deno.stat(`${kept}/keys.db`)).toMatchObject({ uid: 65532, gid: 65532, mode: 0o100600 });
});

testInContainer("any user will do, who can read what is bound in", async (place) => {
  const { image } = place;
  await using server = startServer(() => Response.json({ data: {} }));
  const asks = async (owner: string, user: string): Promise<{ readonly code: number; readonly stderr: string }> => {
    const source = await secretFile(place, "sak_1", owner);
    return await runContainer(image, ["request", "--query", "{ a }"], {
      user,
      env: { SERVICE_API_URL: server.url, SERVICE_API_KEY_FILE: "/run/secrets/key", HOME: "/" },
      mounts: [{ source, target: "/run/secrets/key", readOnly: true }],
    });
  };
  expect(await asks("1234", "1234")).toMatchObject({ code: 0, stderr: "" });
  expect(await asks("1235", "1000:1000")).toMatchObject({
    code: 2,
    stderr: 'service-api: SERVICE_API_KEY_FILE: cannot read "/run/secrets/key": Permission denied.\n',
  });
  expect(server.requests.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer sak_1"]);
});

testInContainer(
  "without a volume there is nothing to write the store to: UNREACHABLE, and what it needs",
  async ({ image }) => {
    for (const env of [{}, { HOME: "/home/nonroot", XDG_DATA_HOME: "" }, { SERVICE_API_DATA_DIR: "/keys" }]) {
      // deno-lint-ignore no-await-in-loop -- a short list
      const { code, stdout } = await runContainer(image, [...CREATE, "--json"], { env });
      expect(code).toBe(4);
      expect(JSON.parse(stdout)).toEqual({
        error: expect.stringMatching(/^Cannot use the store "\/.*": Read-only file system\. The current user must be/),
        code: "UNREACHABLE",
      });
    }
  },
);

testInContainer("a volume of somebody else's is UNREACHABLE, for serve too", async (place) => {
  const { image, directory } = place;
  const store = await volume(place);
  await command("chown", ["0:0", `${directory}/volume`]);
  for (const args of [CREATE, ["serve", "--port", "0"]]) {
    // deno-lint-ignore no-await-in-loop -- a list of two
    const { code, stderr } = await runContainer(image, args, store);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringMatching(
        /Cannot use the store "\/data\/service-api": Permission denied\. The current user must be/,
      ),
    });
  }
});

testInContainer("a config file may name another store than that of the image, or a server", async (place) => {
  const source = await secretFile(
    place,
    "profiles:\n  default:\n    database-url: postgres://a:hidden@127.0.0.1:1/b\n  remote:\n    base-url: https://localhost:1\n",
  );
  const options: RunOptions = {
    env: { SERVICE_API_CONFIG: "/run/secrets/config.yaml" },
    mounts: [{ source, target: "/run/secrets/config.yaml", readOnly: true }],
  };
  const created = await runContainer(place.image, CREATE, options);
  expect(created).toMatchObject({ code: 4, stderr: expect.stringMatching(/the database 127\.0\.0\.1:1\/b/) });
  expect(created.stderr).not.toContain("hidden");
  const remote = await runContainer(place.image, [...CREATE, "--profile", "remote"], options);
  expect(remote).toMatchObject({ code: 4, stderr: expect.stringMatching(/Cannot talk to localhost:1/) });
});

testInContainer("the image's certificates are trusted, and there is no other trust", async ({ image }) => {
  await using server = startServer(() => Response.json({ data: {} }), { cert: CERTIFICATE, key: PRIVATE_KEY });
  const ask = ["request", "--query", "{ a }"];
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sak_1" };
  expect(await runContainer(image, ask, { env })).toMatchObject({ code: 0, stderr: "" });
  // Found where systems have it, too.
  expect(await runContainer(image, ask, { env: { ...env, SSL_CERT_FILE: "" } })).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = await runContainer(image, ask, { env, tmpfs: ["/etc/ssl/certs"] });
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/localhost.*not trusted.*--ca-file/) });
});

testInContainer("a name that nothing can look up is UNREACHABLE", async ({ image }) => {
  const env = { SERVICE_API_URL: "https://keys.example.com", SERVICE_API_KEY: "sak_1" };
  const { code, stderr } = await runContainer(image, CREATE, { env, lacks: ["hosts"] });
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/no host of that name/) });
});

testInContainer("it takes /proc, and neither devices nor a directory for temporary files", async (place) => {
  const { image } = place;
  const store = await volume(place);
  const without = await runContainer(image, ["--version"], { lacks: ["proc"] });
  expect(without).toMatchObject({ code: 1, stderr: expect.stringMatching(/Is \/proc mounted\?/) });
  const noTmp = { ...image, root: `${place.directory}/root` };
  await command("cp", ["-a", image.root, noTmp.root]);
  await Deno.remove(`${noTmp.root}/tmp`);
  expect(await runContainer(noTmp, CREATE, { ...store, lacks: ["dev"] })).toMatchObject({ code: 0, stderr: "" });
});

/** Listens, takes connections, and says nothing. */
function silentServer(): { readonly port: number; readonly asked: Promise<void> } & Disposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = listener.accept();
  return {
    port: listener.addr.port,
    asked: connection.then(() => {}),
    [Symbol.dispose]: () => {
      listener.close();
      void connection.then((taken) => taken.close(), () => {});
    },
  };
}

const WAITING = [
  ["apikey", CREATE, "URL"],
  ["apikey --delete", ["apikey", "--delete", "--name", "new"], "URL"],
  ["request", ["request", "--query", "{ a }"], "URL"],
  ["audit", ["audit"], "URL"],
  ["apikey over a database", CREATE, "DATABASE_URL"],
  ["serve over a database", ["serve", "--port", "0"], "DATABASE_URL"],
] as const;
for (const [what, args, variable] of WAITING) {
  for (const signal of ["TERM", "INT"] as const) {
    testInContainer(`SIG${signal} ends ${what} as process 1 that waits for an answer`, async ({ image }) => {
      using server = silentServer();
      const address = variable === "URL"
        ? `http://127.0.0.1:${server.port}`
        : `postgres://a:b@127.0.0.1:${server.port}/c`;
      // A time that no test waits for.
      const env = { [`SERVICE_API_${variable}`]: address, SERVICE_API_TIMEOUT: "1h" };
      await using container = await startContainer(image, args, { env });
      await server.asked;
      await container.signal(signal);
      expect((await container.process.status).code).toBe(130);
      expect(await new Response(container.process.stderr).text()).toMatch(/^service-api: Interrupted/);
    });
  }
}

for (const args of [["request", "--query", "-"], ["apikey", "--delete", "--name", "new", "--key-file", "-"]]) {
  testInContainer(`SIGTERM ends ${args[0]} as process 1 that waits for its input`, async ({ image }) => {
    await using container = await startContainer(image, args, { env: { SERVICE_API_URL: "http://127.0.0.1:1" } });
    await container.signal("TERM");
    expect((await container.process.status).code).toBe(130);
    expect(await new Response(container.process.stderr).text()).toBe(
      "service-api: Interrupted. Nothing was changed.\n",
    );
  });
}

const [noTerminal] = missingPrograms(["tmux"]);
if (noTerminal !== undefined) {
  Deno.test.ignore("in a container: a question at a terminal: not run, for want of tmux", () => {});
} else {
  testInContainer("a question at a terminal is answered, and ended by SIGTERM, as process 1", async (place) => {
    const { image, directory } = place;
    const store = await volume(place);
    const pid = `${directory}/pid`;
    const container = await createContainer(image, ["apikey", "--create"], { ...store, env: { TERM: "xterm" } });
    // What a signal is sent to is the process in the namespace of the one whose id is kept.
    const kept = 'sh -c \'echo $$ > "$0"; exec "$@"\' "$0" "$@"; echo "status $?"';
    await using terminal = await openTerminal(["sh", "-c", kept, pid, ...container.command]);
    await terminal.shows(/Name:/);
    await terminal.type("by hand");
    await terminal.press("Enter");
    await terminal.shows(/Description/);
    await signalProcess1(Number(await Deno.readTextFile(pid)), "TERM");
    expect(await terminal.shows(/status \d+\b/)).toMatch(/Interrupted\. Nothing was changed\.\nstatus 130\b/);
    await container.remove();
  });
}

const [noSetpriv] = missingPrograms(["setpriv", "env"]);

/** Where there are no containers this much is left: nobody's user, where root can be it, and no variable. */
function testOutside(rule: string, test: (program: Program, directory: string) => Promise<void>): void {
  const title = `outside a container: ${rule}`;
  const reason = build.kind === "not built" ? build.reason : noSetpriv;
  if (build.kind === "not built" || reason !== undefined) {
    return Deno.test.ignore(`${title}: not run, for want of ${reason}`, () => {});
  }
  Deno.test(title, () =>
    inTemporaryDirectory(async (directory) => {
      const isRoot = (await command("id", ["-u"])).trim() === "0";
      const executable = `${directory}/service-api`;
      await Deno.copyFile(build.path, executable);
      await Deno.mkdir(`${directory}/data`);
      if (isRoot) await command("chown", ["65532:65532", `${directory}/data`]);
      await Deno.chmod(directory, 0o555);
      const nobody = isRoot ? ["--reuid=65532", "--regid=65532", "--clear-groups", "--inh-caps=-all"] : [];
      const program = asProcess("setpriv", [...nobody, "--no-new-privs", executable]);
      await test(program, directory).finally(() => Deno.chmod(directory, 0o755));
    }));
}

testOutside("--version, and a question that is a usage error", async (program) => {
  expect(await program(["--version"])).toMatchObject({ code: 0, stderr: "" });
  expect(await program(["apikey", "--create"])).toMatchObject({ code: 2, stdout: "" });
});

testOutside("keys are made in a directory of the user's, with a key from a file", async (program, directory) => {
  const env = { XDG_DATA_HOME: `${directory}/data` };
  const admin = await program(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"], { env });
  expect(admin).toMatchObject({ code: 0, stderr: "" });
  const key = `${directory}/data/key`;
  await Deno.writeTextFile(key, admin.stdout);
  expect(await program(CREATE, { env: { ...env, SERVICE_API_KEY_FILE: key } })).toMatchObject({ code: 0, stderr: "" });
});

testOutside("a directory that is not the user's is UNREACHABLE", async (program, directory) => {
  const { code, stderr } = await program(CREATE, { env: { XDG_DATA_HOME: `${directory}/nowhere` } });
  expect({ code, stderr }).toEqual({
    code: 4,
    stderr: expect.stringMatching(/Cannot use the store.*Permission denied/),
  });
});
