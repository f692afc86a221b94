/** The recipes for GitHub Actions and GitLab CI, run by stand-ins for their runners, on a release of this machine. */
import { expect } from "expect";
import { parse } from "yaml";
import { lintWorkflow } from "../workflow_lint.ts";
import { recipe } from "./blocks.ts";
import { type JobOutcome, runOnGitHub, runOnGitLab } from "./forges.ts";
import { openPlace, type Place, writeDeploy } from "./place.ts";
import {
  archived,
  archiveName,
  type Files,
  makeRelease,
  type ReleaseServer,
  serveRelease,
} from "../scripts/release_server.ts";
import { testWith } from "../tools.ts";

const [GITHUB = "", GITLAB = ""] = recipe("GitHub Actions and GitLab CI", ["yaml", "yaml"]);

/** Where releases are. */
const RELEASES = "https://github.com/service-api/service-api/releases";

/** Publishes a release for this machine, with the program from its sources in place of the executable. */
async function publish(here: Place, others: Files = {}): Promise<ReleaseServer> {
  const { files } = await makeRelease({ ...archived(""), "service-api": await here.read("bin/service-api") });
  const installer = await Deno.readTextFile(`${import.meta.dirname}/../../scripts/install.sh`);
  return serveRelease({ ...files, "install.sh": installer, ...others });
}

interface Forge {
  readonly name: string;
  readonly tools: readonly string[];
  /** Runs the recipe in a place, with a release. */
  run(here: Place, release: ReleaseServer, cancelAt?: string): Promise<JobOutcome>;
}

/** A machine of the forge: the program is not on it. */
async function machine(here: Place): Promise<Record<string, string>> {
  await Deno.rename(`${here.directory}/bin`, `${here.directory}/not-in-path`);
  await Deno.mkdir(`${here.directory}/bin`);
  return { PATH: here.env["PATH"] ?? "", HOME: here.directory };
}

const onGitHub: Forge = {
  name: "GitHub",
  tools: ["bash", "sh", "curl", "tar"],
  run: async (here, release, cancelAt) => {
    const text = here.adapt(GITHUB).replaceAll(RELEASES, release.url);
    const env = { ...await machine(here), SERVICE_API_DOWNLOAD_URL: `${release.url}/latest/download` };
    const secrets = { SERVICE_API_KEY: (await here.read("admin.key")).trim() };
    return await runOnGitHub(text, secrets, { env, cancelAt }, here);
  },
};

const onGitLab: Forge = {
  name: "GitLab",
  // The tools of its image, some of which have other flags elsewhere.
  tools: ["bash", "curl", "grep", "install", "sha256sum", "tar", ...Deno.build.os === "linux" ? [] : ["Linux"]],
  run: async (here, release, cancelAt) => {
    const text = here.adapt(GITLAB)
      .replaceAll(RELEASES, release.url)
      .replaceAll(/service-api-\d+\.\d+\.\d+-x86_64-unknown-linux-gnu/g, archiveName(Deno.build.target));
    const env = { ...await machine(here), SERVICE_API_KEY_FILE: `${here.directory}/admin.key` };
    return await runOnGitLab(text, { env, cancelAt }, here);
  },
};

/** A place with a `deploy` that tells the name of the key that it is given. */
async function jobPlace(deploy = "true"): Promise<Place> {
  const here = await openPlace([["https://keys.example.com", "URL"], ["/usr/local/bin", "DIRECTORY/bin"]]);
  await writeDeploy(here, deploy);
  return here;
}

