/** `apikey apply`: brings the keys of a manifest and their files in order. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote, reasonOf } from "../../../../apikey/failure.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import type { CommandContext } from "../../../command.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import type { Host } from "../../../host/host.ts";
import { writeNotes } from "../../../host/notes.ts";
import { toJsonLine } from "../../../report.ts";
import { type ServerFlags, withServerFlags } from "../../../settings/server_flags.ts";
import { readSettingFile, readStandardInput } from "../../../settings/setting.ts";
import { parseKnownNames, parseNamesOfServer } from "../known_names.ts";
import { applyKeys, type Report } from "./apply_keys.ts";
import type { Manifest } from "./manifest.ts";
import { printReport } from "./output.ts";
import type { WantedKey } from "./plan.ts";
import { withSession } from "./session.ts";

/** The flags as typed. */
interface ApplyFlags extends ServerFlags {
  readonly dryRun?: true | undefined;
  readonly prune?: true | undefined;
  readonly secretsDir?: string | undefined;
  readonly schema?: true | undefined;
  readonly json?: true | undefined;
}

/** Registers the subcommand. */
export function registerApply(command: Command, context: CommandContext): void {
  const withFlags = command
    .description("Do what apikey ensure does for every key of a manifest, a YAML or JSON file.")
    .usage("<file> [options]")
    .argument("[file]", "the manifest; - reads standard input")
    .optionsGroup("Manifest:")
    .option("--dry-run", "print what would change, and change nothing")
    .option("--prune", "delete the keys that are marked with managedBy of the manifest but are not in it")
    .option("--secrets-dir <dir>", "the directory of the secret files; created with mode 0700 if it is missing")
    .option("--schema", "print the JSON Schema of a manifest, for editors")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withFlags)
    .addHelpText("after", NOTES)
    .action(async (file, flags) => {
      context.setExitCode(flags.schema ? await printSchema(flags, context.host) : await apply(file, flags, context));
    });
}

async function printSchema({ json }: ApplyFlags, host: Host): Promise<ExitCode> {
  const { manifestSchema } = await import("#manifest");
  const schema = manifestSchema();
  await host.stdout.write(json ? toJsonLine(schema) : `${JSON.stringify(schema, null, 2)}\n`);
  return ExitCode.OK;
}

async function apply(path: string | undefined, flags: ApplyFlags, context: CommandContext): Promise<ExitCode> {
  const { host } = context;
  const { dryRun = false, prune = false } = flags;
  if (path === undefined) throw new Failure("USAGE", "apikey apply needs the path of a manifest, or --schema.");
  if (flags.secretsDir === "") throw new Failure("USAGE", "--secrets-dir is empty. Pass the path of a directory.");
  const manifest = await readManifest(path, flags, host);
  const parsed = parseKnownNames(manifest.parseKeys);
  const { managedBy } = manifest;
  if (prune && managedBy === undefined) {
    throw new Failure("USAGE", "--prune needs managedBy in the manifest. It deletes only keys with this mark.");
  }
  return await withSession(flags, context, async (session) => {
    const wanted = parsed instanceof UnknownName
      ? await parseNamesOfServer(manifest.parseKeys, parsed, session.client)
      : parsed;
    if (!dryRun) await makeSecretsDir(flags);
    const report = await applyKeys(wanted, { dryRun, prunes: prune ? managedBy : undefined }, session);
    await printReport(report, flags, host);
    if (!dryRun && !flags.json) await noteRemainingFiles(report, wanted, flags, host);
    if (!report.isEmbedded && managedBy !== undefined) {
      await writeNotes(["This server does not record managedBy, so --prune does not work on it."], host);
    }
    return report.failed.length === 0 ? ExitCode.OK : ExitCode.FAILED;
  });
}

/** The largest manifest, in bytes. It has room for about 5,000 keys. */
const MAX_SIZE = 1_000_000;

async function readManifest(path: string, { secretsDir }: ApplyFlags, host: Host): Promise<Manifest> {
  const content = path === "-" ? await readStandardInput("apikey apply", host) : await readText(path);
  if (content.length > MAX_SIZE) throw tooLarge();
  const { parseManifest } = await import("#manifest");
  return parseManifest(content, path === "-" ? "standard input" : path, secretsDir, host);
}

