/** `ansible.yml`: a key for each host of a fleet. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

const FILE = "etc/backup/api.key";
/** The name of the key of the host db-1.example.com. */
const NAME = "backup db 1 example com";

async function openFleet(): Promise<Workspace> {
  const here = await openWorkspace();
  await here.write("tasks/api_key.yml", await here.recipe("ansible.yml"));
  await here.write(
    "play.yml",
    "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.import_tasks: tasks/api_key.yml\n",
  );
  await here.write("hosts", "db-1.example.com ansible_connection=local ansible_python_interpreter=auto_silent\n");
  await Deno.mkdir(`${here.directory}/etc/backup`, { recursive: true });
  return here;
}

/** Runs the play. `changed` is the number of tasks that changed something. */
async function play(here: Workspace, ...args: readonly string[]): Promise<Outcome & { readonly changed: number }> {
  const home = `${here.directory}/ansible`;
  const env = { LC_ALL: "C.UTF-8", ANSIBLE_NOCOLOR: "1", ANSIBLE_HOME: home, ANSIBLE_REMOTE_TMP: home };
  const outcome = await here.run(["ansible-playbook", "-vvv", "--diff", "-i", "hosts", "play.yml", ...args], { env });
  return { ...outcome, changed: Number(/ changed=(\d+) /.exec(outcome.stdout)?.[1]) };
}

testWith(["ansible-playbook"], "Ansible creates the key of a host once, and shows its secret nowhere", async () => {
  await using here = await openFleet();
  // As after a run that was interrupted before it wrote the secret.
  await here.createKey(NAME, "--roles", "GUEST");
  expect(await play(here)).toMatchObject({ code: 0, changed: 2 });
  const secret = await here.read(FILE);
  expect(await here.nameOf(secret)).toBe(NAME);
  expect(await modeOf(`${here.directory}/${FILE}`)).toBe("600");
  expect(await play(here)).toMatchObject({ code: 0, changed: 0 });
  expect(await here.read(FILE)).toBe(secret);

  expect(await play(here, "-e", "api_key_state=absent")).toMatchObject({ code: 0, changed: 2 });
  expect(await here.keyNames()).toEqual([]);
  await expect(here.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
});

testWith(
  ["ansible-playbook"],
  "Ansible fails and writes no file if its key may not create or delete keys",
  async () => {
    await using here = await openFleet();
    await here.write("admin.key", await here.createKey("weak", "--roles", "GUEST"));
    expect(await play(here)).toMatchObject({ code: 2 });
    await expect(here.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
    const deletion = await play(here, "-e", "api_key_state=absent");
    expect(deletion).toMatchObject({ code: 2, stdout: expect.stringContaining("FORBIDDEN") });
  },
);