for (const { name, tools, run } of [onGitHub, onGitLab]) {
  testWith(tools, `${name}: a job installs the program, has a key of its own, and deletes it`, async () => {
    await using here = await jobPlace("echo the key is $API_KEY > told");
    await using release = await publish(here);
    const { status, log } = await run(here, release);
    expect({ status, log }).toEqual({
      status: "success",
      log: expect.stringContaining("Successfully deleted 1 API key"),
    });
    expect(await here.read("asked")).toMatch(/^\{"data":\{"me":\{"name":"job (4711|deploy 123456789 2)"\}\}\}\n$/);
    expect(await here.read("told")).toMatch(/ sak_/);
    expect(log).not.toMatch(/sak_/);
    expect(await here.keyNames()).toEqual([]);
  });

  testWith(tools, `${name}: the key of a job that fails is deleted`, async () => {
    await using here = await jobPlace("exit 7");
    await using release = await publish(here);
    const { status, log } = await run(here, release);
    expect({ status, log }).toEqual({
      status: "failure",
      log: expect.stringContaining("Successfully deleted 1 API key"),
    });
    expect(await here.read("asked")).toMatch(/job/);
    expect(await here.keyNames()).toEqual([]);
  });

  testWith(tools, `${name}: the key of a job that is cancelled is deleted`, async () => {
    await using here = await jobPlace("echo $$ > pid; mv pid started; exec sleep 60");
    await using release = await publish(here);
    const { status, log } = await run(here, release, "started");
    expect({ status, log }).toEqual({
      status: "cancelled",
      log: expect.stringContaining("Successfully deleted 1 API key"),
    });
    expect(await here.keyNames()).toEqual([]);
  });

  testWith(tools, `${name}: a job without a key does not go on`, async () => {
    await using here = await jobPlace();
    await using release = await publish(here);
    await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
    const { status, log } = await run(here, release);
    expect({ status, log }).toEqual({ status: "failure", log: expect.stringContaining("API_KEY:CREATE_ANY") });
    await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
  });

  const LISTS = [
    ["is not what the list says", "0".repeat(64) + `  ${archiveName(Deno.build.target)}.tar.gz\n`],
    ["is not in the list", "0".repeat(64) + "  other.zip\n"],
  ] as const;
  for (const [what, list] of LISTS) {
    testWith(tools, `${name}: a job does not use an archive that ${what} of checksums`, async () => {
      await using here = await jobPlace();
      await using release = await publish(here, { SHA256SUMS: list });
      expect(await run(here, release)).toMatchObject({ status: "failure" });
      expect(release.requests).toContainEqual(expect.stringMatching(/\/SHA256SUMS$/));
      await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
      await expect(here.read("bin/service-api")).rejects.toThrow(Deno.errors.NotFound);
      await expect(here.read(".local/bin/service-api")).rejects.toThrow(Deno.errors.NotFound);
    });
  }
}

testWith(onGitHub.tools, "GitHub: a secret that a job prints is not to be read", async () => {
  await using here = await jobPlace("echo the key is $API_KEY");
  await using release = await publish(here);
  const { status, log } = await onGitHub.run(here, release);
  expect({ status, log }).toEqual({ status: "success", log: expect.stringContaining("the key is ***\n") });
  expect(log).not.toMatch(/sak_/);
});

Deno.test("the workflow is one that GitHub takes", () => {
  expect(lintWorkflow(GITHUB)).toEqual([]);
  expect(lintWorkflow(GITHUB.replace("steps.key.outputs", "steps.other.outputs"))).toHaveLength(1);
});

Deno.test("the pipeline for GitLab has one job, of keywords that GitLab knows, and one version", () => {
  const { deploy, ...others } = parse(GITLAB);
  expect(others).toEqual({});
  const [, version] = /^service-api-(\d+\.\d+\.\d+)-/.exec(deploy.variables.ARCHIVE) ?? [];
  const lines = expect.arrayContaining([expect.any(String)]);
  expect(deploy).toEqual({
    image: expect.any(String),
    variables: expect.objectContaining({ RELEASE: `${RELEASES}/download/v${version}` }),
    before_script: lines,
    script: lines,
    after_script: lines,
  });
  const texts = [deploy.variables, deploy.before_script, deploy.script, deploy.after_script].flatMap(Object.values);
  expect(texts.filter((text) => typeof text !== "string")).toEqual([]);
});
