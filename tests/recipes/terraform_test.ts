/** `terraform.tf`: a key as a resource. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

/** Runs Terraform without colours, questions or a look at the network. */
function terraform(here: Workspace, ...args: readonly string[]): Promise<Outcome> {
  const env = { CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1", TF_INPUT: "0", TF_CLI_ARGS: "-no-color" };
  return here.run(["terraform", ...args], { env });
}

testWith(
  ["terraform", "sh", "jq"],
  "Terraform creates the key once, keeps no secret in its state, and deletes the key",
  async () => {
    await using here = await openWorkspace();
    expect(await terraform(here, "fmt", "-check")).toMatchObject({ code: 0, stdout: "" });
    expect(await terraform(here, "init")).toMatchObject({ code: 0 });
    expect(await terraform(here, "apply", "-auto-approve")).toMatchObject({ code: 0 });
    const secret = await here.read("backup.key");
    expect(await here.nameOf(secret)).toBe("backup");
    expect(await modeOf(`${here.directory}/backup.key`)).toBe("600");
    expect(await terraform(here, "plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await here.read("terraform.tfstate")).not.toMatch(/sak_/);

    const admin = await here.read("admin.key");
    await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
    expect(await terraform(here, "destroy", "-auto-approve")).toMatchObject({ code: 1 });
    expect(await here.nameOf(await here.read("backup.key"))).toBe("backup");
    await here.write("admin.key", admin);

    // A key that is already gone is not a failure.
    await here.run(["service-api", "apikey", "--delete", "--name", "backup"]);
    expect(await terraform(here, "destroy", "-auto-approve")).toMatchObject({ code: 0 });
    await expect(here.read("backup.key")).rejects.toThrow(Deno.errors.NotFound);
    expect(await here.keyNames()).toEqual(["weak"]);
  },
);
