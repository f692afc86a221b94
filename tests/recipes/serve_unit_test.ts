/** The recipe for `serve` under systemd: the unit, and how the first key is made. */
import { expect } from "expect";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { until } from "../server/until.ts";
import { recipe } from "./blocks.ts";
import { modeOf, openPlace, type Place, type Substitutions } from "./place.ts";
import { testWith } from "../tools.ts";
import { parseUnit, readUnits, startService, testWithSystemd, verifyUnits } from "./unit.ts";

const HERE: Substitutions = [
  ["/etc/service-api/", "DIRECTORY/etc/"],
  ["/usr/local/bin", "DIRECTORY/bin"],
  ["/var/lib", "DIRECTORY/state"],
  // A port that is free, and on which nobody else can reach the test.
  ["--host 0.0.0.0 --port 4000", "--host 127.0.0.1 --port 0"],
];

const [UNIT = "", FIRST_KEY = ""] = recipe("serve under systemd", ["ini", "sh"]);

const PATH = "/etc/systemd/system/service-api.service";

function unitOf(text: string): string {
  const units = readUnits(text);
  expect([...units.keys()]).toEqual([PATH]);
  return units.get(PATH) ?? "";
}

async function place(): Promise<Place> {
  const here = await openPlace(HERE);
  await here.write("etc/cert.pem", CERTIFICATE);
  await here.write("etc/key.pem", PRIVATE_KEY, 0o600);
  await here.write("authority.pem", AUTHORITY);
  return here;
}

/** Runs what it is told to run, as systemd does, when it is told the properties that make it the unit's user. */
const SYSTEMD_RUN = `#!/bin/sh
for word in --quiet --wait --pipe --collect --property=User=service-api --property=DynamicUser=yes \\
  --property=StateDirectory=service-api --property=StateDirectoryMode=0700; do
  [ "$1" = "$word" ] || { echo "systemd-run: not $word but $1" >&2; exit 1; }
  shift
done
mkdir -p state/service-api
exec env -i PATH="$PATH" "$@"
`;

testWith(
  ["sh", "env"],
  "the unit serves HTTPS to the first key, which was made as its user, until it is told to stop",
  async () => {
    await using here = await place();
    await here.write("bin/systemd-run", SYSTEMD_RUN, 0o755);
    await Deno.remove(`${here.directory}/admin.key`);
    expect(await here.run(["sh", "-euc", here.adapt(FIRST_KEY)])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await modeOf(`${here.directory}/admin.key`)).toBe("0600");

    const service = await startService(parseUnit(unitOf(here.adapt(UNIT))), here);
    await until(() => service.printed().includes("\n"));
    // The name that the certificate has.
    const url = (/https:\S+/.exec(service.printed())?.[0] ?? "").replace("127.0.0.1", "localhost");
    const ask = ["service-api", "request", "--key-file", "admin.key", "--query", "{ me { name } }"];
    const answer = await here.run([...ask, "--base-url", url, "--ca-file", "authority.pem"]);
    expect(answer).toEqual({ code: 0, stdout: '{"data":{"me":{"name":"first admin"}}}\n', stderr: "" });
    Deno.kill(service.pid, "SIGTERM");
    expect(await service.outcome).toMatchObject({ code: 0 });
    expect(await Array.fromAsync(Deno.readDir(`${here.directory}/state/service-api`), ({ name }) => name)).toEqual([
      "keys.db",
    ]);
  },
);

testWithSystemd("the unit is one that systemd takes, and it keeps the server apart from all else", async () => {
  await using here = await place();
  const path = `${here.directory}/service-api.service`;
  await here.write("service-api.service", unitOf(here.adapt(UNIT)));
  await verifyUnits(here, [path]);
  // In tenths; a unit without any of it has more than 90.
  const security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", path];
  expect(await here.run(security)).toMatchObject({ code: 0 });
  await here.write("service-api.service", unitOf(here.adapt(UNIT)).replace(/^SystemCallFilter=.*\n/gm, ""));
  expect(await here.run(security)).toMatchObject({ code: 1 });
});

Deno.test("the unit leaves V8 what it needs", () => {
  const { Service = {} } = parseUnit(unitOf(UNIT));
  expect(Service["MemoryDenyWriteExecute"]).toBeUndefined();
  expect(Service["SystemCallFilter"]?.[0]?.split(" ")).toContain("@pkey");
  expect(Service["SystemCallErrorNumber"]).toEqual(["EPERM"]);
  expect(Service["ExecStart"]?.[0]).toContain(" --host 0.0.0.0 --port 4000 ");
});
