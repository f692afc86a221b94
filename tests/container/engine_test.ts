/** Builds and runs the image with Docker or Podman. Needs an engine that can run containers and pull the base images. */
import { expect } from "expect";
import deno from "../../deno.json" with { type: "json" };
import { command } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { sectionOf, textsIn } from "../readme.ts";
import { missingPrograms, notInstalled } from "../tools.ts";
import { until } from "../server/until.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { writeRelease } from "./release.ts";

const ROOT = `${import.meta.dirname}/../..`;
const RULE = "the README's commands build the image, create a key in a volume and start a server on it";
const [BUILD = "", RUN = ""] = textsIn(sectionOf("Container"), "sh");

/** The container engine that works on this machine, or the reason why no engine works. */
async function findEngine(): Promise<{ readonly engine: string } | { readonly reason: string }> {
  const missing = missingPrograms(["bash", "jq"]);
  if (missing.length > 0) return { reason: notInstalled(missing) };
  const bases = [...(await Deno.readTextFile(`${ROOT}/scripts/Dockerfile`)).matchAll(/^FROM (?:--\S+ )?(\S+)/gm)];
  for (const engine of ["docker", "podman"].filter((program) => missingPrograms([program]).length === 0)) {
    const pull = bases.map(([, base]) => `{ ${engine} image inspect ${base} || timeout 60 ${engine} pull ${base}; }`);
    const steps = [`${engine} info`, ...pull, `${engine} run --rm ${bases[0]?.[1]} true`];
    // deno-lint-ignore no-await-in-loop -- tries Podman only if Docker does not work
    const works = await command("sh", ["-ec", steps.join(" && ")]).then(() => true, () => false);
    if (works) return { engine };
  }
  return { reason: "neither Docker nor Podman can run containers and pull the base images" };
}

const found = await findEngine();
const build = "reason" in found ? { kind: "not built", reason: found.reason } as const : await buildExecutable();
if ("reason" in found || build.kind === "not built") {
  Deno.test.ignore(`${RULE} (skipped: ${build.kind === "not built" ? build.reason : ""})`, () => {});
} else {
  Deno.test(RULE, () =>
    inTemporaryDirectory(async (directory) => {
      // The name is unique, so that the test replaces no image, container or volume of the user. The engine selects a
      // free port.
      const name = `service-api-test-${crypto.randomUUID().slice(0, 8)}`;
      const run = (script: string): Promise<string> =>
        command("bash", [
          "-euc",
          script.replaceAll(/\bdocker\b/g, found.engine)
            .replaceAll(/(?<= )service-api(?= )/g, name)
            .replaceAll(/(?<=--name )keys\b|\bkeys(?=:\/data)/g, name)
            .replaceAll("127.0.0.1:4000:", "127.0.0.1::"),
        ], { cwd: directory });
      await Deno.symlink(`${ROOT}/scripts`, `${directory}/scripts`);
      await Deno.copyFile(`${ROOT}/deno.json`, `${directory}/deno.json`);
      await Deno.mkdir(`${directory}/dist/release`, { recursive: true });
      await writeRelease(`${directory}/dist/release`, deno.version, build.path, [Deno.build.target]);
      try {
        await run(BUILD);
        expect(await run("docker run --rm service-api --version")).toContain(`service-api ${deno.version}`);
        const labels = await run('docker inspect --format "{{json .Config.Labels}}" service-api ');
        expect(JSON.parse(labels)).toMatchObject({
          "org.opencontainers.image.licenses": deno.license,
          "org.opencontainers.image.source": "https://github.com/service-api/service-api",
          "org.opencontainers.image.version": deno.version,
        });
        const [store = ""] = RUN.split("\n\n");
        await run(store);
        expect((await Deno.stat(`${directory}/admin.key`)).mode).toBe(0o100600);
        expect(await Deno.readTextFile(`${directory}/admin.key`)).toMatch(/^sak_\w+\n$/);
        await until(async () => (await run(`docker logs ${name} 2>&1`)).includes("/graphql"));
        expect((await run(`docker stop ${name} && docker wait ${name}`)).trim().split("\n").at(-1)).toBe("0");
      } finally {
        await run(`docker rm --force ${name}; docker volume rm ${name}; docker rmi ${name}`).catch(() => {});
      }
    }));
}
