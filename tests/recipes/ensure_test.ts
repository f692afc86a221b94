/** `ensure-backup-key.cron`, its systemd units, and the manifest with its workflow. */
import { expect } from "expect";
import { parse } from "yaml";
import { lintWorkflow } from "../ci/workflow_lint.ts";
import { testWith } from "../tools.ts";
import { commandsOf } from "./readme.ts";
import { commandOfUnit, expectValidUnits, testWithSystemd } from "./systemd.ts";
import { openWorkspace, RECIPES, type Workspace } from "./workspace.ts";

const [createKeeper = ""] = commandsOf("Ensure", 1);

/** Opens a workspace and creates the keeper key with the README's command. */
async function openWithKeeper(): Promise<Workspace> {
  const workspace = await openWorkspace();
  const { code, stderr } = await workspace.run(["sh", "-euc", workspace.adapt(createKeeper)]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return {
    ...workspace,
    env: { ...workspace.env, SERVICE_API_KEY_FILE: `${workspace.directory}/etc/service-api/keeper.key` },
  };
}

testWith(["sh", "install"], "the crontab keeps a valid key in the file, and prints nothing", async () => {
  await using workspace = await openWithKeeper();
  const crontab = await workspace.recipe("ensure-backup-key.cron");
  const variables = [...crontab.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  const { PATH = "", ...env } = Object.fromEntries(variables);
  const [, command = ""] = /^23 3 \* \* \* root (.*)$/m.exec(crontab) ?? [];
  const run = (): ReturnType<Workspace["run"]> =>
    workspace.run(["/bin/sh", "-c", command], { env: { ...env, PATH: `${PATH}:${workspace.env["PATH"]}` } });
  const silent = { code: 0, stdout: "", stderr: "" };
  expect(await run()).toEqual(silent);
  const secret = await workspace.read("etc/backup/api.key");
  expect(await workspace.nameOf(secret)).toBe("backup");
  expect(await run()).toEqual(silent);
  expect(await workspace.read("etc/backup/api.key")).toBe(secret);
  await Deno.remove(`${workspace.directory}/etc/backup/api.key`);
  expect(await run()).toEqual(silent);
  expect(await workspace.nameOf(await workspace.read("etc/backup/api.key"))).toBe("backup");
  expect(await workspace.keyNames()).toEqual(["keeper", "backup"]);
});

testWith(["sh", "install"], "the service of the timer keeps a valid key in its state directory", async () => {
  await using workspace = await openWithKeeper();
  const { command, env } = commandOfUnit(await workspace.recipe("ensure-backup-key.service"), workspace);
  await Deno.mkdir(`${workspace.directory}/state/backup-key`, { recursive: true });
  await workspace.write("credentials/keeper.key", await workspace.read("etc/service-api/keeper.key"), 0o600);
  expect(await workspace.run(command, { env })).toMatchObject({ code: 0, stderr: "" });
  expect(await workspace.nameOf(await workspace.read("state/backup-key/api.key"))).toBe("backup");
});

testWithSystemd("systemd accepts the units that ensure a key", async () => {
  await using workspace = await openWorkspace();
  await expectValidUnits(workspace, ["ensure-backup-key.service", "ensure-backup-key.timer"]);
});

const WORKFLOW = await Deno.readTextFile(`${RECIPES}/ensure/keys-workflow.yml`);

Deno.test("actionlint accepts the workflow that applies a manifest", () => {
  expect(lintWorkflow(WORKFLOW).filter((finding) => !JSON.stringify(finding).includes("db1"))).toEqual([]);
});

testWith(
  ["bash", "install"],
  "the workflow shows a plan, applies the manifest, and deletes a key that leaves it",
  async () => {
    await using workspace = await openWithKeeper();
    const { steps } = parse(workspace.adapt(WORKFLOW)).jobs.apply;
    const runStep = (name: string): ReturnType<Workspace["run"]> => {
      const step = steps.find((step: { readonly name?: string }) => step.name === name);
      return workspace.run(["bash", "-eo", "pipefail", "-c", step.run], { env: workspace.env });
    };
    expect((await runStep("Show the plan")).stdout).toMatch(/2 to create, .* 0 unchanged\n$/);
    expect(await workspace.keyNames()).toEqual(["keeper"]);
    expect((await runStep("Apply the manifest")).stdout).toMatch(/2 created, .* 0 unchanged\n$/);
    expect(await workspace.nameOf(await workspace.read("etc/api-keys/dashboard.key"))).toBe("dashboard");
    const manifest = await workspace.read("keys.yaml");
    await workspace.write("keys.yaml", manifest.slice(0, manifest.indexOf("  - name: dashboard")));
    expect((await runStep("Apply the manifest")).stdout).toMatch(/1 deleted, 1 unchanged\n$/);
    expect(await workspace.keyNames()).toEqual(["keeper", "backup"]);
  },
);
