/** `rotate-key.sh`, the crontab and the systemd units that run it, and the README's commands for the rotator key. */
import { expect } from "expect";
import { findProgram, testWith } from "../tools.ts";
import { execute } from "../execute.ts";
import { commandsOf } from "./readme.ts";
import { commandOfUnit, expectValidUnits, testWithSystemd } from "./systemd.ts";
import { modeOf, openWorkspace, type Workspace } from "./workspace.ts";

const TOOLS = ["sh", "flock", "install", "readlink", "mktemp", "sync"] as const;
const FILE = "etc/backup/api.key";
const SILENT = { code: 0, stdout: "", stderr: "" } as const;

const [setUp = "", replaceRotator = ""] = commandsOf("Rotation", 2);
const [storeInPass = ""] = commandsOf("Secrets managers", 1);

/** A workspace after the README's set-up commands, which rotate the key for the first time. */
async function openRotation(): Promise<Workspace> {
  const here = await openWorkspace();
  expect(await here.run(["sh", "-euc", here.adapt(setUp)])).toEqual(SILENT);
  return { ...here, env: { ...here.env, SERVICE_API_KEY_FILE: `${here.directory}/etc/service-api/rotator.key` } };
}

/** Rotates the key in `FILE`, with the rotator key unless `env` names another one. */
function rotate(
  here: Workspace,
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [],
): ReturnType<Workspace["run"]> {
  return here.run(["rotate-key", "backup", FILE, "DISK:READ_ANY", ...command], { env: { ...here.env, ...env } });
}

/** Rotates the key and returns the new secret, which belongs to the key with this name. */
async function rotateTo(here: Workspace, name: string): Promise<string> {
  expect(await rotate(here)).toEqual(SILENT);
  const secret = await here.read(FILE);
  expect(await here.nameOf(secret)).toBe(name);
  return secret;
}

/** Checks that a rotation fails, that the file still has the same, working secret, and that the next rotation works. */
async function expectFailure(here: Workspace, code: number, act: () => ReturnType<typeof rotate>): Promise<void> {
  const before = await here.read(FILE);
  expect(await act()).toMatchObject({ code, stdout: "" });
  expect(await here.read(FILE)).toBe(before);
  expect(await here.nameOf(before)).toBe("backup A");
  await rotateTo(here, "backup B");
}

testWith(
  TOOLS,
  "rotate-key: the file has a new secret after each run, and the secret before it still works",
  async () => {
    await using here = await openRotation();
    const first = await here.read(FILE);
    const second = await rotateTo(here, "backup B");
    expect(await here.nameOf(first)).toBe("backup A");
    await rotateTo(here, "backup A");
    expect(await Promise.all([first, second].map(here.nameOf))).toEqual([undefined, "backup B"]);
    await rotateTo(here, "backup B");
    expect(await here.keyNames()).toEqual(["rotator", "backup A", "backup B"]);
  },
);

testWith(
  TOOLS,
  "rotate-key: only the owner can read the secrets, and no command has a secret in its arguments",
  async () => {
    await using here = await openRotation();
    const traced = await here.run(["sh", "-x", "rotate-key.sh", "backup", FILE, "DISK:READ_ANY", "cat"], {
      env: here.env,
      printsSecret: true,
    });
    expect(traced).toMatchObject({ code: 0, stdout: (await here.read(FILE)).trim() });
    expect(traced.stderr).toContain("mv -f");
    expect(traced.stderr).not.toMatch(/sak_/);
    const files = await Array.fromAsync(Deno.readDir(`${here.directory}/etc/backup`), ({ name }) => name);
    expect(files.toSorted()).toEqual(["api.key", "api.key.A", "api.key.B", "api.key.lock"]);
    const paths = [...files.map((name) => `etc/backup/${name}`), "etc/service-api/rotator.key"];
    for (const path of paths) {
      // deno-lint-ignore no-await-in-loop -- a short list
      expect([path, await modeOf(`${here.directory}/${path}`)]).toEqual([path, "600"]);
    }
  },
);

testWith(TOOLS, "rotate-key: an existing regular file is replaced", async () => {
  await using here = await openRotation();
  await Deno.remove(`${here.directory}/${FILE}`);
  await here.write(FILE, await here.createKey("by hand", "--roles", "GUEST"));
  await rotateTo(here, "backup A");
});

testWith(TOOLS, "rotate-key: if the answer of the server is lost, the file keeps its working secret", async () => {
  await using here = await openRotation();
  const program = `${here.directory}/bin/service-api`;
  await here.write("losing/service-api", `#!/bin/sh\n"${program}" "$@" >/dev/null\nexit 4\n`, 0o755);
  await expectFailure(here, 4, () => rotate(here, { PATH: `${here.directory}/losing:${here.env["PATH"]}` }));
});

testWith(TOOLS, "rotate-key: if the command for the new secret fails, the file keeps its working secret", async () => {
  await using here = await openRotation();
  await expectFailure(here, 7, () => rotate(here, {}, ["sh", "-c", "cat >/dev/null; exit 7"]));
});

