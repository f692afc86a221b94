/** The recipes for rotating a key: the script, the line for cron, the units for systemd, the key that replaces itself. */
import { expect } from "expect";
import { recipe } from "./blocks.ts";
import { isSchedule, readCronFile } from "./cron.ts";
import { modeOf, openPlace, type Place, type Substitutions } from "./place.ts";
import { testWith } from "../tools.ts";
import { parseUnit, readUnits, startService, testWithSystemd, verifyUnits } from "./unit.ts";

const HERE: Substitutions = [
  ["https://keys.example.com", "URL"],
  ["/etc/", "DIRECTORY/etc/"],
  ["/usr/local/bin", "DIRECTORY/bin"],
];

const [SCRIPT = "", ROTATOR = "", CRON = "", UNITS = "", ITSELF = ""] = recipe(
  "Rotating a key",
  ["sh", "sh", "cron", "ini", "sh"],
);

const FILE = "etc/backup/api.key";

/** A place with the script and the key for it where the recipes have them, and a directory for the file. */
async function place(): Promise<Place> {
  const here = await openPlace(HERE);
  await here.write("bin/rotate-key", here.adapt(SCRIPT), 0o755);
  await Promise.all(
    ["etc/backup", "etc/service-api"].map((path) => Deno.mkdir(`${here.directory}/${path}`, { recursive: true })),
  );
  expect(await here.run(["sh", "-euc", ROTATOR])).toEqual(SILENT);
  expect(await modeOf(`${here.directory}/rotator.key`)).toBe("0600");
  await Deno.rename(`${here.directory}/rotator.key`, `${here.directory}/etc/service-api/rotator.key`);
  return here;
}

const SILENT = { code: 0, stdout: "", stderr: "" } as const;

/** Runs the script as the rotator. */
function rotate(here: Place, env: Readonly<Record<string, string>> = {}): ReturnType<Place["run"]> {
  const rotator = `${here.directory}/etc/service-api/rotator.key`;
  return here.run(["rotate-key", "backup", FILE, "--permissions", "DISK:READ_ANY"], {
    env: { ...here.env, SERVICE_API_KEY_FILE: rotator, ...env },
  });
}

/** Sees that a rotation fails with a status and words, and that the secret in the file is the one that was there. */
async function expectNoChange(here: Place, code: number, stderr: RegExp, act: typeof rotate = rotate): Promise<void> {
  const before = await here.read(FILE);
  expect(await act(here)).toEqual({ code, stdout: "", stderr: expect.stringMatching(stderr) });
  expect(await here.read(FILE)).toBe(before);
  expect(await here.nameOf(before)).toMatch(/^backup [AB]$/);
}

const TOOLS = ["sh", "flock", "readlink", "sync"] as const;

testWith(TOOLS, "a rotation leaves the secret before it working until the next", async () => {
  await using here = await place();
  const secrets: string[] = [];
  for (const name of ["A", "B", "A", "B"]) {
    // deno-lint-ignore no-await-in-loop -- one rotation after the other
    expect(await rotate(here)).toEqual(SILENT);
    // deno-lint-ignore no-await-in-loop -- as above
    secrets.push(await here.read(FILE));
    // deno-lint-ignore no-await-in-loop -- as above
    const names = await Promise.all(secrets.map(here.nameOf));
    expect(names.at(-1)).toBe(`backup ${name}`);
    expect(names.map(Boolean)).toEqual(secrets.map((_, index) => index >= secrets.length - 2));
  }
  expect(await here.keyNames()).toEqual(["rotator", "backup A", "backup B"]);
  expect(await modeOf(`${here.directory}/${FILE}`)).toBe("0600");
});

testWith(TOOLS, "a rotation takes the place of a file that was made by hand", async () => {
  await using here = await place();
  await here.write(FILE, await here.createKey("by hand", "--roles", "GUEST"));
  expect(await rotate(here)).toEqual(SILENT);
  expect(await here.nameOf(await here.read(FILE))).toBe("backup A");
});

testWith(TOOLS, "a rotation on a full disk leaves the file as it is, and the next one works", async () => {
  await using here = await place();
  await rotate(here);
  await Deno.symlink("/dev/full", `${here.directory}/${FILE}.B`);
  await expectNoChange(here, 1, /its secret could not be printed/);
  await Deno.remove(`${here.directory}/${FILE}.B`);
  expect(await rotate(here)).toEqual(SILENT);
  expect(await here.nameOf(await here.read(FILE))).toBe("backup B");
  expect(await here.keyNames()).toEqual(["rotator", "backup A", "backup B"]);
});

testWith(
  TOOLS,
  "a rotation whose answer gets lost leaves the file as it is, and the next one works",
  async () => {
    await using here = await place();
    await rotate(here);
    await here.write(
      "losing/service-api",
      `#!/bin/sh\n"${here.directory}/bin/service-api" "$@" >/dev/null\nexit 4\n`,
      0o755,
    );
    const losing = { PATH: `${here.directory}/losing:${here.env["PATH"]}` };
    await expectNoChange(here, 4, /^$/, () => rotate(here, losing));
    expect(await here.keyNames()).toEqual(["rotator", "backup A", "backup B"]);
    expect(await rotate(here)).toEqual(SILENT);
    expect(await here.nameOf(await here.read(FILE))).toBe("backup B");
  },
);

testWith(TOOLS, "a rotation without the server leaves the file as it is and says so", async () => {
  await using here = await place();
  await rotate(here);
  await expectNoChange(
    here,
    4,
    /^service-api: Cannot talk to 127\.0\.0\.1:1: /,
    () => rotate(here, { SERVICE_API_URL: "http://127.0.0.1:1" }),
  );
});

