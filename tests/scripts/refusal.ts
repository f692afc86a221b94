/** What the installer refuses: it says why, and leaves everything as it was. */
import { expect } from "expect";
import { type MachineOptions, openMachine, testInShells } from "./machine.ts";
import { type Answer, archived, type Files, makeRelease, serveRelease } from "./release_server.ts";

/** What is installed where nothing is refused. */
export const RELEASE = await makeRelease(archived("echo service-api 1.2.3"));

export interface Refusal {
  /** @default a good release */
  readonly files?: Files;
  readonly answer?: Answer;
  readonly machine?: MachineOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** What is said on standard error. */
  readonly says: RegExp;
  /** How many files are asked for. */
  readonly requests: number;
}

/** Runs the installer on a machine that has an older version, which has to be as it was afterwards. */
export async function expectRefusal(
  shell: string,
  { files = RELEASE.files, answer, machine: options, env, says, requests }: Refusal,
): Promise<void> {
  await using server = serveRelease(files, answer);
  await using machine = await openMachine(options);
  await Deno.mkdir(`${machine.home}/.local/bin`, { recursive: true });
  await Deno.writeTextFile(`${machine.home}/.local/bin/service-api`, "older\n", { mode: 0o755 });
  const before = await machine.state();
  const { code, stdout, stderr } = await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url, ...env } });
  expect({ code, stdout, stderr, requests: server.requests.length }).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(says),
    requests,
  });
  expect(await machine.state()).toEqual(before);
}

/** A test of a refusal in each shell. */
export const refuses = (rule: string, refusal: Refusal, needs?: readonly string[]): void =>
  testInShells(rule, (shell) => expectRefusal(shell, refusal), needs);
