/** `apikey --create` under way at a terminal. */
import * as v from "valibot";
import type { Installation } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { type AtTerminal, runAtTerminal, type Running } from "../../../program/terminal_host.ts";

const Listed = v.object({ data: v.object({ apiKeys: v.array(v.object({ name: v.string() })) }) });

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
  return v.parse(Listed, JSON.parse(stdout)).data.apiKeys.map(({ name }) => name);
}
