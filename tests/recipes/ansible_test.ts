/** The recipes for Ansible: the commands of their tasks, and, where there is Ansible, the tasks in a play. */
import { expect } from "expect";
import { parse } from "yaml";
import type { Outcome } from "../execute.ts";
import { recipe } from "./blocks.ts";
import { modeOf, openPlace, type Place } from "./place.ts";
import { testWith } from "../tools.ts";

const [CREATE = "", DELETE = ""] = recipe("Ansible and Terraform", ["yaml", "yaml", "hcl", "hcl", "sh"]);

/** What Ansible calls the host that gets a key, and what the name of that key is. */
const HOST = "db-1.example.com";
const NAME = "backup db 1 example com";

const FILE = "etc/backup/api.key";

async function place(): Promise<Place> {
  const here = await openPlace([["/etc/", "DIRECTORY/etc/"]]);
  await Deno.mkdir(`${here.directory}/etc/backup`, { recursive: true });
  return here;
}

interface Task {
  readonly name: string;
  readonly "ansible.builtin.command"?: { readonly argv: readonly string[] };
}

/** Runs the command of the one task that has one. */
function runCommand(here: Place, tasks: string, printsSecret: boolean): Promise<Outcome> {
  const list: readonly Task[] = parse(tasks);
  const commands = list.flatMap((task) => task["ansible.builtin.command"] ?? []);
  expect(commands).toHaveLength(1);
  const words = commands.flatMap(({ argv }) => argv);
  return here.run(words.map((word) => word.replace(/\{\{ inventory_hostname .*? \}\}/, "db 1 example com")), {
    printsSecret,
  });
}

testWith(["sh"], "Ansible's commands make a key again and delete it, and only a failure has a code", async () => {
  await using here = await place();
  const secrets = [await runCommand(here, CREATE, true), await runCommand(here, CREATE, true)];
  expect(secrets).toEqual(Array(2).fill({ code: 0, stdout: expect.stringMatching(/^sak_\w+\n$/), stderr: "" }));
  expect(await Promise.all(secrets.map(({ stdout }) => here.nameOf(stdout.trim())))).toEqual([undefined, NAME]);

  await here.createKey("other", "--roles", "GUEST");
  const deletions = [await runCommand(here, DELETE, false), await runCommand(here, DELETE, false)];
  await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
  const answers = [...deletions, await runCommand(here, DELETE, false)].map(({ stdout }) => JSON.parse(stdout));
  expect(answers.map(({ deleted, code }) => ({ deleted, code }))).toEqual([
    { deleted: 1, code: undefined },
    { deleted: 0, code: undefined },
    { deleted: 0, code: "FORBIDDEN" },
  ]);
});

/** Runs tasks in a play, and returns what Ansible printed and how many tasks changed something. */
async function play(here: Place, tasks: string): Promise<Outcome & { readonly changed: number }> {
  const indented = here.adapt(tasks).replaceAll(/^(?=.)/gm, "    ");
  await here.write("play.yml", `- hosts: all\n  gather_facts: false\n  tasks:\n${indented}`);
  await here.write("hosts", `${HOST} ansible_connection=local ansible_python_interpreter=auto_silent\n`);
  const env = { ...here.env, LC_ALL: "C.UTF-8", ANSIBLE_NOCOLOR: "1", ANSIBLE_HOME: `${here.directory}/ansible` };
  const outcome = await here.run(["ansible-playbook", "-vvv", "-i", "hosts", "play.yml"], { env });
  return { ...outcome, changed: Number(/ changed=(\d+) /.exec(outcome.stdout)?.[1]) };
}

testWith(["ansible-playbook"], "a play puts a key on a host once, and shows its secret nowhere", async () => {
  await using here = await place();
  expect(await play(here, CREATE)).toMatchObject({ code: 0, changed: 2 });
  const secret = await here.read(FILE);
  expect(await here.nameOf(secret.trim())).toBe(NAME);
  expect(await modeOf(`${here.directory}/${FILE}`)).toBe("0600");

  expect(await play(here, CREATE)).toMatchObject({ code: 0, changed: 0 });
  expect(await here.read(FILE)).toBe(secret);
  expect(await here.keyNames()).toEqual([NAME]);
});

testWith(
  ["ansible-playbook"],
  "a play that got no key leaves no file, and one that broke off is made up for",
  async () => {
    await using here = await place();
    await Deno.rename(`${here.directory}/admin.key`, `${here.directory}/away.key`);
    await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
    expect(await play(here, CREATE)).toMatchObject({ code: 2 });
    await expect(here.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
    await Deno.rename(`${here.directory}/away.key`, `${here.directory}/admin.key`);
    await here.createKey(NAME, "--roles", "GUEST");
    expect(await play(here, CREATE)).toMatchObject({ code: 0, changed: 2 });
    expect(await here.nameOf((await here.read(FILE)).trim())).toBe(NAME);
  },
);

testWith(["ansible-playbook"], "a play takes a key away once, and fails where it may not", async () => {
  await using here = await place();
  await here.createKey("other", "--roles", "GUEST");
  await here.write(FILE, await here.createKey(NAME, "--roles", "GUEST"));
  expect(await play(here, DELETE)).toMatchObject({ code: 0, changed: 2 });
  expect(await here.keyNames()).toEqual(["other"]);
  await expect(here.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
  expect(await play(here, DELETE)).toMatchObject({ code: 0, changed: 0 });

  await here.createKey(NAME, "--roles", "GUEST");
  await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
  expect(await play(here, DELETE)).toMatchObject({ code: 2, stdout: expect.stringContaining("FORBIDDEN") });
  expect(await here.keyNames()).toContain(NAME);
});
