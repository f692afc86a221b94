/** `rotate-key.sh`, its crontab and systemd units, and the README's commands for the rotator key and for pass. */
import { expect } from "expect";
import { findProgram, testWith } from "../tools.ts";
import { execute } from "../execute.ts";
import { commandsOf } from "./readme.ts";
import { commandOfUnit, expectValidUnits, testWithSystemd } from "./systemd.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

const TOOLS = ["sh", "flock", "install", "readlink"] as const;
const FILE = "etc/backup/api.key";
const SILENT = { code: 0, stdout: "", stderr: "" } as const;

const [setUp = "", replaceRotator = ""] = commandsOf("Rotation", 2);
const [storeInPass = ""] = commandsOf("Secrets managers", 1);

/** Opens a workspace and runs the README's set-up commands, which rotate the key for the first time. */
async function openRotation(): Promise<Workspace> {
  const workspace = await openWorkspace();
  expect(await workspace.run(["sh", "-euc", workspace.adapt(setUp)])).toEqual(SILENT);
  return {
    ...workspace,
    env: { ...workspace.env, SERVICE_API_KEY_FILE: `${workspace.directory}/etc/service-api/rotator.key` },
  };
}

/** Rotates the key in `FILE` with the rotator key. `env` overrides variables of the workspace. */
function rotate(
  workspace: Workspace,
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [],
): ReturnType<Workspace["run"]> {
  return workspace.run(["rotate-key", "backup", FILE, "DISK:READ_ANY", ...command], {
    env: { ...workspace.env, ...env },
  });
}

/** Rotates the key, checks that the new secret belongs to the key with this name, and returns the secret. */
async function rotateTo(workspace: Workspace, name: string): Promise<string> {
  expect(await rotate(workspace)).toEqual(SILENT);
  const secret = await workspace.read(FILE);
  expect(await workspace.nameOf(secret)).toBe(name);
  return secret;
}

/** Checks that a rotation fails, that the file keeps its working secret, and that the next rotation succeeds. */
async function expectFailure(workspace: Workspace, code: number, act: () => ReturnType<typeof rotate>): Promise<void> {
  const before = await workspace.read(FILE);
  expect(await act()).toMatchObject({ code, stdout: "" });
  expect(await workspace.read(FILE)).toBe(before);
  expect(await workspace.nameOf(before)).toBe("backup A");
  await rotateTo(workspace, "backup B");
}

testWith(
  TOOLS,
  "rotate-key writes a new secret to the file, and the previous secret still works",
  async () => {
    await using workspace = await openRotation();
    const first = await workspace.read(FILE);
    const second = await rotateTo(workspace, "backup B");
    expect(await workspace.nameOf(first)).toBe("backup A");
    await rotateTo(workspace, "backup A");
    expect(await Promise.all([first, second].map(workspace.nameOf))).toEqual([undefined, "backup B"]);
    await rotateTo(workspace, "backup B");
    expect(await workspace.keyNames()).toEqual(["rotator", "backup A", "backup B"]);
  },
);

testWith(
  TOOLS,
  "rotate-key writes files that only the owner can read, and passes no secret as an argument",
  async () => {
    await using workspace = await openRotation();
    const traced = await workspace.run(["sh", "-x", "rotate-key.sh", "backup", FILE, "DISK:READ_ANY", "cat"], {
      env: workspace.env,
      printsSecret: true,
    });
    expect(traced).toMatchObject({ code: 0, stdout: (await workspace.read(FILE)).trim() });
    expect(traced.stderr).toContain("mv -f");
    expect(traced.stderr).not.toMatch(/sak_/);
    const files = await Array.fromAsync(Deno.readDir(`${workspace.directory}/etc/backup`), ({ name }) => name);
    expect(files.toSorted()).toEqual(["api.key", "api.key.A", "api.key.B", "api.key.lock"]);
    const paths = [...files.map((name) => `etc/backup/${name}`), "etc/service-api/rotator.key"];
    for (const path of paths) {
      // deno-lint-ignore no-await-in-loop -- there are only a few files
      expect([path, await modeOf(`${workspace.directory}/${path}`)]).toEqual([path, "600"]);
    }
  },
);

testWith(TOOLS, "rotate-key replaces FILE even if FILE is a regular file", async () => {
  await using workspace = await openRotation();
  await Deno.remove(`${workspace.directory}/${FILE}`);
  await workspace.write(FILE, await workspace.createKey("by hand", "--roles", "GUEST"));
  await rotateTo(workspace, "backup A");
});

testWith(TOOLS, "rotate-key leaves the working secret in the file if the server's response is lost", async () => {
  await using workspace = await openRotation();
  const program = `${workspace.directory}/bin/service-api`;
  const lose = `"${program}" "$@" && rm "${workspace.directory}/${FILE}.B"`;
  await workspace.write("losing/service-api", `#!/bin/sh\n${lose}\nexit 4\n`, 0o755);
  await expectFailure(
    workspace,
    4,
    () => rotate(workspace, { PATH: `${workspace.directory}/losing:${workspace.env["PATH"]}` }),
  );
});

testWith(TOOLS, "rotate-key leaves the working secret in the file if COMMAND fails", async () => {
  await using workspace = await openRotation();
  await expectFailure(workspace, 7, () => rotate(workspace, {}, ["sh", "-c", "cat >/dev/null; exit 7"]));
});

