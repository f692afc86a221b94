/** The guarantees of `KeyStore` between processes. */
import { expect } from "expect";
import { inTemporaryDirectory, withStoreIn } from "./temporary_store.ts";

/** A process of `racer.ts` that waits for the start. */
interface Racer {
  readonly ready: Promise<void>;
  /** Lets it go, and tells what became of each name. */
  readonly run: () => Promise<readonly string[]>;
}

function startRacer(directory: string, names: readonly string[]): Racer {
  const program = import.meta.resolve("./racer.ts");
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-read", "--allow-write", program, directory, ...names],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = process.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let printed = "";
  async function readUntil(isEnough: () => boolean): Promise<void> {
    const { done = false, value } = await lines.next();
    printed += value ?? "";
    if (!done && !isEnough()) await readUntil(isEnough);
  }
  return {
    ready: readUntil(() => printed.includes("ready\n")),
    run: async () => {
      await process.stdin.close();
      await readUntil(() => false);
      await process.status;
      return printed.trim().split("\n").slice(1);
    },
  };
}

Deno.test("Of four processes that open a new store at once and race for names, exactly one wins each name", () =>
  inTemporaryDirectory(async (directory) => {
    const names = Array.from({ length: 50 }, (_, i) => `key ${i}`);
    const racers = Array.from({ length: 4 }, () => startRacer(directory, names));
    await Promise.all(racers.map(({ ready }) => ready));
    const outcomes = await Promise.all(racers.map(({ run }) => run()));
    for (const i of names.keys()) {
      expect(outcomes.map((outcome) => outcome[i]).toSorted()).toEqual([
        "ALREADY_EXISTS",
        "ALREADY_EXISTS",
        "ALREADY_EXISTS",
        "won",
      ]);
    }
    await withStoreIn(directory, async (store) => {
      expect((await store.list()).map(({ name }) => String(name)).toSorted()).toEqual(names.toSorted());
    });
  }));
