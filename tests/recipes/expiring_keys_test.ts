/** Monitoring of expiry: `expiring-keys.cron`, its systemd units, `check-expiring-keys.sh`, and the README's commands. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { testWith } from "../tools.ts";
import { commandsOf } from "./readme.ts";
import { commandOfUnit, expectValidUnits, testWithSystemd } from "./systemd.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

const [listInCi = "", createMonitor = ""] = commandsOf("Expiring keys", 2);
const SILENT = { code: 0, stdout: "", stderr: "" } as const;
const REPORT = { code: 1, stdout: expect.stringMatching(/^backup\tkey_\w+\tactive\t[^\n]*\n$/), stderr: "" };

/** Opens a workspace, creates the monitor key with the README's command, and a key that expires in 30 days. */
async function openWithMonitor(): Promise<Workspace> {
  const workspace = await openWorkspace();
  expect((await workspace.run(["sh", "-euc", workspace.adapt(createMonitor)])).code).toBe(0);
  await workspace.createKey("new", "--roles", "GUEST", "--expires-in", "30d");
  return {
    ...workspace,
    env: { ...workspace.env, SERVICE_API_KEY_FILE: `${workspace.directory}/etc/service-api/monitor.key` },
  };
}

function addExpiringKey({ createKey }: Workspace, name = "backup", expiresIn = "6d"): Promise<string> {
  return createKey(name, "--roles", "GUEST", "--expires-in", expiresIn);
}

/** Runs a command with only these variables, without and with a key that expires within a week. */
async function expectReport(
  workspace: Workspace,
  command: readonly string[],
  env: Readonly<Record<string, string>> = workspace.env,
): Promise<void> {
  expect(await workspace.run(command, { env })).toEqual(SILENT);
  await addExpiringKey(workspace);
  expect(await workspace.run(command, { env })).toEqual(REPORT);
}

testWith(
  ["sh", "install"],
  "the crontab prints the keys that expire within a week, and nothing if there are none",
  async () => {
    await using workspace = await openWithMonitor();
    const crontab = await workspace.recipe("expiring-keys.cron");
    const variables = [...crontab.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
    const { PATH = "", ...env } = Object.fromEntries(variables);
    const [, command = ""] = /^41 7 \* \* \* root (.*)$/m.exec(crontab) ?? [];
    await expectReport(workspace, ["/bin/sh", "-c", command], { ...env, PATH: `${PATH}:${workspace.env["PATH"]}` });
  },
);

testWith(["sh", "install"], "the service of the timer fails if a key expires within a week", async () => {
  await using workspace = await openWithMonitor();
  const { command, env } = commandOfUnit(await workspace.recipe("expiring-keys.service"), workspace);
  await workspace.write("credentials/monitor.key", await workspace.read("etc/service-api/monitor.key"), 0o600);
  await expectReport(workspace, command, env);
});

testWithSystemd(
  "systemd accepts the units that check for keys that expire, and starts them every morning",
  async () => {
    await using workspace = await openWorkspace();
    await expectValidUnits(workspace, ["expiring-keys.service", "expiring-keys.timer"]);
    const [, calendar = ""] = /^OnCalendar=(.+)$/m.exec(await workspace.recipe("expiring-keys.timer")) ?? [];
    expect((await workspace.run(["systemd-analyze", "calendar", calendar])).stdout).toContain("*-*-* 07:00:00");
  },
);

testWith(["sh", "install"], "the README's command for CI fails if a key expires within a week", async () => {
  await using workspace = await openWithMonitor();
  await expectReport(workspace, ["sh", "-euc", listInCi]);
});

function checkExpiringKeys(
  workspace: Workspace,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = ["14d", "2d"],
): Promise<Outcome> {
  return workspace.run(["sh", "check-expiring-keys.sh", ...args], { env: { ...workspace.env, ...env } });
}

testWith(
  ["sh", "install", "cut"],
  "check-expiring-keys reports OK, then WARNING, then CRITICAL as keys come closer to their expiry",
  async () => {
    await using workspace = await openWithMonitor();
    const ok = "OK: no API key expires within 14d\n";
    expect(await checkExpiringKeys(workspace)).toEqual({ code: 0, stdout: ok, stderr: "" });
    await addExpiringKey(workspace);
    expect(await checkExpiringKeys(workspace)).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /^WARNING: API keys expire within 14d or have expired\nbackup\t\d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
      ),
      stderr: "",
    });
    await addExpiringKey(workspace, "report", "1d");
    expect(await checkExpiringKeys(workspace)).toEqual({
      code: 2,
      stdout: expect.stringMatching(/^CRITICAL: API keys expire within 2d or have expired\nreport\t[\d:.TZ-]+\n$/),
      stderr: "",
    });
  },
);

testWith(["sh", "install"], "check-expiring-keys reports UNKNOWN and why if it cannot list the keys", async () => {
  await using workspace = await openWithMonitor();
  const expectUnknown = async (outcome: Promise<Outcome>, stdout: RegExp): Promise<void> =>
    expect(await outcome).toEqual({ code: 3, stdout: expect.stringMatching(stdout), stderr: "" });
  const unreachable = { SERVICE_API_URL: "http://127.0.0.1:1" };
  await expectUnknown(checkExpiringKeys(workspace, unreachable), /^service-api: Could not reach 127\.0\.0\.1/);
  const weak = { SERVICE_API_KEY_FILE: "", SERVICE_API_KEY: await workspace.createKey("weak", "--roles", "GUEST") };
  await expectUnknown(checkExpiringKeys(workspace, weak), /API_KEY:READ_ANY/);
  await expectUnknown(checkExpiringKeys(workspace, {}, ["soon", "2d"]), /soon/);
  await expectUnknown(checkExpiringKeys(workspace, {}, ["14d"]), /^Usage: check-expiring-keys WARNING CRITICAL$/m);
});
