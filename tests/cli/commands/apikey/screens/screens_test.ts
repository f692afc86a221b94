/** What the dialogs of `apikey` look like: which server or store, what a command is about to do, and what to confirm. */
import { RESOURCES } from "../../../../../src/apikey/permission.ts";
import { KEYS } from "../../../../program/screen.ts";
import { type Show, testPictures } from "../../../../program/snapshots.ts";
import { createTeam, daysAgo, type Team, Wizard } from "./wizard.ts";

/** Few keys, each special in its own way. */
const TEAM = await createTeam({
  "ops laptop": {
    description: "the laptop on call",
    roles: ["VIEWER"],
    permissions: ["API_KEY:CREATE_ANY", "API_KEY:UPDATE_ANY", "API_KEY:DELETE_ANY"],
  },
  "admin": { roles: ["ADMIN"], lastUsedAt: daysAgo(3) },
  "ci deploy": {
    description: "deploys from the pipeline",
    roles: ["VIEWER"],
    permissions: ["DOCKER:UPDATE_ANY"],
    lastUsedAt: daysAgo(0.1),
    expiresAt: daysAgo(-30),
    graceUntil: daysAgo(-0.05),
    previousSecretHash: new Uint8Array(32),
  },
  "reader": {
    permissions: RESOURCES.flatMap((resource) => [`${resource}:READ_ANY`, `${resource}:UPDATE_ANY`] as const),
    lastUsedAt: daysAgo(60),
  },
  "old backup": { roles: ["GUEST"], lastUsedAt: daysAgo(200), expiresAt: daysAgo(10) },
  "contractor": { roles: ["CONNECT"], enabled: false },
  "部署密钥": { roles: ["VIEWER", "GUEST"], description: "用于部署" },
  "Billing export for the quarterly report of the finance department": {
    roles: ["VIEWER"],
    description: "reads invoices, customers and contracts, and writes one file for each quarter",
  },
});

/** The number of keys of a large team. */
const MANY = 200;

const LARGE_TEAM = await createTeam(
  Object.fromEntries(Array.from({ length: MANY }, (_, index) => [
    `ci job ${index + 1}`,
    { roles: ["VIEWER"], permissions: index === 0 ? ["API_KEY:DELETE_ANY"] : [] },
  ])),
);

Deno.test.afterAll(async () => {
  await Promise.all([TEAM[Symbol.asyncDispose](), LARGE_TEAM[Symbol.asyncDispose]()]);
});

/** Runs a command, answers its questions, and cancels the last one. */
function dialog(args: readonly string[], act: (wizard: Wizard) => Promise<void>, team: Team = TEAM): Show {
  return async (window, see) => {
    await using wizard = new Wizard(args, team, window, see);
    await act(wizard);
  };
}

const picturesOf = (name: string): URL => new URL(`${name}.txt`, import.meta.url);

testPictures(picturesOf("create"), "the prompts", {
  "for a new key": dialog(["apikey", "--create", "--permissions", "*:READ_ANY,*:UPDATE_ANY"], async (wizard) => {
    await wizard.see("the first question");
    await wizard.type("ci deploy");
    await wizard.see("a name that is taken");
    await wizard.decide("n");
    await wizard.answer([..." 2", KEYS.enter], "ci deploy 2");
    await wizard.type("for the release branch");
    await wizard.select("GUEST");
    await wizard.see("58 permissions");
    await wizard.decide("e");
    await wizard.see("after e");
    await wizard.choose(2);
    await wizard.answer([..."ADMIN", KEYS.tab, KEYS.enter], "ADMIN,GUEST");
    await wizard.see("the role ADMIN");
    await wizard.decide("n");
    await wizard.see("after no");
  }),
  "for a new key in place of the key in use": dialog(
    ["apikey", "--create", "--overwrite", "--description", "", "--permissions", "DOCKER:READ_ANY"],
    async (wizard) => {
      await wizard.type("ops laptop");
      await wizard.enter();
      await wizard.see("the confirmation");
    },
  ),
});

testPictures(picturesOf("update"), "the prompts", {
  "for an update": dialog(["apikey", "update"], async (wizard) => {
    await wizard.type("reader");
    await wizard.see("what to change");
    await wizard.choose(0);
    await wizard.answer([..." 2", KEYS.enter], "reader 2");
    await wizard.choose(3);
    await wizard.answer([..."ADMIN", KEYS.tab, KEYS.enter], "ADMIN,GUEST");
    await wizard.see("after two changes");
    await wizard.choose(0);
    await wizard.see("the confirmation");
    await wizard.decide("n");
    await wizard.see("after no");
  }),
  "for an update of the last ADMIN": dialog(["apikey", "update", "admin", "--disable"], async (wizard) => {
    await wizard.see("its name");
  }),
});

testPictures(picturesOf("rotate"), "the prompts", {
  "for a rotation": dialog(["apikey", "rotate"], async (wizard) => {
    await wizard.see("the list");
    await wizard.type("ci deploy");
    await wizard.see("the grace period");
    await wizard.type("2h");
    await wizard.see("the expiry");
    await wizard.enter();
    await wizard.see("the confirmation");
  }),
  "for a rotation of the key in use": dialog(["apikey", "rotate", "--expires-in", "90d"], async (wizard) => {
    await wizard.type("ops laptop");
    await wizard.enter();
    await wizard.see("the confirmation");
    await wizard.decide("y");
    await wizard.see("where the secret is stored");
  }),
});

testPictures(picturesOf("delete"), "the prompts", {
  "for a deletion": dialog(["apikey", "--delete"], async (wizard) => {
    await wizard.see("the list");
    await wizard.select("admin");
    await wizard.see("the last ADMIN");
    await wizard.decide("e");
    await wizard.answer([KEYS.ctrlA, KEYS.enter], "all");
    await wizard.see("several keys");
    await wizard.decide("n");
    await wizard.see("after no");
    await wizard.answer([KEYS.up, KEYS.enter], "1");
    await wizard.enter();
    await wizard.decide("y");
    await wizard.see("the name of the key in use");
  }),
  [`for a deletion of ${MANY} keys`]: dialog(["apikey"], async (wizard) => {
    await wizard.see("the modes");
    await wizard.choose(5);
    await wizard.see("the list");
    await wizard.answer([KEYS.ctrlA, KEYS.enter], "all");
    await wizard.see("the confirmation");
  }, LARGE_TEAM),
});
