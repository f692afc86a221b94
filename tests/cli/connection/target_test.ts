/** How prompts name the server or store that a command uses, and what selects it. */
import { expect } from "expect";
import { describeTarget } from "../../../src/cli/connection/target.ts";
import { readSettings } from "../../../src/cli/connection/settings.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { configHome, SILENT } from "../config_file/config_home.ts";

const PROFILES = `profiles:
  prod:
    base-url: https://keys.example.com/graphql
  local:
    data-dir: /srv/keys
`;

for (
  const [rule, flags, env, expected] of [
    ["the default store", {}, {}, "the store in HOME/.local/share/service-api (default)"],
    ["a profile with a server", { profile: "prod" }, {}, 'https://keys.example.com (profile "prod")'],
    ["a profile with a store", {}, { SERVICE_API_PROFILE: "local" }, 'the store in /srv/keys (profile "local")'],
    [
      "a URL in a variable",
      {},
      { SERVICE_API_URL: "http://localhost:4000/" },
      "http://localhost:4000 (SERVICE_API_URL)",
    ],
    ["a flag that wins over a profile", { profile: "prod", dataDir: "/d\n" }, {}, "the store in /d\\u{a} (--data-dir)"],
    [
      "a database",
      {},
      { SERVICE_API_DATABASE_URL: "postgres://user:secret@db.example/keys" },
      "the database db.example:5432/keys (SERVICE_API_DATABASE_URL)",
    ],
  ] satisfies readonly (readonly [string, ServerFlags, Readonly<Record<string, string>>, string])[]
) {
  Deno.test(`prompts name the server or store, and what selects it: ${rule}`, async () => {
    await using home = await configHome(PROFILES);
    const settings = await readSettings(flags, home.host({ env }), SILENT);
    expect(describeTarget(settings).replace(home.home, "HOME")).toBe(expected);
  });
}