testWith(TOOLS, "a rotation while another one is under way does nothing", async () => {
  await using here = await place();
  await rotate(here);
  const lock = await Deno.open(`${here.directory}/${FILE}.lock`);
  await lock.lock(true);
  await expectNoChange(here, 1, /^etc\/backup\/api\.key: another rotation is under way\n$/);
  lock.close();
  expect(await rotate(here)).toEqual(SILENT);
});

testWith(TOOLS, "the line for cron rotates the key in the environment that cron gives it", async () => {
  await using here = await place();
  const { env, jobs } = readCronFile(here.adapt(CRON));
  expect(jobs).toHaveLength(1);
  for (const { command } of jobs) {
    const options = { env: { HOME: here.directory, LOGNAME: "root", SHELL: "/bin/sh", ...env } };
    // The path of the program, and what its script needs.
    expect(env["PATH"]).toBe(`${here.directory}/bin:/usr/bin:/bin`);
    // deno-lint-ignore no-await-in-loop -- a list of one
    expect(await here.run(["/bin/sh", "-c", command], options)).toEqual(SILENT);
    // deno-lint-ignore no-await-in-loop -- as above
    expect(await here.nameOf(await here.read(FILE))).toBe("backup A");
    expect(command).not.toMatch(/(?<!\\)%/);
  }
});

Deno.test("the line for cron has a schedule and a user", () => {
  const { jobs } = readCronFile(CRON);
  expect(jobs.map(({ schedule, user }) => [isSchedule(schedule), user])).toEqual([[true, "root"]]);
  const schedules = [
    "* * * * *",
    "*/15 0-23 1,31 12 7",
    "60 3 * * 1",
    "17 3 * * 8",
    "17 3 0 * 1",
    "17 3 * *",
    "a 3 * * 1",
  ];
  expect(schedules.map(isSchedule)).toEqual([true, true, false, false, false, false, false]);
});

await testWithCrontab("the line for cron is one that cron takes", async () => {
  await using here = await openPlace();
  const table = CRON.replace(/ root /, " ");
  expect(await here.run(["crontab", "-n", "-"], { stdin: table })).toMatchObject({ code: 0 });
  expect(await here.run(["crontab", "-n", "-"], { stdin: table.replace("17 3", "77 3") })).toMatchObject({ code: 1 });
});

/** Debian's `crontab` tries a table when it is told `-n`; to others that means something else. */
async function testWithCrontab(what: string, test: () => Promise<void>): Promise<void> {
  const help = await new Deno.Command("crontab", { args: ["-h"] }).output().catch(() => undefined);
  if (new TextDecoder().decode(help?.stderr).includes("dry run")) Deno.test(what, test);
  else Deno.test.ignore(`${what}: not run, for want of Debian's crontab`, () => {});
}

testWith(TOOLS, "the service rotates the key in the environment that systemd gives it", async () => {
  await using here = await place();
  const service = [...readUnits(here.adapt(UNITS))].find(([path]) => path.endsWith(".service"))?.[1] ?? "";
  for (const name of ["A", "B"]) {
    // deno-lint-ignore no-await-in-loop -- one rotation after the other
    expect(await (await startService(parseUnit(service), here)).outcome).toEqual(SILENT);
    // deno-lint-ignore no-await-in-loop -- as above
    expect(await here.nameOf(await here.read("state/backup-key/api.key"))).toBe(`backup ${name}`);
  }
});

testWithSystemd("service and timer are units that systemd takes", async () => {
  await using here = await place();
  const units = [...readUnits(here.adapt(UNITS))].map(([path, text]) => [path.replace(/.*\//, ""), text] as const);
  expect(units.map(([name]) => name)).toEqual(["rotate-backup-key.service", "rotate-backup-key.timer"]);
  await Promise.all(units.map(([name, text]) => here.write(name, text)));
  await verifyUnits(here, units.map(([name]) => `${here.directory}/${name}`));
  const { Timer } = parseUnit(units[1]?.[1] ?? "");
  const { code, stdout } = await here.run(["systemd-analyze", "calendar", ...Timer?.["OnCalendar"] ?? []]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Mon *-*-* 00:00:00") });
});

testWith(TOOLS, "a rotator replaces itself, and goes on to rotate what the one before it made", async () => {
  await using here = await place();
  await rotate(here);
  await rotate(here);
  await Deno.rename(`${here.directory}/etc/service-api/rotator.key`, `${here.directory}/rotator.key`);
  const before = await here.read("rotator.key");
  const { SERVICE_API_KEY_FILE: _, ...env } = here.env;
  expect(await here.run(["sh", "-euc", ITSELF], { env })).toEqual(SILENT);
  expect(await here.nameOf(before)).toBeUndefined();
  expect(await here.nameOf(await here.read("rotator.key"))).toBe("rotator");
  expect(await modeOf(`${here.directory}/rotator.key`)).toBe("0600");
  await Deno.rename(`${here.directory}/rotator.key`, `${here.directory}/etc/service-api/rotator.key`);
  expect(await rotate(here)).toEqual(SILENT);
  expect(await here.nameOf(await here.read(FILE))).toBe("backup A");
});

testWith(TOOLS, "a rotator may make no key with other rights, and replaces no key of another's", async () => {
  await using here = await place();
  await here.createKey("backup A", "--roles", "GUEST");
  await here.write(FILE, "what is there");
  const { code, stderr } = await rotate(here);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/another's/) });
  expect(await here.read(FILE)).toBe("what is there");
  const key = { SERVICE_API_KEY_FILE: `${here.directory}/etc/service-api/rotator.key` };
  const args = ["service-api", "apikey", "--create", "--name", "other", "--roles", "VIEWER"];
  expect(await here.run(args, { env: { ...here.env, ...key } })).toMatchObject({ code: 3 });
});
