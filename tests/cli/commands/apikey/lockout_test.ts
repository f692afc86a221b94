/** Changes that can lock the user out: which keys count, and the prompt for the name. */
import { expect } from "expect";
import {
  confirmRisks,
  findRisks,
  type GuardedKey,
  markRisks,
  type Risk,
} from "../../../../src/cli/commands/apikey/lockout.ts";
import type { Dialog } from "../../../../src/cli/host/dialog.ts";
import type { Host } from "../../../../src/cli/host/host.ts";
import { failureOfPromise } from "../../../apikey/failure_of.ts";
import { FakeHost } from "../../../program/program.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";

const NOW = new Date("2026-05-01T00:00:00Z");
/** A dialog about a server that earlier prompts have shown. */
function dialogOf(host: Host): Dialog {
  return {
    host,
    interrupted: new AbortController().signal,
    target: { description: "https://keys.example.com (--base-url)", isShown: true },
  };
}

const guest: GuardedKey = { id: "1", name: "guest", roles: ["GUEST"], permissions: ["DOCKER:READ_ANY"] };
const admin: GuardedKey = { id: "2", name: "first admin", roles: ["ADMIN"] };
const second: GuardedKey = { id: "3", name: "second admin", roles: ["ADMIN"] };

/** The risks as text, for example `first admin: in use, last ADMIN`. */
function risksOf(before: readonly GuardedKey[], after: readonly GuardedKey[], keyInUse?: string): readonly string[] {
  return findRisks(before, after, keyInUse, NOW).map(({ key: { name }, isInUse, endsAdmin }) =>
    `${name}: ${[...(isInUse ? ["in use"] : []), ...(endsAdmin ? ["last ADMIN"] : [])].join(", ")}`
  );
}

Deno.test("deleting the key in use or the last key with the role ADMIN is a risk, and deleting another key is not", () => {
  expect(risksOf([guest, admin, second], [admin, second])).toEqual([]);
  expect(risksOf([guest, admin, second], [guest, second])).toEqual([]);
  expect(risksOf([guest, admin, second], [admin, second], "1")).toEqual(["guest: in use"]);
  expect(risksOf([guest, admin], [guest])).toEqual(["first admin: last ADMIN"]);
  expect(risksOf([guest, admin], [guest], "2")).toEqual(["first admin: in use, last ADMIN"]);
});

Deno.test("if a change deletes every key with the role ADMIN, one of them is a risk: the one in use, otherwise the last", () => {
  expect(risksOf([guest, admin, second], [guest])).toEqual(["second admin: last ADMIN"]);
  expect(risksOf([guest, admin, second], [guest], "2")).toEqual(["first admin: in use, last ADMIN"]);
});

Deno.test("a disabled or expired key does not count as a key with the role ADMIN", () => {
  const expired = { ...second, expiresAt: "2026-05-01T00:00:00Z" };
  expect(risksOf([admin, { ...second, enabled: false }], [{ ...second, enabled: false }])).toEqual([
    "first admin: last ADMIN",
  ]);
  expect(risksOf([admin, expired], [expired])).toEqual(["first admin: last ADMIN"]);
  expect(risksOf([admin, expired], [admin])).toEqual([]);
});

Deno.test("an update that takes away rights or disables the key is a risk, and one that only adds rights is not", () => {
  expect(risksOf([guest], [{ ...guest, permissions: [] }], "1")).toEqual(["guest: in use"]);
  expect(risksOf([guest], [{ ...guest, roles: [] }], "1")).toEqual(["guest: in use"]);
  expect(risksOf([guest], [{ ...guest, enabled: false }], "1")).toEqual(["guest: in use"]);
  expect(risksOf([guest], [{ ...guest, roles: ["GUEST", "VIEWER"] }], "1")).toEqual([]);
  expect(risksOf([guest], [{ ...guest, roles: ["ADMIN"], permissions: [] }], "1")).toEqual([]);
  expect(risksOf([admin], [{ ...admin, roles: ["VIEWER"] }])).toEqual(["first admin: last ADMIN"]);
});

Deno.test("a list of keys marks the key in use, and the key with the role ADMIN if there is only one", () => {
  expect([...markRisks([guest, admin, second], "3", NOW)]).toEqual([["3", "in use"]]);
  expect([...markRisks([guest, admin], "1", NOW)]).toEqual([["1", "in use"], ["2", "last ADMIN"]]);
  expect([...markRisks([guest, admin], "2", NOW)]).toEqual([["2", "in use, last ADMIN"]]);
});

const RISK: Risk = { key: admin, isInUse: true, endsAdmin: true };

Deno.test("a risky change continues only after the user has typed the name of the key in full", async () => {
  const host = new TerminalHost([]);
  const confirmed = confirmRisks([RISK], "delete", {}, dialogOf(host));
  await host.screen.until(
    /"first admin" is the key in use\. Without it, no key has the role ADMIN\.\s+To\s+delete it, type its name: █/,
  );
  host.screen.press(..."first", "\r");
  await host.screen.until(/Type "first admin", or press Ctrl-C to cancel\./);
  host.screen.press(..." admin", "\r");
  await confirmed;
});

Deno.test("Ctrl-C at the prompt for the name cancels a risky change", async () => {
  const host = new TerminalHost([]);
  const failure = failureOfPromise(confirmRisks([RISK], "update", {}, dialogOf(host)));
  await host.screen.until(/update it, type its name: █/);
  host.screen.press("\x03");
  expect(await failure).toMatchObject({ code: "INTERRUPTED" });
});

for (
  const [kind, name] of [["cannot be typed", "\x1b[2J"], ["is longer than 80 characters", "n".repeat(81)]] as const
) {
  Deno.test(`a risky change of a key whose name ${kind} is confirmed with the id, which the prompt shows`, async () => {
    const host = new TerminalHost([], { columns: 200 });
    const key = { ...guest, id: "key_1", name };
    const confirmed = confirmRisks([{ key, isInUse: true, endsAdmin: false }], "delete", {}, dialogOf(host));
    await host.screen.until(/type its id, which is "key_1": █/);
    host.screen.press(..."key_1", "\r");
    await confirmed;
  });
}

Deno.test("without a terminal, a risky change fails with USAGE and says to add --yes, which allows it", async () => {
  const host = new FakeHost([]);
  expect(await failureOfPromise(confirmRisks([RISK], "delete", {}, dialogOf(host)))).toMatchObject({
    code: "USAGE",
    message:
      '"first admin" is the key in use. Without it, no key has the role ADMIN. To delete it without a prompt, add --yes.',
  });
  await confirmRisks([RISK], "delete", { yes: true }, dialogOf(host));
});
