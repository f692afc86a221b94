/** Runs of install.sh that must fail with an error message and change nothing. */
import { expect } from "expect";
import { type MachineOptions, openMachine, testInstaller } from "./machine.ts";
import { type Answer, archived, type Files, makeRelease, serveRelease } from "./release_server.ts";

/** A valid release. */
export const RELEASE = await makeRelease(archived("echo service-api 1.2.3"));

export interface Refusal {
  /** @default RELEASE */
  readonly files?: Files;
  readonly answer?: Answer;
  readonly machine?: MachineOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** Standard error must match this. */
  readonly message: RegExp;
  /** The number of files that install.sh requests. */
  readonly requests: number;
}

/** Runs the installer on a machine with an older version, and checks that it fails and changes nothing. */
export async function expectRefusal(
  { files = RELEASE.files, answer, machine: options, env, message, requests }: Refusal,
  shell?: string,
): Promise<void> {
  await using server = serveRelease(files, answer);
  await using machine = await openMachine(options);
  await Deno.mkdir(`${machine.home}/.local/bin`, { recursive: true });
  await Deno.writeTextFile(`${machine.home}/.local/bin/service-api`, "older\n", { mode: 0o755 });
  const before = await machine.state();
  const { code, stdout, stderr } = await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url, ...env } }, shell);
  expect({ code, stdout, stderr, requests: server.requests.length }).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(message),
    requests,
  });
  expect(await machine.state()).toEqual(before);
}

/** Registers a test in which install.sh must fail and change nothing. */
export const refuses = (rule: string, refusal: Refusal, needs?: readonly string[]): void =>
  testInstaller(rule, () => expectRefusal(refusal), needs);
