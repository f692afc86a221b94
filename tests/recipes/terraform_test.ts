/** `terraform.tf`: a key as a resource. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

/** Runs Terraform without colours, prompts or checks for updates. */
function terraform(workspace: Workspace, ...args: readonly string[]): Promise<Outcome> {
  const env = { CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1", TF_INPUT: "0", TF_CLI_ARGS: "-no-color" };
  return workspace.run(["terraform", ...args], { env });
}

testWith(
  ["terraform", "sh", "jq"],
  "Terraform creates the key once, keeps no secret in its state, and deletes the key",
  async () => {
    await using workspace = await openWorkspace();
    expect(await terraform(workspace, "fmt", "-check")).toMatchObject({ code: 0, stdout: "" });
    expect(await terraform(workspace, "init")).toMatchObject({ code: 0 });
    expect(await terraform(workspace, "apply", "-auto-approve")).toMatchObject({ code: 0 });
    const secret = await workspace.read("backup.key");
    expect(await workspace.nameOf(secret)).toBe("backup");
    expect(await modeOf(`${workspace.directory}/backup.key`)).toBe("600");
    expect(await terraform(workspace, "plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await workspace.read("terraform.tfstate")).not.toMatch(/sak_/);

    const admin = await workspace.read("admin.key");
    await workspace.write("admin.key", await workspace.createKey("weak", "--roles", "GUEST"));
    expect(await terraform(workspace, "destroy", "-auto-approve")).toMatchObject({ code: 1 });
    expect(await workspace.nameOf(await workspace.read("backup.key"))).toBe("backup");
    await workspace.write("admin.key", admin);

    expect(await terraform(workspace, "destroy", "-auto-approve")).toMatchObject({ code: 0 });
    expect(await workspace.keyNames()).toEqual(["weak"]);

    // Destroying the resource succeeds even if the key was already deleted.
    expect(await terraform(workspace, "apply", "-auto-approve")).toMatchObject({ code: 0 });
    await workspace.run(["service-api", "apikey", "--delete", "--name", "backup"]);
    expect(await terraform(workspace, "destroy", "-auto-approve")).toMatchObject({ code: 0 });
    await expect(workspace.read("backup.key")).rejects.toThrow(Deno.errors.NotFound);
    expect(await workspace.keyNames()).toEqual(["weak"]);
  },
);