async function readText(path: string): Promise<string> {
  const size = await Deno.stat(path).then(({ isFile, size }) => isFile ? size : 0, () => 0);
  if (size > MAX_SIZE) throw tooLarge();
  return await readSettingFile(path, "apikey apply");
}

function tooLarge(): Failure {
  return new Failure(
    "USAGE",
    `The manifest is larger than ${MAX_SIZE} bytes. Divide it into several manifests, each with its own managedBy.`,
  );
}

/** Names the files of deleted keys. The command keeps them, because it does not know what else they are for. */
async function noteRemainingFiles(
  { deleted }: Report,
  wanted: readonly WantedKey[],
  { secretsDir }: ApplyFlags,
  host: Host,
): Promise<void> {
  if (deleted.length === 0) return;
  const { defaultSecretFile } = await import("#manifest");
  const used = new Set(wanted.map(({ secretFile }) => secretFile));
  const notes = await Promise.all(deleted.map(async ({ name }) => {
    const path = secretsDir === undefined ? undefined : defaultSecretFile(name, secretsDir);
    const isFound = path !== undefined && !used.has(path) &&
      await Deno.lstat(path).then(({ isFile }) => isFile, () => false);
    return isFound
      ? `The secret file of the deleted key ${quote(name)} remains: ${quote(path)}. Remove it.`
      : `If a file holds the secret of the deleted key ${quote(name)}, remove the file.`;
  }));
  await writeNotes(notes, host);
}

async function makeSecretsDir({ secretsDir }: ApplyFlags): Promise<void> {
  if (secretsDir === undefined) return;
  try {
    await Deno.mkdir(secretsDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Failure("FAILED", `Cannot create the directory ${quote(secretsDir)}: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

const NOTES = `
Example of a manifest:
  managedBy: team deploy          # marks these keys, for --prune; optional
  keys:
    - name: ci deploy
      description: deploys the web shop
      permissions: [DOCKER:READ_ANY, DOCKER:UPDATE_ANY]
      secretFile: ci.key          # relative to --secrets-dir or to this file
    - name: nightly backup
      roles: [VIEWER]
      expiresIn: 90d              # how long each secret is valid
      rotateBefore: 14d           # new secret this long before the expiry
      grace: 1d                   # how long the old secret stays valid then

  Each key is created, updated, rotated or left unchanged, as by apikey ensure.
  Without secretFile, the file is in --secrets-dir and has the name of the key,
  with hyphens for spaces: nightly-backup.key. JSON is accepted too. Unknown
  members, duplicate names and anchors (& and *) are errors. Put a wildcard that
  begins with an asterisk in quotes: "*:READ_ANY".

Failures:
  If one key fails, the command continues with the next one, and ends with exit
  status 1. To finish, run it again: keys that are in order stay unchanged. If a
  key of the manifest failed, the command deletes nothing.

--prune:
  Deletes the keys whose managedBy is that of the manifest, if the manifest no
  longer names them. It does not delete their secret files. It names the files
  that it finds in --secrets-dir: delete them yourself. An existing key that
  belongs to no manifest gets the mark. A key that belongs to another manifest
  is an error. If the calling key or the last key with the role ADMIN would be
  deleted, the command fails before it changes anything. Other servers do not
  record managedBy, so --prune is not supported there.

Results:
  Standard output names each key that changed, and never contains a secret. With
  --json, it has one line:
  {"created":1,"updated":0,"rotated":0,"deleted":0,"unchanged":1,
  "keys":[{"name":"ci deploy","id":"key_...","action":"create",
  "secretFile":"ci.key"},...]}
  action is create, update, rotate, delete or unchanged. With --dry-run, each
  key also has reason and "changes":[{"field":"roles","before":["GUEST"],
  "after":["VIEWER"]}]. If keys failed, there is also
  "failed":[{"id":null,"name":"old","code":"FORBIDDEN","error":"..."}].

Examples:
  service-api apikey apply keys.yaml --secrets-dir /etc/api-keys --dry-run
  service-api apikey apply keys.yaml --secrets-dir /etc/api-keys --prune
  service-api apikey apply --schema > keys.schema.json
${EXIT_STATUS}`;