testWith(TOOLS, "rotate-key fails while another process rotates the same file", async () => {
  await using workspace = await openRotation();
  const lock = await Deno.open(`${workspace.directory}/${FILE}.lock`);
  await lock.lock(true);
  await expectFailure(workspace, 1, async () => {
    const outcome = await rotate(workspace);
    expect(outcome.stderr).toBe(
      `rotate-key: another process is rotating ${FILE}. Wait until it ends, then run rotate-key again.\n`,
    );
    lock.close();
    return outcome;
  });
});

testWith(
  TOOLS,
  "the rotator key can replace itself, and the new rotator key can replace the keys that the old one created",
  async () => {
    await using workspace = await openRotation();
    await rotate(workspace);
    const before = await workspace.read("etc/service-api/rotator.key");
    expect(await workspace.run(["sh", "-euc", workspace.adapt(replaceRotator)])).toEqual(SILENT);
    expect(await workspace.nameOf(before)).toBeUndefined();
    expect(await workspace.nameOf(await workspace.read("etc/service-api/rotator.key"))).toBe("rotator");
    expect(await modeOf(`${workspace.directory}/etc/service-api/rotator.key`)).toBe("600");
    await rotateTo(workspace, "backup A");
  },
);

testWith(
  [...TOOLS, "pass", "gpg"],
  "the README's commands store the new secret in pass and use it",
  async () => {
    await using workspace = await openRotation();
    const { directory } = workspace;
    const env = { ...workspace.env, GNUPGHOME: `${directory}/gnupg`, PASSWORD_STORE_DIR: `${directory}/passwords` };
    await Deno.mkdir(env.GNUPGHOME, { mode: 0o700 });
    const generate = "gpg --batch --quiet --passphrase '' --quick-generate-key ops@example.com future-default";
    expect(await workspace.run(["sh", "-c", `${generate} && pass init ops@example.com`], { env })).toMatchObject({
      code: 0,
    });
    try {
      expect(await workspace.run(["sh", "-euc", storeInPass], { env })).toEqual({
        code: 0,
        stdout: '{"data":{"me":{"name":"report A"}}}\n',
        stderr: "",
      });
    } finally {
      await workspace.run(["gpgconf", "--kill", "all"], { env });
    }
  },
);

testWith(TOOLS, "the command of the crontab rotates the key with the variables of the crontab", async () => {
  await using workspace = await openRotation();
  const lines = (await workspace.recipe("rotate-backup-key.cron")).split("\n").filter((line) => !line.startsWith("#"));
  const env = Object.fromEntries(lines.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split("=", 2)));
  const [, command = ""] = /^(?:\S+ ){5}root (.+)$/m.exec(lines.join("\n")) ?? [];
  // cron(8) turns an unescaped percent sign into a line break.
  expect(command).not.toContain("%");
  const options = { cwd: workspace.directory, env: { ...env, HOME: workspace.directory }, clearEnv: true };
  expect(await execute("/bin/sh", ["-c", command], options)).toEqual(SILENT);
  expect(await workspace.nameOf(await workspace.read(FILE))).toBe("backup B");
});

/** The help of `crontab`, which shows whether `crontab` can check a file without installing it. */
const help = findProgram("crontab") && await execute("crontab", ["-h"]).then(({ stderr }) => stderr).catch(() => "");
/** The flag for this check: `-T` in cronie, `-n` in Debian. */
const checkFlag = /^\s*-T\b/m.test(help ?? "") ? "-T" : /-n\b.*dry run/.test(help ?? "") ? "-n" : undefined;

Deno.test({
  name: `the crontab is valid${checkFlag ? "" : " (skipped: no crontab program that can check files is installed)"}`,
  ignore: checkFlag === undefined,
  fn: async () => {
    await using workspace = await openWorkspace();
    // Lines in /etc/cron.d name the user. The crontab program accepts only lines without a user.
    const table = (await workspace.recipe("rotate-backup-key.cron")).replace(" root ", " ");
    const check = async (text: string): Promise<number> => {
      await workspace.write("table", text);
      return (await workspace.run(["crontab", checkFlag ?? "", "table"])).code;
    };
    expect([await check(table), await check(table.replace("\n17 ", "\n77 "))]).toEqual([0, 1]);
  },
});

testWith(
  TOOLS,
  "the command of the systemd service rotates the key with the rotator key in the credentials of the service",
  async () => {
    await using workspace = await openRotation();
    const { command, env } = commandOfUnit(await workspace.recipe("rotate-backup-key.service"), workspace);
    await workspace.write("state/backup-key/.keep", "");
    await workspace.write("credentials/rotator.key", await workspace.read("etc/service-api/rotator.key"), 0o400);
    expect(await workspace.run(command, { env })).toEqual(SILENT);
    expect(await workspace.nameOf(await workspace.read("state/backup-key/api.key"))).toMatch(/^backup /);
  },
);

testWithSystemd("systemd accepts the service and the timer, and the timer starts every week", async () => {
  await using workspace = await openWorkspace();
  await workspace.write("bin/rotate-key", "#!/bin/sh\n", 0o755);
  await expectValidUnits(workspace, ["rotate-backup-key.service", "rotate-backup-key.timer"]);
  const [, calendar = ""] = /^OnCalendar=(.+)$/m.exec(await workspace.recipe("rotate-backup-key.timer")) ?? [];
  const { stdout } = await workspace.run(["systemd-analyze", "calendar", calendar]);
  expect(stdout).toContain("Mon *-*-* 00:00:00");
});
