/** A server that has started, for tests of what `serve` says then. */
import type { StartedServer } from "../../../../src/cli/commands/serve/start_report.ts";

/** Serves the default store, with a few keys, to this machine only and without TLS. */
export const SERVER: StartedServer = {
  version: "service-api 1.2.3",
  url: "http://127.0.0.1:4000/graphql",
  metricsUrl: undefined,
  hostname: "127.0.0.1",
  isTls: false,
  location: { kind: "directory", path: "/home/me/.local/share/service-api" },
  store: { dataDir: undefined, databaseUrl: undefined },
  profile: undefined,
  flags: {},
  countKeys: () => Promise.resolve({ active: 3, disabled: 1, expired: 0 }),
};
