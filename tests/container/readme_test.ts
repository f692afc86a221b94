/** The section "Container" of the README: its commands as they stand, and its files for Compose and Kubernetes. */
import { expect } from "expect";
import { parse } from "yaml";
import deno from "../../deno.json" with { type: "json" };
import { CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { missingPrograms } from "../program/terminal.ts";
import { until } from "../server/until.ts";
import { PASSWORD, testOnPostgres } from "../store/postgres_server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import {
  type Mount,
  runContainer,
  type RunOptions,
  signalProcess1,
  startContainer,
  whyNoContainers,
} from "./container.ts";
import { command, type Image } from "./image.ts";
import { onThisMachine, type Place, secretFile, volume } from "./place.ts";
import { writeRelease } from "./release.ts";

const ROOT = `${import.meta.dirname}/../..`;
const SECTION = (await Deno.readTextFile(`${ROOT}/README.md`)).split(/^## /m).find((text) =>
  text.startsWith("Container\n")
);

/** The blocks of the section in a language. */
function blocks(language: string): readonly string[] {
  return [...(SECTION ?? "").matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map((
    [, text = ""],
  ) => text);
}

const [BUILD = "", RUN = ""] = blocks("sh");
const [COMPOSE = "", KUBERNETES = ""] = blocks("yaml");

const build = await buildExecutable();
const [missing] = await missingPrograms(["bash", "jq"]);
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
  if (image === undefined) return Deno.test.ignore(`${rule}: not run: ${why}`, () => {});
  Deno.test(rule, () => inTemporaryDirectory((directory) => test({ image, directory })));
}

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

testInContainer("the port that the README's containers publish is the one that serve takes", async ({ image }) => {
  const { stdout } = await runContainer(image, ["serve", "--help"]);
  expect(stdout).toMatch(/--port <port> [^-]*default:\s+"4000"/);
  expect(RUN).toContain(":4000 ");
});

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

testInContainer(
  "the README's compose.yaml serves a volume, and deletes a key with one from a secret",
  async (place) => {
    const { image } = place;
    const { services, secrets, volumes }: Compose = parse(COMPOSE);
    const { keys, revoke } = services;
    if (keys === undefined || revoke === undefined) throw new Error("there are no services");
    for (const service of [keys, revoke]) {
      expect(service).toMatchObject({ image: "service-api", read_only: true, cap_drop: ["ALL"] });
    }
    expect(keys.volumes).toEqual(Object.keys(volumes).map((name) => `${name}:/data`));
    expect(keys.ports).toEqual(["127.0.0.1:4000:4000"]);
    expect(revoke.secrets).toEqual(Object.keys(secrets));

    const store = await volume(place);
    const make = (name: string, role: string): ReturnType<typeof runContainer> =>
      runContainer(image, ["apikey", "--create", "--name", name, "--roles", role], store);
    const { stdout: admin } = await make("admin", "ADMIN");
    await make("temporary", "GUEST");
    await using server = await startContainer(image, onThisMachine(keys.command), store);
    const { url, drained } = await readyLine(server.process.stdout);

    const source = await secretFile(place, admin);
    const mounts = (revoke.secrets ?? []).map((name) => ({ source, target: `/run/secrets/${name}`, readOnly: true }));
    expect(revoke.environment?.["SERVICE_API_URL"]).toBe("http://keys:4000");
    const env = { ...revoke.environment, SERVICE_API_URL: new URL(url).origin };
    expect(await runContainer(image, revoke.command, { env, mounts })).toEqual({
      code: 0,
      stdout: "Successfully deleted 1 API key\n",
      stderr: "",
    });
    await drained();
  },
);

interface Named {
  readonly name: string;
}

interface ServeContainer {
  readonly args: readonly string[];
  readonly env: readonly (Named & { readonly value: string })[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly (Named & { readonly mountPath: string; readonly readOnly: boolean })[];
  readonly securityContext: Readonly<Record<string, unknown>>;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Deployment {
  readonly spec: {
    readonly selector: { readonly matchLabels: unknown };
    readonly template: {
      readonly metadata: { readonly labels: unknown };
      readonly spec: {
        readonly securityContext: Readonly<Record<string, number>>;
        readonly containers: readonly [ServeContainer];
        readonly volumes: readonly [Named & { readonly secret: { readonly defaultMode: number } }];
      };
    };
  };
}

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

await testOnPostgres("the README's Deployment", {}, (server) => {
  testInContainer(
    "the README's Deployment serves a database that a secret names, and answers its probes",
    (place) =>
      server.withNewDatabase(async (database) => {
        // The version of Kubernetes: 0440 is octal.
        const { spec }: Deployment = parse(KUBERNETES, { version: "1.1" });
        expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
        const { securityContext: { runAsUser, runAsGroup, fsGroup = 0 }, containers: [serve], volumes: [config] } =
          spec.template.spec;
        expect(`${runAsUser}:${runAsGroup}`).toBe(place.image.user);
        expect(serve.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        });

        const { host, port, user } = server.address(database);
        const address = `postgres://${user}:${encodeURIComponent(PASSWORD)}@${host}:${port}/${database}`;
        const files = { "config.yaml": `profiles:\n  default:\n    database-url: ${JSON.stringify(address)}\n` };
        const source = await mountedSecret(place, files, config.secret.defaultMode, fsGroup);
        const mounts: readonly Mount[] = serve.volumeMounts.map(({ name, mountPath, readOnly }) => {
          expect(name).toBe(config.name);
          return { source, target: mountPath, readOnly };
        });
        const options: RunOptions = {
          env: Object.fromEntries(serve.env.map(({ name, value }) => [name, value])),
          mounts,
          user: `${runAsUser}:${runAsGroup}`,
        };
        await using container = await startContainer(place.image, onThisMachine(serve.args), options);
        const { url, drained } = await readyLine(container.process.stdout);
        await Promise.all([serve.livenessProbe, serve.readinessProbe].map(async ({ httpGet }) => {
          expect(serve.ports).toEqual([{ name: httpGet.port, containerPort: 4000 }]);
          const answer = await fetch(new URL(httpGet.path, url));
          expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 200, body: "ok\n" });
        }));
        await container.signal("TERM");
        expect((await container.process.status).code).toBe(0);
        await drained();
      }),
  );
});
