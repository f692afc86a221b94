/** The section "Container" of the README: its commands as they stand, and its files for Compose and Kubernetes. */
import { expect } from "expect";
import deno from "../../deno.json" with { type: "json" };
import { CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { command } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { inProcess } from "../program/program.ts";
import { missingPrograms } from "../tools.ts";
import { until } from "../server/until.ts";
import { PASSWORD, testOnPostgres } from "../store/postgres_server.ts";
import { runContainer, signalProcess1, startContainer, whyNoContainers } from "./container.ts";
import type { Image } from "./image.ts";
import { onThisMachine, type Place, secretFile, testOnImage, volume } from "./place.ts";
import { BUILD, COMPOSE, DEPLOYMENT, RUN } from "./readme_files.ts";
import { writeRelease } from "./release.ts";

const ROOT = `${import.meta.dirname}/../..`;
const build = await buildExecutable();
const [missing] = missingPrograms(["bash", "jq"]);
const why = build.kind === "not built"
  ? `for want of an executable: ${build.reason}`
  : missing === undefined
  ? await whyNoContainers()
  : `for want of ${missing}`;
/** A checkout, and `docker` with its images, volumes and logs in a directory. */
const directory = await Deno.makeTempDir({ prefix: "service-api-docker-" });
const [checkout, state] = [`${directory}/checkout`, `${directory}/docker`];
const image = build.kind === "built" && why === undefined ? await imageOfReadme(build.path) : undefined;
Deno.test.afterAll(async () => {
  await Deno.remove(directory, { recursive: true });
  if (build.kind === "built") await build.remove();
});

async function imageOfReadme(executable: string): Promise<Image> {
  await Promise.all([
    Deno.mkdir(`${checkout}/dist/release`, { recursive: true }),
    Deno.mkdir(state),
    Deno.mkdir(`${directory}/bin`),
  ]);
  await Deno.symlink(`${ROOT}/scripts`, `${checkout}/scripts`);
  await Deno.symlink(`${ROOT}/deno.json`, `${checkout}/deno.json`);
  await writeRelease(`${checkout}/dist/release`, deno.version, executable, [Deno.build.target]);
  const stub = `exec "${Deno.execPath()}" run --quiet --no-config --no-check --allow-all`;
  await Deno.writeTextFile(
    `${directory}/bin/docker`,
    `#!/bin/sh\n${stub} "${import.meta.dirname}/docker.ts" "${state}" "$@"\n`,
    { mode: 0o755 },
  );
  await execute(BUILD);
  return JSON.parse(await Deno.readTextFile(`${state}/images/service-api/image.json`));
}

/** Runs shell commands in the checkout. */
async function execute(script: string): Promise<string> {
  return await command("bash", ["-euc", script], {
    cwd: checkout,
    env: { PATH: `${directory}/bin:${Deno.env.get("PATH")}` },
  });
}

function testInContainer(rule: string, test: (place: Place) => Promise<void>): void {
  testOnImage(image, why, rule, test);
}

Deno.test("what the README publishes is the port that serve takes", async () => {
  expect((await inProcess(["serve", "--help"])).stdout).toMatch(/--port <port> [^-]*default:\s+"4000"/);
  expect(RUN).toContain(" -p 127.0.0.1:4000:4000 ");
  expect(COMPOSE.services.keys.ports).toEqual(["127.0.0.1:4000:4000"]);
  expect(COMPOSE.services.revoke.environment["SERVICE_API_URL"]).toBe("http://keys:4000");
  const { ports, livenessProbe, readinessProbe } = DEPLOYMENT.spec.template.spec.containers[0];
  for (const { httpGet } of [livenessProbe, readinessProbe]) {
    expect(ports).toEqual([{ name: httpGet.port, containerPort: 4000 }]);
  }
});

Deno.test("the README's compose.yaml uses what it declares, and lets no container do more than it needs", () => {
  const { services, secrets, volumes } = COMPOSE;
  expect(services.keys.volumes).toEqual(Object.keys(volumes).map((name) => `${name}:/data`));
  expect(services.revoke.secrets).toEqual(Object.keys(secrets));
  const [key] = services.revoke.secrets;
  expect(services.revoke.environment["SERVICE_API_KEY_FILE"]).toBe(`/run/secrets/${key}`);
  for (const service of [services.keys, services.revoke]) {
    const security = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
    expect(service).toMatchObject({ image: "service-api", ...security });
  }
});

Deno.test("the README's Deployment uses what it declares, and lets its container do no more than it needs", () => {
  const { selector, template: { metadata, spec } } = DEPLOYMENT.spec;
  expect(selector.matchLabels).toEqual(metadata.labels);
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 });
  const [{ securityContext, volumeMounts, env }] = spec.containers;
  expect(securityContext).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
  expect(volumeMounts.map(({ name }) => name)).toEqual(spec.volumes.map(({ name }) => name));
  expect(env).toEqual([{ name: "SERVICE_API_CONFIG", value: `${volumeMounts[0]?.mountPath}/config.yaml` }]);
});

