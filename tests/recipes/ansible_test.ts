/** `ansible.yml`: a key for each host of a fleet. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

const FILE = "etc/backup/api.key";
/** The name of the key of the host db-1.example.com. */
const NAME = "backup db 1 example com";

async function openFleet(): Promise<Workspace> {
  const workspace = await openWorkspace();
  await workspace.write("tasks/api_key.yml", await workspace.recipe("ansible.yml"));
  await workspace.write(
    "play.yml",
    "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.import_tasks: tasks/api_key.yml\n",
  );
  await workspace.write("hosts", "db-1.example.com ansible_connection=local ansible_python_interpreter=auto_silent\n");
  await Deno.mkdir(`${workspace.directory}/etc/backup`, { recursive: true });
  return workspace;
}

/** Runs the play. `changed` is the number of tasks that changed something. */
async function play(workspace: Workspace, ...args: readonly string[]): Promise<Outcome & { readonly changed: number }> {
  const home = `${workspace.directory}/ansible`;
  const env = { LC_ALL: "C.UTF-8", ANSIBLE_NOCOLOR: "1", ANSIBLE_HOME: home, ANSIBLE_REMOTE_TMP: home };
  const outcome = await workspace.run(["ansible-playbook", "-vvv", "--diff", "-i", "hosts", "play.yml", ...args], {
    env,
  });
  return { ...outcome, changed: Number(/ changed=(\d+) /.exec(outcome.stdout)?.[1]) };
}

testWith(["ansible-playbook"], "Ansible creates the key of a host once and never prints its secret", async () => {
  await using workspace = await openFleet();
  // An earlier run was interrupted after it created the key and before it wrote the secret.
  await workspace.createKey(NAME, "--roles", "GUEST");
  expect(await play(workspace)).toMatchObject({ code: 0, changed: 2 });
  const secret = await workspace.read(FILE);
  expect(await workspace.nameOf(secret)).toBe(NAME);
  expect(await modeOf(`${workspace.directory}/${FILE}`)).toBe("600");
  expect(await play(workspace)).toMatchObject({ code: 0, changed: 0 });
  expect(await workspace.read(FILE)).toBe(secret);

  expect(await play(workspace, "-e", "api_key_state=absent")).toMatchObject({ code: 0, changed: 2 });
  expect(await workspace.keyNames()).toEqual([]);
  await expect(workspace.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
});

testWith(
  ["ansible-playbook"],
  "Ansible fails and writes no file if its key is not allowed to create or delete keys",
  async () => {
    await using workspace = await openFleet();
    await workspace.write("admin.key", await workspace.createKey("weak", "--roles", "GUEST"));
    expect(await play(workspace)).toMatchObject({ code: 2 });
    await expect(workspace.read(FILE)).rejects.toThrow(Deno.errors.NotFound);
    const deletion = await play(workspace, "-e", "api_key_state=absent");
    expect(deletion).toMatchObject({ code: 2, stdout: expect.stringContaining("FORBIDDEN") });
  },
);
