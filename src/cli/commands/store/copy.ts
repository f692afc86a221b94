/** `store copy`: copies an SQLite store to an empty store, for example to move a server to PostgreSQL. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure } from "../../../apikey/failure.ts";
import type { CopyOptions, RowCounts } from "#store-copy";
import type { CommandContext } from "../../command.ts";
import { readConfig } from "../../config_file/read.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import type { Log } from "../../host/log.ts";
import { wrapFor } from "../../host/notes.ts";
import { showWaiting } from "../../host/show_waiting.ts";
import { writeJson } from "../../report.ts";
import { readTimeout } from "../../settings/duration.ts";
import { type ProfileFlags, SERVER_SETTINGS, withProfileFlags } from "../../settings/server_flags.ts";
import { chooseSetting } from "../../settings/setting.ts";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../settings/store_location.ts";
import { helpOf, SETTINGS } from "../../settings/table.ts";
import { sourceOf, storeOf } from "../serve/start_report.ts";

/** Registers the subcommand. */
export function registerCopy(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "Copy the SQLite store in a directory to an empty store: all keys, resources and audit\n" +
        "events. Every secret stays valid. Never prompts.",
    )
    .usage("--from <dir> [options]")
    .optionsGroup("Source:")
    .option("--from <dir>", "directory of the store to copy; it contains keys.db")
    .optionsGroup("Destination:")
    .option(SETTINGS.databaseUrl.option, helpOf("databaseUrl"))
    .option(SETTINGS.dataDir.option, helpOf("dataDir"))
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure")
    .optionsGroup(`${SERVER_SETTINGS}:`)
    .option(SETTINGS.timeout.option, helpOf("timeout"));
  withProfileFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await copy(flags, host, log)));
}

interface CopyFlags extends StoreFlags, ProfileFlags {
  readonly from?: string | undefined;
  readonly timeout?: string | undefined;
  readonly json?: true | undefined;
}

/** @throws {Failure} `USAGE`, `INTERRUPTED`, or a failure that `copyStore` lists */
async function copy(flags: CopyFlags, host: Host, log: Log): Promise<ExitCode> {
  const { from } = flags;
  if (from === undefined) {
    throw new Failure("USAGE", "--from is missing. It takes the directory of the store to copy.");
  }
  const { profile } = await readConfig(flags, host);
  const store = chooseStore(flags, host, profile);
  if (store.dataDir === undefined && store.databaseUrl === undefined) {
    throw new Failure("USAGE", "The destination is missing. Add --database-url or --data-dir.");
  }
  const busyTimeout = readTimeout(chooseSetting("timeout", flags, host, profile));
  const to = await readStoreLocation(store, host, log);
  log.debug("Target: {store} ({source})", { store: storeOf(to), source: sourceOf(store, profile) });
  const { describeCounts } = await import("#store-copy");
  const counts = await copyWithProgress({ from, to, busyTimeout }, host);
  if (flags.json) await writeJson(host.stdout, counts);
  else {
    const places = `from ${storeOf({ kind: "directory", path: from })} to ${storeOf(to)}`;
    await host.stdout.write(`Copied ${describeCounts(counts)} ${escapeInvisible(places)}.\n`);
    await noteNextStep(from, sourceOf(store, profile), host);
  }
  return ExitCode.OK;
}

/** At a terminal, says what to do with the copy and with the old store. */
async function noteNextStep(from: string, source: string, host: Host): Promise<void> {
  if (!host.stderr.isTerminal()) return;
  const old = storeOf({ kind: "directory", path: from });
  const note = `Next, run service-api serve with the same ${source}. Do not start a server with ${old} again: keys ` +
    "that you delete or disable from now on would still be valid there.";
  // The copy exists, even if this note cannot be written.
  await host.stderr.write(`${await wrapFor(host.stderr, escapeInvisible(note))}\n`).catch(() => {});
}

/** Shows a notice until the copy begins, and then a progress bar. SIGINT and SIGTERM end the copy before its commit. */
async function copyWithProgress(
  options: Pick<CopyOptions, "from" | "to" | "busyTimeout">,
  host: Host,
): Promise<RowCounts> {
  const [{ copyStore }, { openProgress }] = await Promise.all([import("#store-copy"), import("#terminal")]);
  const started = Promise.withResolvers<void>();
  const interrupted = Promise.withResolvers<never>();
  const interruption = new Failure("INTERRUPTED", "Interrupted. Nothing was copied.");
  let state: "copying" | "committing" | "interrupted" = "copying";
  const requireNotInterrupted = (): void => {
    if (state === "interrupted") throw interruption;
  };
  const restore = host.onSignal(["SIGINT", "SIGTERM"], () => {
    if (state === "committing") return;
    state = "interrupted";
    interrupted.reject(interruption);
  });
  let progress: ReturnType<typeof openProgress> | undefined;
  try {
    const copying = copyStore({
      ...options,
      onProgress: async (done, total) => {
        requireNotInterrupted();
        started.resolve();
        progress ??= openProgress("Copying", total, host);
        await progress.show(done);
      },
      beforeCommit: () => {
        requireNotInterrupted();
        state = "committing";
      },
    });
    const result = Promise.race([copying, interrupted.promise]);
    await showWaiting(() => `the store ${storeOf(options.to)}`, host, Promise.race([result, started.promise]));
    return await result;
  } finally {
    restore();
    await progress?.end();
  }
}

const NOTES = `
To move a server to PostgreSQL, stop it, copy its store, and start it again with
--database-url. Its clients notice only the short time without a server: the
store holds hashes of secrets, and the copy has the same ids, hashes, rights,
expiries and audit events. Old secrets work until their grace period ends. Do
not start a server with the old store again: keys that you delete later would
still be valid there.

The command needs no key. It only reads the source, but the current user must be
able to write the source too. It fails if another process uses the source, whose
later changes would be lost. The destination must be an empty store, without
audit events. If it does not exist, the command creates it; a database must
exist. If the command fails or is interrupted, nothing is copied.

--json prints {"keys":12,"resources":2,"auditEvents":340}.

Examples:
  service-api store copy --from /var/lib/keys \\
    --database-url postgres://service_api@localhost:5432/keys
  service-api store copy --from /var/lib/keys --data-dir /srv/keys --json
${EXIT_STATUS}`;
