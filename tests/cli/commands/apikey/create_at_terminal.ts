/** Drives the prompts of `apikey --create`. */
import * as z from "zod";
import type { Installation } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { type AtTerminal, runAtTerminal, type Running } from "../../../program/terminal_host.ts";

const KeyList = z.object({ data: z.object({ apiKeys: z.array(z.object({ name: z.string() })) }) });

/** Starts `apikey --create` at a terminal. */
export function createAtTerminal({ env }: Installation, args: readonly string[] = [], at: AtTerminal = {}): Running {
  return runAtTerminal(["apikey", "--create", ...args], { ...at, env: { ...env, ...at.env } });
}

/** Answers every prompt before the confirmation. Selects the role VIEWER and the permission DOCKER:UPDATE_ANY. */
export async function answerPrompts(
  { screen }: Running,
  name = "ci deploy",
  description = "for tests",
): Promise<void> {
  await screen.until(/\? Name/);
  screen.press(...name, KEYS.enter);
  await screen.until(/\? Description/);
  screen.press(...description, KEYS.enter);
  await screen.until(/\? Roles/);
  screen.press(..."viewer", KEYS.tab, KEYS.enter);
  await screen.until(/\? Permissions/);
  screen.press(..."docker:up", KEYS.tab, KEYS.enter);
  await screen.until(/\? Create this/);
}

/** The names of all keys. */
export async function keyNames({ program }: Installation): Promise<readonly string[]> {
  const { stdout } = await program(["request", "--query", "{ apiKeys { name } }"]);
  return KeyList.parse(JSON.parse(stdout)).data.apiKeys.map(({ name }) => name);
}
