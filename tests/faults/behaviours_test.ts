/** How the commands treat broken and hostile servers. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { inProcess } from "../program/program.ts";
import { type Behaviour, BEHAVIOURS, CREATED, KEY } from "./behaviours.ts";
import { isFull, record } from "./form.ts";
import { type Act, startHostile, TRUSTED } from "./hostile_server.ts";
import { start } from "./process.ts";

/** The exit statuses of the failures, as the README states them. */
const EXIT_STATUSES: Readonly<Record<string, number>> = {
  FAILED: 1,
  ALREADY_EXISTS: 1,
  NOT_FOUND: 1,
  EXPIRED: 1,
  UNSUPPORTED: 1,
  UNAUTHENTICATED: 3,
  FORBIDDEN: 3,
  UNREACHABLE: 4,
  TLS: 4,
  TIMEOUT: 4,
  BAD_RESPONSE: 4,
  RATE_LIMITED: 4,
};

const COMMANDS = {
  create: ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"],
  delete: ["apikey", "--delete", "--name", "new", "--json"],
  request: ["request", "--query", "{ a }", "--json"],
} as const;

/** The largest resident memory of a command, in megabytes. */
const MAX_MEMORY = 200;

/** The longest run of a command whose server sends without end, in milliseconds. */
const MAX_TIME = 10_000;

const build = await buildExecutable();

interface Run {
  readonly outcome: Outcome;
  /** In megabytes; `undefined` if the command ran in this process. */
  readonly memory: number | undefined;
}

/** Runs a command against a server. In the short form, only commands whose memory is measured run the executable. */
async function run({ acts, tls, at, command, isLarge, code = "" }: Behaviour): Promise<Run> {
  const answer: Act = async ({ request, write }) => {
    await request();
    if (typeof acts !== "function") await write(acts);
    await request();
  };
  await using server = startHostile(typeof acts === "function" ? acts : answer, tls);
  const authorities = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(authorities, TRUSTED);
    const env = {
      SERVICE_API_URL: at?.(server.url) ?? server.url,
      SERVICE_API_KEY: KEY,
      ...(tls === "signed by an unknown CA" ? {} : { SERVICE_API_CA_FILE: authorities }),
      SERVICE_API_TIMEOUT: code.includes("TIMEOUT") ? "500ms" : "20s",
    };
    if (build.kind === "not built" || !(isFull || isLarge)) {
      return { outcome: await inProcess(COMMANDS[command ?? "create"], { env }), memory: undefined };
    }
    const process = start(build.path, COMMANDS[command ?? "create"], env);
    const [outcome, memory] = await Promise.all([process.outcome, process.peak()]);
    return { outcome, memory };
  } finally {
    await Deno.remove(authorities);
  }
}

function expectOutcome(
  { code, says = /^/, maybe, command }: Behaviour,
  { code: status, stdout, stderr }: Outcome,
): void {
  // One line, without a character that could move the cursor or change the direction of the text.
  expect(stdout).toMatch(/^[^\p{Cc}\p{Cf}]*\n$/u);
  expect(stdout + stderr).not.toContain(KEY.slice(0, 20));
  if (code === undefined) {
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(says);
    return;
  }
  const { error, code: shown, ...rest } = JSON.parse(stdout);
  expect({ shown, status, stderr }).toEqual({
    shown: expect.stringMatching(`^(${code})$`),
    status: EXIT_STATUSES[shown],
    stderr: "",
  });
  expect(rest).toEqual(command === "delete" ? { deleted: 0 } : {});
  expect(error).toMatch(says);
  expect(error).not.toContain(CREATED);
  // Other commands may fail in a query, which changes nothing.
  if (maybe !== undefined && command === undefined) expect(/may have executed/.test(error)).toBe(maybe);
}

/** In the full form, the servers that send a fixed response do so with and without TLS. */
const ALL: readonly Behaviour[] = [
  ...BEHAVIOURS,
  ...(isFull ? BEHAVIOURS : []).filter(({ acts, tls, at }) => typeof acts !== "function" && !tls && !at)
    .map((behaviour): Behaviour => ({ ...behaviour, server: `${behaviour.server}, with TLS`, tls: "trusted" })),
];

let asExpected = 0;
let highest = 0;

for (const behaviour of ALL) {
  const { server, code = "succeeds", command = "create" } = behaviour;
  Deno.test(`if the server ${server}, ${command} ${code === "succeeds" ? code : `fails with ${code}`}`, async () => {
    const before = performance.now();
    const { outcome, memory = 0 } = await run(behaviour);
    expectOutcome(behaviour, outcome);
    expect(performance.now() - before).toBeLessThan(MAX_TIME);
    expect(memory).toBeLessThan(MAX_MEMORY);
    asExpected++;
    highest = Math.max(highest, memory);
  });
}

Deno.test.afterAll(async () => {
  await record("Hostile servers", `${asExpected} of ${ALL.length} behaviours reported as specified`);
  await record("Highest memory of a command against them", `${Math.round(highest)} MB`);
});
