/** What `serve` looks like at a terminal: what it says at its start, and the access log. */
import { openAccessLog } from "../../../../src/cli/commands/serve/access_log.ts";
import { reportStart, type StartedServer } from "../../../../src/cli/commands/serve/start_report.ts";
import { settingFrom } from "../../../../src/cli/settings/setting.ts";
import type { AccessLogEntry } from "../../../../src/server/http/request_handler.ts";
import { type Show, testPictures } from "../../../program/snapshots.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";
import { SERVER } from "./started_server.ts";

/** With the longest version. */
const FULL: StartedServer = {
  ...SERVER,
  version: "service-api 1.2.3 (0123456789, x86_64-unknown-linux-gnu)",
  countKeys: () => Promise.resolve({ active: 12, disabled: 1, expired: 3 }),
};

const ACCESS: AccessLogEntry = {
  time: new Date("2026-02-03T04:05:06.789Z"),
  requestId: "0198f3a2-7c5e-7d31-a2f4-5c1b9e8d7f60",
  address: "203.0.113.7",
  method: "POST",
  path: "/graphql",
  status: 200,
  duration: 1.23456,
  keyId: "key_0wdOQ87OYBJGzACCo6H9ZJ",
  code: undefined,
};

const REFUSED = { ...ACCESS, status: 401, keyId: undefined, code: "UNAUTHENTICATED" };

const ENTRIES: readonly AccessLogEntry[] = [
  ACCESS,
  { ...REFUSED, duration: 1234.5, address: "2001:db8:0:42:0:8a2e:370:7334" },
  { ...ACCESS, method: "GET", path: "/verify", status: 204, secret: "previous" },
  { ...ACCESS, method: "GET", path: "/verify", status: 403, code: "FORBIDDEN" },
  { ...REFUSED, path: "/introspect" },
  { ...REFUSED, method: "DELETE", path: "/a/path/that/does/not/exist", status: 404, code: undefined },
  { ...ACCESS, status: 503, keyId: undefined, code: "UNAVAILABLE", duration: 30_000 },
];

function start(server: StartedServer): Show {
  return async (window, see) => {
    const host = new TerminalHost(["serve"], window);
    await reportStart(server, host, () => false);
    see(await host.screen.window());
  };
}

testPictures(new URL("screens.txt", import.meta.url), "serve shows", {
  "its start": start(FULL),
  "its start on an empty store": start({
    ...FULL,
    store: { dataDir: settingFrom("flag", "--data-dir", "/srv/service-api"), databaseUrl: undefined },
    location: { kind: "directory", path: "/srv/service-api" },
    countKeys: () => Promise.resolve({ active: 0, disabled: 0, expired: 0 }),
  }),
  "its start on a database for other machines": start({
    ...FULL,
    hostname: "0.0.0.0",
    store: {
      dataDir: undefined,
      databaseUrl: settingFrom("variable", "SERVICE_API_DATABASE_URL", "postgres://u:hidden@db.internal/keys"),
    },
    location: {
      kind: "database",
      address: {
        host: "db.internal",
        port: 5432,
        user: "u",
        password: "hidden",
        database: "keys",
        label: "db.internal:5432/keys",
        tls: undefined,
      },
    },
  }),
  "the access log": async (window, see) => {
    const host = new TerminalHost(["serve"], window);
    const log = await openAccessLog(host);
    for (const entry of ENTRIES) log.record(entry);
    await log.flush();
    see(await host.screen.window());
  },
});
