/** `apikey ensure`, killed at random moments and run again. */
import { expect } from "expect";
import { hashSecret } from "../../src/apikey/secret.ts";
import { inProcess } from "../program/program.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { createAdmin } from "./clients.ts";
import { testOnEngines } from "./engines.ts";
import { amount, record } from "./form.ts";
import { type Environment, kill, serve, start } from "./process.ts";

const KILLS = amount(4, 200);

/** Spoils what `ensure` has to mend. */
type Spoil = (run: Run) => Promise<unknown>;

interface Run {
  readonly path: string;
  /** Runs a command in this process. It must succeed. Returns its standard output. */
  readonly command: (...args: readonly string[]) => Promise<string>;
}

const SPOILS: Readonly<Record<string, Spoil>> = {
  "no file": ({ path }) => Deno.remove(path),
  "no key": ({ command }) => command("apikey", "--delete", "--name", "ci"),
  "another secret": ({ path }) => Deno.writeTextFile(path, "sak_other\n"),
  "other rights, and no file": async ({ path, command }) => {
    await command("apikey", "ensure", "ci", "--roles", "GUEST,CONNECT", "--secret-file", path);
    await Deno.remove(path);
  },
};

/**
 * Kills `ensure` again and again. Each time, runs it once more, in this process because that is faster, and expects one
 * key whose secret is in the file.
 */
async function attack(executable: string, env: Environment): Promise<Readonly<Record<string, number>>> {
  const left = { "killed": 0, "secret issued but not in the file": 0, "temporary file or lock": 0 };
  await inTemporaryDirectory(async (directory) => {
    const path = `${directory}/ci.key`;
    const args = ["apikey", "ensure", "ci", "--roles", "VIEWER", "--secret-file", path];
    const command = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await inProcess(args, { env });
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
      return stdout;
    };
    await command(...args);
    const spoils = Object.values(SPOILS);
    let duration = 0;
    for (let i = 0; left.killed < KILLS; i++) {
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      await spoils[i % spoils.length]?.({ path, command });
      if (i % 10 === 0) {
        const started = performance.now();
        // deno-lint-ignore no-await-in-loop -- one kill after the other
        expect(await start(executable, args, env).outcome).toMatchObject({ code: 0, stderr: "" });
        duration = performance.now() - started;
        continue;
      }
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      const before = await readState(path, command);
      const { child, outcome } = start(executable, args, env);
      // deno-lint-ignore no-await-in-loop -- the moment of the kill is random
      await new Promise((resolve) => setTimeout(resolve, (0.3 + 0.9 * Math.random()) * duration));
      if (kill(child)) left.killed++;
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      await outcome;
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      const files = await filesIn(directory);
      if (files.length > 1) left["temporary file or lock"]++;
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      const after = await readState(path, command);
      if (after.isStale && after.secret !== before.secret) left["secret issued but not in the file"]++;

      // deno-lint-ignore no-await-in-loop -- one kill after the other
      await command(...args);
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      expect((await readState(path, command)).isStale).toBe(false);
      // The lock of a process that was killed at its very end remains until a run that changes something. It is not held.
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      expect((await filesIn(directory)).filter((name) => name !== "ci.key.lock")).toEqual(["ci.key"]);
      // deno-lint-ignore no-await-in-loop -- one kill after the other
      expect(await command(...args)).toMatch(/^unchanged/);
    }
  });
  return left;
}

async function filesIn(directory: string): Promise<readonly string[]> {
  return await Array.fromAsync(Deno.readDir(directory), ({ name }) => name);
}

interface State {
  /** A text that changes with the secret of the key. Empty if the key does not exist. */
  readonly secret: string;
  /** Whether the key exists and the file does not hold its secret. */
  readonly isStale: boolean;
}

/** Compares the key with the file. Expects at most one key with the name. */
async function readState(path: string, command: Run["command"]): Promise<State> {
  const secret = await Deno.readTextFile(path).catch(() => "");
  const hash = (await hashSecret(secret.trim())).toHex();
  const query = `{ apiKeys { id name key } apiKeysBySecretHash(hashes: ["${hash}"]) { id } }`;
  const { data: { apiKeys, apiKeysBySecretHash: [match] } } = JSON.parse(await command("request", "--query", query));
  const named = apiKeys.filter(({ name }: { readonly name: string }) => name === "ci");
  expect(named.length).toBeLessThanOrEqual(1);
  const [key] = named;
  return {
    secret: key === undefined ? "" : `${key.id} ${key.key}`,
    isStale: key !== undefined && match?.id !== key.id,
  };
}

function inWords(left: Readonly<Record<string, number>>): string {
  return Object.entries(left).map(([what, count]) => `${what}: ${count}`).join(", ");
}

await testOnEngines("kills of ensure", (engine, executable) => {
  Deno.test(`${engine.name}: if ensure is killed and run again, the file holds the secret of the only key`, () =>
    engine.withData(async ({ env, check }) => {
      const left = await attack(executable, env);
      await check();
      await record(`Kills of \`ensure\`, ${engine.name}`, `${inWords(left)}; all mended by the next run`);
    }));

  Deno.test(`${engine.name} over HTTP: if ensure is killed and run again, the file holds the secret of the only key`, () =>
    engine.withData(async ({ env }) => {
      const key = await createAdmin(executable, env);
      const server = await serve(executable, [], env);
      try {
        const left = await attack(executable, { SERVICE_API_URL: server.url, SERVICE_API_KEY: key });
        await record(`Kills of \`ensure\`, ${engine.name} over HTTP`, `${inWords(left)}; all mended by the next run`);
      } finally {
        await server.stop("SIGTERM");
      }
    }));
});
