/** `with-key.sh`: a key that exists only while a command runs. */
import { expect } from "expect";
import { outcomeOf } from "../execute.ts";
import { until } from "../server/until.ts";
import { testWith } from "../tools.ts";
import { openWorkspace, type Workspace, writeDeploy } from "./workspace.ts";

const DELETED = "Successfully deleted 1 API key\n";

function withKey(
  workspace: Workspace,
  command: readonly string[],
  shell: readonly string[] = ["sh"],
): readonly string[] {
  return [...shell, `${workspace.directory}/with-key.sh`, "job 42", "DOCKER:READ_ANY", ...command];
}

/** Sends a signal to with-key after COMMAND has started, and checks that COMMAND ended and the key was deleted. */
async function expectStop(
  workspace: Workspace,
  shell: readonly string[],
  signal: Deno.Signal,
  code: number,
): Promise<void> {
  const [executable = "", ...args] = withKey(workspace, ["./deploy"], shell);
  const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const options = { args, cwd: workspace.directory, env: { ...workspace.env }, clearEnv: true, ...streams };
  const child = new Deno.Command(executable, options).spawn();
  const outcome = outcomeOf(child, "");
  await until(() => workspace.read("started").then(() => true, () => false));
  const deploy = await workspace.read("started");
  await Deno.remove(`${workspace.directory}/started`);
  child.kill(signal);
  expect(await outcome).toEqual({ code, stdout: "", stderr: expect.stringContaining(DELETED) });
  expect(await workspace.keyNames()).toEqual([]);
  await until(async () => (await workspace.run(["sh", "-c", `kill -0 ${deploy}`])).code !== 0);
}

for (const shell of [["bash"], ["dash"], ["busybox", "sh"]]) {
  const [program = ""] = shell;
  testWith(
    [program],
    `with-key in ${shell.join(" ")} creates a key, runs COMMAND with it, and deletes the key`,
    async () => {
      await using workspace = await openWorkspace();
      await writeDeploy(workspace, 'printf "<%s>" "$@" "${SERVICE_API_KEY_FILE-no other key}"; exit 7');
      expect(await workspace.run(withKey(workspace, ["./deploy", "one", "two  words", ""], shell))).toEqual({
        code: 7,
        stdout: "<one><two  words><><no other key>",
        stderr: DELETED,
      });
      expect(await workspace.read("used")).toBe('{"data":{"me":{"name":"job 42"}}}\n');
      expect(await workspace.keyNames()).toEqual([]);
    },
  );

  testWith([program], `with-key in ${shell.join(" ")} stops COMMAND and deletes the key after a signal`, async () => {
    await using workspace = await openWorkspace();
    await writeDeploy(workspace, "echo $$ > pid; mv pid started; exec sleep 60");
    await expectStop(workspace, shell, "SIGTERM", 143);
    await expectStop(workspace, shell, "SIGINT", 130);
    await expectStop(workspace, shell, "SIGHUP", 129);
  });
}

testWith(["sh"], "with-key passes its standard input to COMMAND", async () => {
  await using workspace = await openWorkspace();
  const script = withKey(workspace, ["cat"]).map((word) => `'${word}'`).join(" ");
  expect(await workspace.run(["sh", "-c", `echo input | ${script}`])).toMatchObject({ code: 0, stdout: "input\n" });
});

testWith(["sh"], "with-key does not print the secret under sh -x", async () => {
  await using workspace = await openWorkspace();
  const { code, stderr } = await workspace.run(withKey(workspace, ["sh", "-c", "exit"], ["sh", "-x"]));
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(DELETED) });
});

testWith(
  ["sh"],
  "if with-key cannot delete the key, it prints the command to run and exits with the exit code of COMMAND",
  async () => {
    await using workspace = await openWorkspace();
    await workspace.write(
      "deploy",
      '#!/bin/sh\nSERVICE_API_KEY_FILE=admin.key service-api apikey --delete --name "job 42"\nexit 7\n',
      0o755,
    );
    expect(await workspace.run(withKey(workspace, ["./deploy"]))).toEqual({
      code: 7,
      stdout: DELETED,
      stderr: expect.stringContaining(
        'with-key: could not delete the key "job 42". Run: service-api apikey --delete --name "job 42"\n',
      ),
    });
  },
);

testWith(
  ["sh"],
  "with-key deletes the key and does not run COMMAND if the server's response is lost",
  async () => {
    await using workspace = await openWorkspace();
    await writeDeploy(workspace);
    const program = `${workspace.directory}/bin/service-api`;
    await workspace.write(
      "losing/service-api",
      `#!/bin/sh\ncase $2 in --create) "${program}" "$@" > created; exit 4 ;; *) exec "${program}" "$@" ;; esac\n`,
      0o755,
    );
    const env = { PATH: `${workspace.directory}/losing:${workspace.env["PATH"]}` };
    expect(await workspace.run(withKey(workspace, ["./deploy"]), { env })).toEqual({
      code: 4,
      stdout: "",
      stderr: DELETED,
    });
    expect(await workspace.read("created")).toMatch(/^sak_/);
    expect(await workspace.keyNames()).toEqual([]);
    await expect(workspace.read("used")).rejects.toThrow(Deno.errors.NotFound);
  },
);

testWith(["sh"], "with-key keeps an existing key with the same name and does not run COMMAND", async () => {
  await using workspace = await openWorkspace();
  await writeDeploy(workspace);
  await workspace.createKey("job 42", "--roles", "GUEST");
  expect(await workspace.run(withKey(workspace, ["./deploy"]))).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("already exists"),
  });
  expect(await workspace.keyNames()).toEqual(["job 42"]);
  await expect(workspace.read("used")).rejects.toThrow(Deno.errors.NotFound);
});
