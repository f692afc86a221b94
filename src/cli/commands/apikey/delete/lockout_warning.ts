/** Warns after a change without a prompt that has locked the user out. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import { shellWord } from "../../../../apikey/shell_word.ts";
import type { KeyReference } from "../../../../client/client.ts";
import type { ConnectionFacts } from "../../../connection/connection.ts";
import { absolute } from "../../../connection/target.ts";
import type { Host } from "../../../host/host.ts";
import type { Risk } from "../lockout.ts";
import { writeWarning } from "../key_in_use/warning.ts";

/** What a command deleted or disabled. */
interface Ended {
  readonly keys: readonly KeyReference[];
  readonly risks?: readonly Risk[];
}

/** Warns about each of these keys that was the key in use, or the last one with the role ADMIN. */
export async function warnAboutLockout(
  { keys, risks = [] }: Ended,
  { keySource, store }: Pick<ConnectionFacts, "keySource" | "store">,
  host: Host,
): Promise<void> {
  const ended = new Set(keys.map(({ id }) => id));
  const relevant = risks.filter(({ key }) => ended.has(key.id));
  const inUse = relevant.find(({ isInUse }) => isInUse);
  if (inUse !== undefined) {
    const where = keySource === undefined ? "" : ` (${keySource.name})`;
    const fact = `${quote(inUse.key.name)} was the key in use${where}. Its secret no longer works.`;
    const command = keySource?.loginCommand;
    const advice = command === undefined ? "Use another key." : "To store another key, run:";
    await writeWarning({ text: escapeInvisible(`${fact} ${advice}`), command }, host);
  }
  if (relevant.some(({ endsAdmin }) => endsAdmin)) {
    const { advice, command } = adviceOnAdmin(store);
    await writeWarning({ text: `No valid key has the role ADMIN any more. ${advice}`, command }, host);
  }
}

/** How to create a key with the role ADMIN. The URL of a database is not repeated, because it may contain a password. */
function adviceOnAdmin(store: ConnectionFacts["store"]): { readonly advice: string; readonly command: string } {
  const command = "service-api apikey --create --name 'first admin' --roles ADMIN";
  if (store === undefined) {
    const advice = "To create one without a key, run this on the machine of the store. If a profile or a variable " +
      "selects a server there, add the --data-dir or --database-url of serve:";
    return { advice, command };
  }
  if (store.kind === "directory") {
    const directory = shellWord(absolute(store.path));
    return { advice: "To create one, run:", command: escapeInvisible(`${command} --data-dir ${directory}`) };
  }
  const database = `the database ${escapeInvisible(store.address.label)}`;
  return { advice: `To create one in ${database}, run this with the same settings:`, command };
}
