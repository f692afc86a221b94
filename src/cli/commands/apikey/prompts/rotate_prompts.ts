/** The prompts of `apikey rotate`. */
import { Failure, quote } from "../../../../apikey/failure.ts";
import { expiryFrom, parseDuration } from "../../../../apikey/lifetime.ts";
import type { ApiKey, Client } from "../../../../client/client.ts";
import type { PromptFlags } from "../../../host/can_prompt.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Step } from "../../../prompts/steps.ts";
import { relativeTime, withRelativeTime } from "../../../terminal/relative_time.ts";
import { statusOf } from "../key_output.ts";
import type { RotationPlan } from "../rotate.ts";
import { describeKeys, type Row } from "./key_details.ts";
import { promptForOneKey } from "./one_key_prompt.ts";
import { confirmSelection } from "./open_dialog.ts";
import { requireRight } from "./require_right.ts";

/** A key, and how to rotate it. */
export interface PlannedRotation extends RotationPlan {
  readonly key: ApiKey;
}

/**
 * Prompts for a key to rotate, and for what the flags do not say: the grace period and the expiry. Without `--yes`, asks
 * for confirmation.
 *
 * @throws {Failure} `NOT_FOUND` if there are no keys; `INTERRUPTED`; any failure of the client
 */
export async function promptForRotation(
  plan: RotationPlan,
  flags: PromptFlags,
  client: Client,
  dialog: Dialog,
): Promise<PlannedRotation> {
  await requireRight("rotate", client);
  const now = dialog.host.now();
  let graceText = "";
  let expiryText = "";
  const toPlan = (): RotationPlan => ({
    grace: plan.grace ?? (graceText.trim() === "" ? undefined : parseDuration(graceText)),
    expiresAt: plan.expiresAt ?? (expiryText.trim() === "" ? undefined : expiryFrom({ expiresIn: expiryText }, now)),
  });
  const key = await promptForOneKey("Key to rotate", client, dialog, (selected, marks, prompts) => {
    /** Only servers that report the state of keys can rotate them. */
    const isRotatable = (): boolean => selected().enabled !== null;
    const isExpired = (): boolean => statusOf(selected(), now) === "expired";
    const askForGrace: Step = async (canGoBack) => {
      if (plan.grace !== undefined || !isRotatable()) return false;
      graceText = await prompts.text({
        label: "Keep the old secret valid for",
        hint: "for example 2h; leave it empty to end it at once",
        emptyAnswer: "not at all",
        initial: graceText,
        check: (text) => void (text.trim() === "" || parseDuration(text)),
        saveDraft: (text) => void (graceText = text),
        canGoBack,
      });
      return true;
    };
    const askForExpiry: Step = async (canGoBack) => {
      if (plan.expiresAt !== undefined || !isRotatable()) return false;
      expiryText = await prompts.text({
        label: "Expires in",
        hint: expiryHint(selected(), now),
        emptyAnswer: "unchanged",
        initial: expiryText,
        check: (text) => {
          if (text.trim() !== "") return void expiryFrom({ expiresIn: text }, now);
          if (isExpired()) throw new Failure("USAGE", "The key has expired, so it needs a new expiry.");
        },
        saveDraft: (text) => void (expiryText = text),
        canGoBack,
      });
      return true;
    };
    const confirm: Step = async () => {
      if (flags.yes) return false;
      await describeKeys([selected()], marks, dialog, { more: rowsFor(selected(), toPlan(), now) });
      const label = `Rotate the key ${quote(selected().name)}?`;
      await confirmSelection({ label, alternative: "Change an answer", unchanged: "Nothing was changed." }, prompts);
      return true;
    };
    return [askForGrace, askForExpiry, confirm];
  });
  return { key, ...toPlan() };
}

function expiryHint({ expiresAt }: ApiKey, now: Date): string {
  if (expiresAt === null) return "for example 90d; leave it empty if the key does not expire";
  if (new Date(expiresAt) <= now) return "for example 90d; the key has expired";
  return `for example 90d; leave it empty to keep the expiry, ${relativeTime(expiresAt, now)}`;
}

function rowsFor({ expiresAt, graceUntil }: ApiKey, plan: RotationPlan, now: Date): readonly Row[] {
  const show = (time: string): string => withRelativeTime(time, now);
  const expiry = plan.expiresAt?.toISOString() ?? expiresAt;
  const graceEnd = plan.grace ? new Date(now.getTime() + plan.grace) : undefined;
  // The server ends the old secret with its own expiry.
  const end = graceEnd && expiresAt !== null && new Date(expiresAt) < graceEnd ? expiresAt : graceEnd?.toISOString();
  const isInGrace = graceUntil !== null && new Date(graceUntil) > now;
  return [
    ["Expires", expiry === null ? "" : show(expiry)],
    ["Old secret", end === undefined ? "" : `works until ${show(end)}`],
    ["Warning", end === undefined ? "The old secret stops working immediately." : ""],
    ["Warning", isInGrace ? `An older secret works until ${show(graceUntil)}. Rotating the key ends that now.` : ""],
  ];
}
