/** `apikey --create` under way at a terminal. */
import * as z from "zod/mini";
import type { Installation } from "../program/program.ts";
import { KEYS } from "../program/screen.ts";
import { type AtTerminal, runAtTerminal, type Running } from "../program/terminal_host.ts";

const Listed = z.object({ data: z.object({ apiKeys: z.array(z.object({ name: z.string() })) }) });

/** Runs `apikey --create` over an installation. */
export function createAt({ env }: Installation, args: readonly string[] = [], at: AtTerminal = {}): Running {
  return runAtTerminal(["apikey", "--create", ...args], { ...at, env: { ...env, ...at.env } });
}

/** Answers the questions up to the last one: a VIEWER that may update DOCKER. */
export async function answerAll({ screen }: Running, name = "ci deploy", description = "for tests"): Promise<void> {
  await screen.until(/\? Name/);
  screen.press(...name, KEYS.enter);
  await screen.until(/\? Description/);
  screen.press(...description, KEYS.enter);
  await screen.until(/\? Roles/);
  screen.press(..."viewer", KEYS.space, KEYS.enter);
  await screen.until(/\? Permissions/);
  screen.press(..."docker:up", KEYS.space, KEYS.enter);
  await screen.until(/\? Create this/);
}

/** The names of the keys that there are. */
export async function namesIn({ program }: Installation): Promise<readonly string[]> {
  const { stdout } = await program(["request", "--query", "{ apiKeys { name } }"]);
  return Listed.parse(JSON.parse(stdout)).data.apiKeys.map(({ name }) => name);
}
