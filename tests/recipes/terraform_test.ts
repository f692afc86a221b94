/** The recipes for Terraform: the commands of the resource and the program of the data source, and Terraform itself. */
import { expect } from "expect";
import { parse } from "@cdktf/hcl2json";
import type { Outcome } from "../execute.ts";
import { recipe } from "./blocks.ts";
import { modeOf, openPlace, type Place } from "./place.ts";
import { testWith } from "../tools.ts";

const [, , RESOURCE = "", DATA = "", PROGRAM = ""] = recipe("Ansible and Terraform", [
  "yaml",
  "yaml",
  "hcl",
  "hcl",
  "sh",
]);

interface Provisioner {
  readonly when?: string;
  readonly command: string;
  readonly environment: string;
}

const {
  resource: { terraform_data: { backup_key: [RESOURCES] } },
} = await parse("key.tf", RESOURCE);
const { data: { external: { backup_key: [SOURCE] } } } = await parse("data.tf", DATA);
const [CREATION, DELETION]: readonly Provisioner[] = RESOURCES.provisioner["local-exec"];

/** Runs a command of the resource as Terraform does. */
function provision(
  here: Place,
  { command, environment }: Provisioner = { command: "", environment: "" },
): Promise<Outcome> {
  expect(environment).toBe("${self.triggers_replace}");
  return here.run(["/bin/sh", "-c", command], { env: { ...here.env, ...RESOURCES.triggers_replace } });
}

/** Asks the data source, as Terraform does with every plan. */
async function ask(here: Place): Promise<Outcome> {
  await here.write("key_info.sh", PROGRAM);
  const [program = "", ...args]: readonly string[] = SOURCE.program;
  const stdin = JSON.stringify({ name: RESOURCES.triggers_replace.name });
  return await here.run([program, ...args.map((word) => word.replace("${path.module}", "."))], { stdin });
}

testWith(["sh", "jq"], "Terraform's resource makes a key, and deletes it, unless it is gone", async () => {
  await using here = await openPlace();
  expect(DELETION?.when).toBe("${destroy}");
  expect(await provision(here, CREATION)).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await here.nameOf((await here.read("backup.key")).trim())).toBe("backup");
  expect(await modeOf(`${here.directory}/backup.key`)).toBe("0600");
  // As after a run that broke off.
  expect(await provision(here, CREATION)).toMatchObject({ code: 0 });

  expect(await provision(here, DELETION)).toMatchObject({ code: 0, stdout: "1\n" });
  expect(await here.keyNames()).toEqual([]);
  expect(await provision(here, DELETION)).toMatchObject({ code: 0, stdout: "0\n" });
  await here.createKey("backup", "--roles", "GUEST");
  await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
  const refused = await provision(here, DELETION);
  expect(refused).toEqual({ code: 5, stdout: "", stderr: expect.stringContaining("API_KEY:READ_OWN") });
});

testWith(
  ["sh", "jq"],
  "Terraform's data source says the same of a key at every plan, and changes nothing",
  async () => {
    await using here = await openPlace();
    expect(SOURCE.query).toEqual({ name: "${terraform_data.backup_key.triggers_replace.name}" });
    await provision(here, CREATION);
    const secret = await here.read("backup.key");
    const first = await ask(here);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toEqual({
      id: expect.stringMatching(/^key_\w{22}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(await ask(here)).toEqual(first);
    expect(await here.keyNames()).toEqual(["backup"]);
    expect(await here.nameOf(secret.trim())).toBe("backup");

    await here.run(["service-api", "apikey", "--delete", "--name", "backup"]);
    expect(await ask(here)).toEqual({ code: 5, stdout: "", stderr: expect.stringContaining("there is no such key") });
    await Deno.remove(`${here.directory}/admin.key`);
    expect(await ask(here)).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining("SERVICE_API_KEY_FILE") });
  },
);

testWith(["terraform", "jq"], "Terraform makes the key once, knows no secret, and deletes the key", async () => {
  await using here = await openPlace();
  await here.write("key.tf", RESOURCE);
  const env = { ...here.env, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1", TF_CLI_ARGS: "-no-color" };
  const terraform = (...args: readonly string[]): Promise<Outcome> => here.run(["terraform", ...args], { env });
  expect(await terraform("init", "-input=false")).toMatchObject({ code: 0 });
  expect(await terraform("apply", "-auto-approve", "-input=false")).toMatchObject({ code: 0 });
  const secret = await here.read("backup.key");
  expect(await here.nameOf(secret.trim())).toBe("backup");
  expect(await terraform("plan", "-detailed-exitcode", "-input=false")).toMatchObject({ code: 0 });
  expect(await here.read("terraform.tfstate")).not.toMatch(/sak_/);
  expect(await terraform("destroy", "-auto-approve", "-input=false")).toMatchObject({ code: 0 });
  expect(await here.keyNames()).toEqual([]);

  await here.write("data.tf", DATA);
  expect(await terraform("fmt", "-check")).toMatchObject({ code: 0, stdout: "" });
});