testInContainer("the README's commands for Docker make a key, serve it, and use it elsewhere", async (place) => {
  const [store = "", elsewhere = ""] = RUN.split("\n\n");
  await execute(store);
  try {
    await until(async () => (await Deno.readTextFile(`${state}/keys.log`)).includes("Listening on"));
    expect((await Deno.stat(`${checkout}/admin.key`)).mode).toBe(0o100600);
    const [cert, key] = await Promise.all([CERTIFICATE, PRIVATE_KEY].map((pem) => secretFile(place, pem)));
    const tls = ["--tls-cert", "/run/secrets/cert", "--tls-key", "/run/secrets/key"];
    await using server = await startContainer(place.image, ["serve", "--port", "0", ...tls], {
      mounts: [
        { source: `${state}/volumes/keys`, target: "/data" },
        { source: cert ?? "", target: "/run/secrets/cert", readOnly: true },
        { source: key ?? "", target: "/run/secrets/key", readOnly: true },
      ],
    });
    const { url, drained } = await readyLine(server.process.stdout);
    const there = elsewhere.replace("https://keys.example.com", `https://localhost:${new URL(url).port}`);
    expect(await execute(there)).toMatch(/^sak_\w+\n$/);
    await drained();
  } finally {
    const pid = await Deno.readTextFile(`${state}/keys.pid`);
    await signalProcess1(Number(pid), "TERM");
    await until(() => command("sh", ["-c", 'kill -0 "$0"', pid]).then(() => false, () => true));
  }
});

testInContainer(
  "the README's compose.yaml serves a volume, and deletes a key with one from a secret",
  async (place) => {
    const { image } = place;
    const { keys, revoke } = COMPOSE.services;
    const store = await volume(place);
    const make = (name: string, role: string): ReturnType<typeof runContainer> =>
      runContainer(image, ["apikey", "--create", "--name", name, "--roles", role], store);
    const { stdout: admin } = await make("admin", "ADMIN");
    await make("temporary", "GUEST");
    await using server = await startContainer(image, onThisMachine(keys.command), store);
    const { url, drained } = await readyLine(server.process.stdout);

    const source = await secretFile(place, admin);
    const mounts = revoke.secrets.map((name) => ({ source, target: `/run/secrets/${name}`, readOnly: true }));
    const env = { ...revoke.environment, SERVICE_API_URL: new URL(url).origin };
    expect(await runContainer(image, revoke.command, { env, mounts })).toEqual({
      code: 0,
      stdout: "Successfully deleted 1 API key\n",
      stderr: "",
    });
    await drained();
  },
);

/** A secret as Kubernetes mounts it: its files are links into a directory that is replaced as a whole. */
async function mountedSecret(
  { directory }: Place,
  files: Readonly<Record<string, string>>,
  mode: number,
  group: number,
): Promise<string> {
  const root = `${directory}/secret`;
  const version = "..2026_11_21_12_00_00.1";
  await Deno.mkdir(`${root}/${version}`, { recursive: true });
  await Deno.symlink(version, `${root}/..data`);
  await Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      await Deno.writeTextFile(`${root}/${version}/${name}`, text);
      await Deno.chmod(`${root}/${version}/${name}`, mode);
      await Deno.symlink(`..data/${name}`, `${root}/${name}`);
    }),
  );
  await command("chown", ["-R", `0:${group}`, root]);
  return root;
}

/** Runs a test on a database where there are containers to use it. */
async function testOnDatabase(rule: string, test: (place: Place, url: string) => Promise<void>): Promise<void> {
  if (image === undefined) return testInContainer(rule, () => Promise.resolve());
  await testOnPostgres(
    rule,
    {},
    (server) =>
      testInContainer(rule, (place) =>
        server.withNewDatabase(async (database) => {
          const { host, port, user } = server.address(database);
          await test(place, `postgres://${user}:${encodeURIComponent(PASSWORD)}@${host}:${port}/${database}`);
        })),
  );
}

await testOnDatabase(
  "the README's Deployment serves a database that a secret names, and answers its probes",
  async (place, databaseUrl) => {
    const { securityContext: { runAsUser, runAsGroup, fsGroup }, containers: [serve], volumes: [config] } =
      DEPLOYMENT.spec.template.spec;
    const files = { "config.yaml": `profiles:\n  default:\n    database-url: ${JSON.stringify(databaseUrl)}\n` };
    const source = await mountedSecret(place, files, config.secret.defaultMode, fsGroup);
    await using container = await startContainer(place.image, onThisMachine(serve.args), {
      env: Object.fromEntries(serve.env.map(({ name, value }) => [name, value])),
      mounts: serve.volumeMounts.map(({ mountPath, readOnly }) => ({ source, target: mountPath, readOnly })),
      user: `${runAsUser}:${runAsGroup}`,
    });
    const { url, drained } = await readyLine(container.process.stdout);
    await Promise.all([serve.livenessProbe, serve.readinessProbe].map(async ({ httpGet }) => {
      const answer = await fetch(new URL(httpGet.path, url));
      expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 200, body: "ok\n" });
    }));
    await container.signal("TERM");
    expect((await container.process.status).code).toBe(0);
    await drained();
  },
);
