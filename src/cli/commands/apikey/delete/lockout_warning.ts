/** Warns after a deletion without a prompt that has locked the user out. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import type { KeyReference } from "../../../../client/client.ts";
import type { KeySource } from "../../../host/dialog.ts";
import type { Host } from "../../../host/host.ts";
import type { Risk } from "../lockout.ts";
import { writeWarning } from "../key_in_use/warning.ts";

/** What a command deleted. */
interface Deleted {
  readonly keys: readonly KeyReference[];
  readonly risks?: readonly Risk[];
}

/** Warns about each deleted key that was the key in use, or the last one with the role ADMIN. */
export async function warnAboutLockout(
  { keys, risks = [] }: Deleted,
  source: KeySource | undefined,
  host: Host,
): Promise<void> {
  const deleted = new Set(keys.map(({ id }) => id));
  const relevant = risks.filter(({ key }) => deleted.has(key.id));
  const inUse = relevant.find(({ isInUse }) => isInUse);
  if (inUse !== undefined) {
    const where = source === undefined ? "" : ` (${source.name})`;
    const fact = `${quote(inUse.key.name)} was the key in use${where}. Its secret no longer works.`;
    const command = source?.loginCommand;
    const advice = command === undefined ? "Use another key." : "To store another key, run:";
    await writeWarning({ text: escapeInvisible(`${fact} ${advice}`), command }, host);
  }
  if (relevant.some(({ endsAdmin }) => endsAdmin)) {
    const text = "No key has the role ADMIN any more. To create one without a key, run this on the machine of the " +
      "store. If a profile or a variable selects a server there, add the --data-dir or --database-url of serve:";
    const command = "service-api apikey --create --name 'first admin' --roles ADMIN";
    await writeWarning({ text, command }, host);
  }
}
