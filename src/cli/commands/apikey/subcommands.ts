/** The subcommands of `apikey`. A subcommand comes directly after the word `apikey`. */

/** The subcommands and their one-line summaries. */
export const SUBCOMMANDS = [
  ["create", "create a key and print its secret once, like --create"],
  ["delete", "delete keys, like --delete"],
  ["list", "list keys, without their secrets"],
  ["show", "show a key and its rights, without its secret"],
  ["update", "change a key: its name, rights, expiry or state"],
  ["rotate", "issue a new secret for a key"],
  ["verify", "report whether your key is valid, and what it may do"],
  ["ensure", "make sure that a file holds a valid secret of a key"],
  ["apply", "do what ensure does for every key of a manifest"],
] as const;

export type SubcommandName = typeof SUBCOMMANDS[number][0];

export function isSubcommand(word: string | undefined): word is SubcommandName {
  return SUBCOMMANDS.some(([name]) => name === word);
}