testWith(TOOLS, "rotate-key: two runs at once do not disturb each other", async () => {
  await using here = await openRotation();
  const lock = await Deno.open(`${here.directory}/${FILE}.lock`);
  await lock.lock(true);
  await expectFailure(here, 1, async () => {
    const outcome = await rotate(here);
    expect(outcome.stderr).toBe(`rotate-key: another process is rotating ${FILE}\n`);
    lock.close();
    return outcome;
  });
});

testWith(TOOLS, "the rotator key replaces itself, and then rotates the keys of its predecessor", async () => {
  await using here = await openRotation();
  await rotate(here);
  const before = await here.read("etc/service-api/rotator.key");
  expect(await here.run(["sh", "-euc", here.adapt(replaceRotator)])).toEqual(SILENT);
  expect(await here.nameOf(before)).toBeUndefined();
  expect(await here.nameOf(await here.read("etc/service-api/rotator.key"))).toBe("rotator");
  expect(await modeOf(`${here.directory}/etc/service-api/rotator.key`)).toBe("600");
  await rotateTo(here, "backup A");
});

testWith([...TOOLS, "pass", "gpg"], "a rotated key is stored in pass, and read from it", async () => {
  await using here = await openRotation();
  const { directory } = here;
  const env = { ...here.env, GNUPGHOME: `${directory}/gnupg`, PASSWORD_STORE_DIR: `${directory}/passwords` };
  await Deno.mkdir(env.GNUPGHOME, { mode: 0o700 });
  const generate = "gpg --batch --quiet --passphrase '' --quick-generate-key ops@example.com future-default";
  expect(await here.run(["sh", "-c", `${generate} && pass init ops@example.com`], { env })).toMatchObject({ code: 0 });
  try {
    expect(await here.run(["sh", "-euc", storeInPass], { env })).toEqual({
      code: 0,
      stdout: '{"data":{"me":{"name":"report A"}}}\n',
      stderr: "",
    });
  } finally {
    await here.run(["gpgconf", "--kill", "all"], { env });
  }
});

testWith(TOOLS, "the crontab's command rotates the key in the environment that the crontab sets", async () => {
  await using here = await openRotation();
  const lines = (await here.recipe("rotate-backup-key.cron")).split("\n").filter((line) => !line.startsWith("#"));
  const env = Object.fromEntries(lines.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split("=", 2)));
  const [, command = ""] = /^(?:\S+ ){5}root (.+)$/m.exec(lines.join("\n")) ?? [];
  // cron(8) turns an unescaped percent sign into a line break.
  expect(command).not.toContain("%");
  const options = { cwd: here.directory, env: { ...env, HOME: here.directory }, clearEnv: true };
  expect(await execute("/bin/sh", ["-c", command], options)).toEqual(SILENT);
  expect(await here.nameOf(await here.read(FILE))).toBe("backup B");
});

/** The flag with which `crontab` only checks a file: `-T` for cronie, `-n` for Debian's. */
const help = findProgram("crontab") && await execute("crontab", ["-h"]).then(({ stderr }) => stderr).catch(() => "");
const checkFlag = /^\s*-T\b/m.test(help ?? "") ? "-T" : /-n\b.*dry run/.test(help ?? "") ? "-n" : undefined;

Deno.test({
  name: `the crontab is valid${checkFlag ? "" : ": not run, a crontab program that checks files is missing"}`,
  ignore: checkFlag === undefined,
  fn: async () => {
    await using here = await openWorkspace();
    // A file in /etc/cron.d names the user; a table that crontab(1) checks does not.
    const table = (await here.recipe("rotate-backup-key.cron")).replace(" root ", " ");
    const check = async (text: string): Promise<number> => {
      await here.write("table", text);
      return (await here.run(["crontab", checkFlag ?? "", "table"])).code;
    };
    expect([await check(table), await check(table.replace("\n17 ", "\n77 "))]).toEqual([0, 1]);
  },
});

testWith(TOOLS, "the systemd service's command rotates the key with the rotator key as a credential", async () => {
  await using here = await openRotation();
  const { command, env } = commandOfUnit(await here.recipe("rotate-backup-key.service"), here);
  await here.write("state/backup-key/.keep", "");
  await here.write("credentials/rotator.key", await here.read("etc/service-api/rotator.key"), 0o400);
  expect(await here.run(command, { env })).toEqual(SILENT);
  expect(await here.nameOf(await here.read("state/backup-key/api.key"))).toMatch(/^backup /);
});

testWithSystemd("systemd accepts the service and the timer, which starts every week", async () => {
  await using here = await openWorkspace();
  await here.write("bin/rotate-key", "#!/bin/sh\n", 0o755);
  await expectValidUnits(here, ["rotate-backup-key.service", "rotate-backup-key.timer"]);
  const [, calendar = ""] = /^OnCalendar=(.+)$/m.exec(await here.recipe("rotate-backup-key.timer")) ?? [];
  const { stdout } = await here.run(["systemd-analyze", "calendar", calendar]);
  expect(stdout).toContain("Mon *-*-* 00:00:00");
});
