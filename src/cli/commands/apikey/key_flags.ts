/** The flags that several modes and subcommands of `apikey` share. */
import type { Command, CommandUnknownOpts, OptionValues } from "@commander-js/extra-typings";
import { collect } from "../../settings/server_flags.ts";

/** The flags that describe a new key, as typed. */
export type KeyFlags = {
  readonly roles?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly permissionsFor?: string | undefined;
  readonly description?: string | undefined;
  readonly overwrite?: true | undefined;
  readonly expiresIn?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly secretFile?: string | undefined;
};

/** The flags that only `--delete` accepts, as typed. */
export type DeleteOnlyFlags = {
  readonly match?: string | undefined;
  readonly expired?: true | undefined;
  readonly unused?: string | undefined;
  readonly ifExists?: true | undefined;
};

/** The flags for prompts (see `PromptFlags`) and output, as typed. */
export type OutputFlags = {
  readonly yes?: true | undefined;
  readonly input?: boolean | undefined;
  readonly json?: true | undefined;
};

// The flags are type aliases, because commander requires types with an implicit index signature.
// The overloads state the types that commander would infer, because inferring them takes the type checker minutes.

/** Adds the flags of {@linkcode KeyFlags}. */
export function withKeyFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & KeyFlags>;
export function withKeyFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .option("--roles <roles>", "comma-separated roles; repeatable", collect)
    .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs; * stands for all; repeatable", collect)
    .option(
      "--permissions-for <document>",
      "add the permissions that a GraphQL document needs (text, @file or -), after showing the rights of the key",
    )
    .option("--description <desc>", "what the key is for, in at most 1,024 characters")
    .option("--expires-in <duration>", "when the key expires: a number and s, m, h, d or w, for example 90d")
    .option("--expires-at <time>", "the expiry as a time, for example 2026-12-31T23:59:59Z")
    .option("--overwrite", "if the name is taken, replace that key; the old secret stops working immediately")
    .option("--secret-file <file>", "write the secret to this file, not to standard output");
}

/** Adds the flags of {@linkcode DeleteOnlyFlags}. */
export function withDeleteFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & DeleteOnlyFlags>;
export function withDeleteFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .optionsGroup("Deletion:")
    .option("--match <pattern>", "delete keys whose names match; * stands for any characters, ? for one")
    .option("--expired", "delete keys that have expired")
    .option("--unused <duration>", "delete keys not used for this long, for example 90d; at least 5m")
    .option("--if-exists", "succeed even if no key has a given name or id");
}

/** Adds the flags of {@linkcode OutputFlags}. */
export function withOutputFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & OutputFlags>;
export function withOutputFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .optionsGroup("Prompts:")
    .option("--yes", "skip the final confirmation")
    .option("--no-input", "never prompt; fail if a value is missing")
    .option("--plain", "prompt in plain lines, for example for screen readers [SERVICE_API_PLAIN]")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
}
