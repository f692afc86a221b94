/** The topics of `service-api help`. Their texts are in `topics.ts`, which is loaded on demand. */

/** The topics and their one-line summaries. */
export const TOPICS = [
  ["exit-codes", "exit statuses, and the codes of failures"],
  ["json", "what commands print with --json"],
  ["settings", "flags, variables and profiles for servers and stores"],
  ["rights", "roles, resources and actions, and what a key needs"],
  ["environment", "the environment variables"],
] as const;

export type Topic = typeof TOPICS[number][0];

export function isTopic(word: string | undefined): word is Topic {
  return TOPICS.some(([name]) => name === word);
}
