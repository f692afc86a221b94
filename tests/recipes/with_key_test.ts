/** `with-key.sh`: a key that exists as long as a command runs. */
import { expect } from "expect";
import { outcomeOf } from "../execute.ts";
import { until } from "../server/until.ts";
import { testWith } from "../tools.ts";
import { openWorkspace, type Workspace, writeDeploy } from "./workspace.ts";

const DELETED = "Successfully deleted 1 API key\n";

function withKey(here: Workspace, command: readonly string[], shell: readonly string[] = ["sh"]): readonly string[] {
  return [...shell, `${here.directory}/with-key.sh`, "job 42", "DOCKER:READ_ANY", ...command];
}

/** Runs a job until its command has started, sends it a signal, and checks that the command and the key are gone. */
async function expectStop(here: Workspace, shell: readonly string[], signal: Deno.Signal, code: number): Promise<void> {
  const [executable = "", ...args] = withKey(here, ["./deploy"], shell);
  const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const options = { args, cwd: here.directory, env: { ...here.env }, clearEnv: true, ...streams };
  const child = new Deno.Command(executable, options).spawn();
  const outcome = outcomeOf(child, "");
  await until(() => here.read("started").then(() => true, () => false));
  const deploy = await here.read("started");
  await Deno.remove(`${here.directory}/started`);
  child.kill(signal);
  expect(await outcome).toEqual({ code, stdout: "", stderr: expect.stringContaining(DELETED) });
  expect(await here.keyNames()).toEqual([]);
  await until(async () => (await here.run(["sh", "-c", `kill -0 ${deploy}`])).code !== 0);
}

for (const shell of [["bash"], ["dash"], ["busybox", "sh"]]) {
  const [program = ""] = shell;
  testWith(
    [program],
    `with-key in ${shell.join(" ")}: the command has a key, which is deleted afterwards`,
    async () => {
      await using here = await openWorkspace();
      await writeDeploy(here, 'printf "<%s>" "$@" "${SERVICE_API_KEY_FILE-no other key}"; exit 7');
      expect(await here.run(withKey(here, ["./deploy", "one", "two  words", ""], shell))).toEqual({
        code: 7,
        stdout: "<one><two  words><><no other key>",
        stderr: DELETED,
      });
      expect(await here.read("used")).toBe('{"data":{"me":{"name":"job 42"}}}\n');
      expect(await here.keyNames()).toEqual([]);
    },
  );

  testWith([program], `with-key in ${shell.join(" ")}: a signal ends the command, and the key is deleted`, async () => {
    await using here = await openWorkspace();
    await writeDeploy(here, "echo $$ > pid; mv pid started; exec sleep 60");
    await expectStop(here, shell, "SIGTERM", 143);
    await expectStop(here, shell, "SIGINT", 130);
    await expectStop(here, shell, "SIGHUP", 129);
  });
}

testWith(["sh"], "with-key: the command reads the standard input of the script", async () => {
  await using here = await openWorkspace();
  const script = withKey(here, ["cat"]).map((word) => `'${word}'`).join(" ");
  expect(await here.run(["sh", "-c", `echo input | ${script}`])).toMatchObject({ code: 0, stdout: "input\n" });
});

testWith(["sh"], "with-key: a trace does not show the secret", async () => {
  await using here = await openWorkspace();
  const { code, stderr } = await here.run(withKey(here, ["sh", "-c", "exit"], ["sh", "-x"]));
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(DELETED) });
});

testWith(["sh"], "with-key: a failed deletion is reported, and the exit code is that of the command", async () => {
  await using here = await openWorkspace();
  await here.write(
    "deploy",
    '#!/bin/sh\nSERVICE_API_KEY_FILE=admin.key service-api apikey --delete --name "job 42"\nexit 7\n',
    0o755,
  );
  expect(await here.run(withKey(here, ["./deploy"]))).toEqual({
    code: 7,
    stdout: DELETED,
    stderr: expect.stringContaining('with-key: could not delete the key "job 42". Delete it by hand.\n'),
  });
});

testWith(
  ["sh"],
  "with-key: a key is deleted if the answer of the server is lost, and the command does not run",
  async () => {
    await using here = await openWorkspace();
    await writeDeploy(here);
    const program = `${here.directory}/bin/service-api`;
    await here.write(
      "losing/service-api",
      `#!/bin/sh\ncase $2 in --create) "${program}" "$@" > created; exit 4 ;; *) exec "${program}" "$@" ;; esac\n`,
      0o755,
    );
    const env = { PATH: `${here.directory}/losing:${here.env["PATH"]}` };
    expect(await here.run(withKey(here, ["./deploy"]), { env })).toEqual({ code: 4, stdout: "", stderr: DELETED });
    expect(await here.read("created")).toMatch(/^sak_/);
    expect(await here.keyNames()).toEqual([]);
    await expect(here.read("used")).rejects.toThrow(Deno.errors.NotFound);
  },
);

testWith(["sh"], "with-key: a key of the same name is left alone, and the command does not run", async () => {
  await using here = await openWorkspace();
  await writeDeploy(here);
  await here.createKey("job 42", "--roles", "GUEST");
  expect(await here.run(withKey(here, ["./deploy"]))).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("already exists"),
  });
  expect(await here.keyNames()).toEqual(["job 42"]);
  await expect(here.read("used")).rejects.toThrow(Deno.errors.NotFound);
});
