/** The flags that select a server, a store, a profile and a config file. The table of settings declares them. */
import type { Command, CommandUnknownOpts, OptionValues } from "@commander-js/extra-typings";
import type { StoreFlags } from "./store_location.ts";
import { helpOf, SETTINGS } from "./table.ts";

/** The flags that select the config file and the profile, as typed. */
export interface ProfileFlags {
  readonly profile?: string | undefined;
  readonly config?: string | undefined;
}

/** The flags that say how to reach a server on the network, as typed. */
export interface AddressFlags extends ProfileFlags {
  readonly baseUrl?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly keyHeader?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  readonly caFile?: string | undefined;
  readonly timeout?: string | undefined;
  readonly maxResponseSize?: string | undefined;
}

/** The flags that select a server on the network or the store of the embedded server, as typed. */
export interface ServerFlags extends AddressFlags, StoreFlags {}

/** The title of these flags in help pages. */
export const SERVER_SETTINGS = "Server settings";

// The overloads state the types that commander would infer, because inferring them takes the type checker minutes.

/** Adds the flags of {@linkcode ServerFlags}. */
export function withServerFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & ServerFlags>;
export function withServerFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return addProfileFlags(
    addAddressFlags(command)
      .option(SETTINGS.dataDir.option, helpOf("dataDir"))
      .option(SETTINGS.databaseUrl.option, helpOf("databaseUrl")),
  );
}

/** Adds the flags of {@linkcode AddressFlags}. */
export function withAddressFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & AddressFlags>;
export function withAddressFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return addProfileFlags(addAddressFlags(command));
}

/** Adds the flags of {@linkcode ProfileFlags}. */
export function withProfileFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & ProfileFlags>;
export function withProfileFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return addProfileFlags(command);
}

function addAddressFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .optionsGroup(`${SERVER_SETTINGS}:`)
    .option(SETTINGS.baseUrl.option, helpOf("baseUrl"))
    .option(SETTINGS.keyFile.option, helpOf("keyFile"))
    .option(SETTINGS.keyHeader.option, helpOf("keyHeader"))
    .option(SETTINGS.header.option, helpOf("header"), collect)
    .option(SETTINGS.allowHttp.option, helpOf("allowHttp"))
    .option(SETTINGS.caFile.option, helpOf("caFile"))
    .option(SETTINGS.timeout.option, helpOf("timeout"))
    .option(SETTINGS.maxResponseSize.option, helpOf("maxResponseSize"));
}

function addProfileFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .optionsGroup(`${SERVER_SETTINGS}:`)
    .option(SETTINGS.profile.option, helpOf("profile"))
    .option(SETTINGS.config.option, helpOf("config"));
}

/** Collects the values of a repeatable flag. */
export function collect(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...previous ?? [], value];
}
