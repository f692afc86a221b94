/** The recipes for GitHub Actions and GitLab CI, run by stand-ins for their runners, on a release of this machine. */
import { expect } from "expect";
import { parse } from "yaml";
import deno from "../../deno.json" with { type: "json" };
import { faultsOfWorkflow } from "../workflow_lint.ts";
import { recipe } from "./blocks.ts";
import { type JobOptions, type JobOutcome, runOnGitHub, runOnGitLab } from "./forges.ts";
import { openPlace, type Place } from "./place.ts";
import { INSTALLER, publishRelease, type Release } from "./release.ts";
import { testWith } from "./tools.ts";

const [GITHUB = "", GITLAB = ""] = recipe("GitHub Actions and GitLab CI", ["yaml", "yaml"]);

/** Where releases are. */
const RELEASES = "https://github.com/service-api/service-api/releases";

interface Forge {
  readonly name: string;
  readonly tools: readonly string[];
  /** Runs the recipe in a place, with a release and more in its environment. */
  run(here: Place, release: Release, options?: Partial<JobOptions>): Promise<JobOutcome>;
}

/** A machine of the forge: the program is not on it. */
async function machine(here: Place): Promise<Record<string, string>> {
  await Deno.rename(`${here.directory}/bin`, `${here.directory}/not-in-path`);
  await Deno.mkdir(`${here.directory}/bin`);
  return { PATH: here.env["PATH"] ?? "", HOME: here.directory };
}

const onGitHub: Forge = {
  name: "GitHub",
  tools: ["bash", "sh", "curl", "tar", ...INSTALLER === undefined ? ["scripts/install.sh"] : []],
  run: async (here, release, { env = {}, ...options } = {}) => {
    const text = here.adapt(GITHUB).replaceAll(RELEASES, release.url);
    const own = { ...await machine(here), SERVICE_API_DOWNLOAD_URL: `${release.url}/latest/download`, ...env };
    const secrets = { SERVICE_API_KEY: (await here.read("admin.key")).trim() };
    return await runOnGitHub(text, secrets, { env: own, ...options }, here);
  },
};

const onGitLab: Forge = {
  name: "GitLab",
  tools: ["bash", "curl", "grep", "install", "sha256sum", "tar"],
  run: async (here, release, { env = {}, ...options } = {}) => {
    const text = here.adapt(GITLAB)
      .replaceAll(RELEASES, release.url)
      .replaceAll("x86_64-unknown-linux-gnu", Deno.build.target)
      .replaceAll(/(?<=service-api-)\d+\.\d+\.\d+/g, deno.version);
    const own = { ...await machine(here), SERVICE_API_KEY_FILE: `${here.directory}/admin.key`, ...env };
    return await runOnGitLab(text, { env: own, ...options }, here);
  },
};

/** A place with a `deploy` that tells the name of the key that it is given. */
async function jobPlace(deploy = "true"): Promise<Place> {
  const here = await openPlace([["https://keys.example.com", "URL"], ["/usr/local/bin", "DIRECTORY/bin"]]);
  const ask = `SERVICE_API_KEY_FILE= SERVICE_API_KEY=$API_KEY service-api request --query '{ me { name } }'`;
  await here.write("deploy", `#!/bin/sh\n${ask} > asked\n${deploy}\n`, 0o755);
  return here;
}

for (const { name, tools, run } of [onGitHub, onGitLab]) {
  testWith(tools, `${name}: a job installs the program, has a key of its own, and deletes it`, async () => {
    await using release = await publishRelease();
    await using here = await jobPlace("echo the key is $API_KEY > told");
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
    await using release = await publishRelease();
    await using here = await jobPlace("exit 7");
    const { status, log } = await run(here, release);
    expect({ status, log }).toEqual({
      status: "failure",
      log: expect.stringContaining("Successfully deleted 1 API key"),
    });
    expect(await here.read("asked")).toMatch(/job/);
    expect(await here.keyNames()).toEqual([]);
  });

  testWith(tools, `${name}: the key of a job that is cancelled is deleted`, async () => {
    await using release = await publishRelease();
    await using here = await jobPlace("echo $$ > pid; mv pid started; exec sleep 60");
    const { status, log } = await run(here, release, { cancelAt: "started" });
    expect({ status, log }).toEqual({
      status: "cancelled",
      log: expect.stringContaining("Successfully deleted 1 API key"),
    });
    expect(await here.keyNames()).toEqual([]);
  });

  testWith(tools, `${name}: a job without a key does not go on`, async () => {
    await using release = await publishRelease();
    await using here = await jobPlace();
    await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
    const { status, log } = await run(here, release);
    expect({ status, log }).toEqual({ status: "failure", log: expect.stringContaining("API_KEY:CREATE_ANY") });
    await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
  });

  for (const what of ["tamper", "forget"] as const) {
    testWith(tools, `${name}: a job does not use an archive that is not what was released: ${what}`, async () => {
      await using release = await publishRelease();
      release[what]();
      await using here = await jobPlace();
      expect(await run(here, release)).toMatchObject({ status: "failure" });
      await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
      await expect(here.read("bin/service-api")).rejects.toThrow(Deno.errors.NotFound);
      await expect(here.read(".local/bin/service-api")).rejects.toThrow(Deno.errors.NotFound);
    });
  }
}

testWith(onGitHub.tools, "GitHub: a secret that a job prints is not to be read", async () => {
  await using release = await publishRelease();
  await using here = await jobPlace("echo the key is $API_KEY");
  const { status, log } = await onGitHub.run(here, release);
  expect({ status, log }).toEqual({ status: "success", log: expect.stringContaining("the key is ***\n") });
  expect(log).not.toMatch(/sak_/);
});

Deno.test("the workflow is one that GitHub takes", () => {
  expect(faultsOfWorkflow(GITHUB)).toEqual([]);
  expect(faultsOfWorkflow(GITHUB.replace("steps.key.outputs", "steps.other.outputs"))).toHaveLength(1);
});

Deno.test("the pipeline for GitLab has one job, of keywords that GitLab knows", () => {
  const { deploy, ...others } = parse(GITLAB);
  expect(others).toEqual({});
  const lines = expect.arrayContaining([expect.any(String)]);
  expect(deploy).toEqual({
    image: expect.any(String),
    variables: expect.any(Object),
    before_script: lines,
    script: lines,
    after_script: lines,
  });
  expect(
    [deploy.variables, deploy.before_script, deploy.script, deploy.after_script].flatMap(Object.values).map((value) =>
      typeof value
    ),
  )
    .not.toContain("object");
});
