/** `service-api.service`: `serve` under systemd. */
import { expect } from "expect";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { startServe } from "../program/installations.ts";
import { testWith } from "../tools.ts";
import { commandOfUnit, expectValidUnits, testWithSystemd } from "./systemd.ts";
import { openWorkspace, RECIPES } from "./workspace.ts";

const UNIT = "service-api.service";

testWith(
  ["sh"],
  "the unit's command serves HTTPS with the certificate and the private key in the unit's credentials",
  async () => {
    await using workspace = await openWorkspace();
    await workspace.write("credentials/cert.pem", CERTIFICATE);
    await workspace.write("credentials/key.pem", PRIVATE_KEY, 0o600);
    await workspace.write("authority.pem", AUTHORITY);
    const unit = await workspace.recipe(UNIT);
    expect(unit).toContain(" --host 0.0.0.0 --port 4000 ");
    // Listens on a free port of the loopback address.
    const { command: [program = "", ...args], env } = commandOfUnit(
      unit.replace("--host 0.0.0.0 --port 4000", "--host 127.0.0.1 --port 0"),
      workspace,
    );
    const store = ["--data-dir", `${workspace.directory}/state/service-api`];
    const create = ["apikey", "--create", "--name", "first admin", "--roles", "ADMIN", ...store];
    const { stdout } = await workspace.run([program, ...create], {
      env: { SERVICE_API_KEY_FILE: "" },
      printsSecret: true,
    });
    await workspace.write("first.key", stdout, 0o600);

    const server = await startServe(program, args, { PATH: workspace.env["PATH"] ?? "", ...env });
    // The certificate is for localhost.
    const url = server.url.replace("127.0.0.1", "localhost");
    const request = ["request", "--query", "{ me { name } }", "--key-file", "first.key"];
    expect(await workspace.run([program, ...request, "--base-url", url, "--ca-file", "authority.pem"])).toEqual({
      code: 0,
      stdout: '{"data":{"me":{"name":"first admin"}}}\n',
      stderr: "",
    });
    expect(await server.stop()).toBe(0);
  },
);

testWithSystemd("systemd accepts the unit, with an exposure of at most 1.5 out of 10", async () => {
  await using workspace = await openWorkspace();
  await expectValidUnits(workspace, [UNIT]);
  // systemd expects the threshold in tenths: 15 means 1.5. A unit without sandboxing has an exposure above 9.
  const security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager"];
  const path = `${workspace.directory}/${UNIT}`;
  expect(await workspace.run([...security, path])).toMatchObject({ code: 0 });
});

Deno.test("the unit allows V8 to generate machine code", async () => {
  const unit = await Deno.readTextFile(`${RECIPES}/server/${UNIT}`);
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
  expect(unit).toMatch(/^SystemCallFilter=[^~].*@pkey/m);
  expect(unit).toMatch(/^SystemCallErrorNumber=EPERM$/m);
});

Deno.test("the command for the first key runs as the user of the unit, on the unit's store", async () => {
  const unit = await Deno.readTextFile(`${RECIPES}/server/${UNIT}`);
  const properties = [...unit.matchAll(/--property=(\S+)/g)].map(([, property = ""]) => property);
  expect(properties).toHaveLength(4);
  expect(properties.filter((property) => !unit.includes(`\n${property}\n`))).toEqual([]);
  const [, store] = /^Environment=SERVICE_API_DATA_DIR=(.+)$/m.exec(unit) ?? [];
  expect(unit).toContain(`--data-dir ${store?.replace("%S", "/var/lib")} `);
});
