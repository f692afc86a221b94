/** Answers the questions of a command, and shows its screens. */
import type { StoredKey } from "../../../../../src/store/stored_key.ts";
import { openSqliteStore } from "../../../../../src/store/sqlite.ts";
import { KEYS } from "../../../../program/screen.ts";
import type { Show, Window } from "../../../../program/snapshots.ts";
import { runAtTerminal, type Running } from "../../../../program/terminal_host.ts";
import { LOCAL_ORIGIN, NOW, type Result, send, serverOver } from "../../../../server/graphql/graphql.ts";
import { newKeyWithSecret } from "../../../../store/stored_key.ts";

/** A server with keys, and a home directory with the profile "prod" for it. */
export interface Team extends AsyncDisposable {
  readonly home: string;
  /** Stands for the network. */
  readonly fetch: typeof fetch;
}

/** The time so many days before `NOW` or, if negative, after it. */
export function daysAgo(days: number): Date {
  return new Date(NOW.getTime() - days * 86_400_000);
}

/** @param keys by name; the first is the key in use */
export async function createTeam(keys: Readonly<Record<string, Partial<StoredKey>>>): Promise<Team> {
  const home = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const store = await openSqliteStore({ directory: `${home}/store`, busyTimeout: 5000 });
  const made = await Promise.all(
    Object.entries(keys).map(([name, fields], index) =>
      newKeyWithSecret(name, { id: `key_${String(index + 1).padStart(22, "0")}`, createdAt: daysAgo(100), ...fields })
    ),
  );
  await Promise.all(made.map(({ key }) => store.add(key, LOCAL_ORIGIN, () => {})));
  const config = `${home}/.config/service-api`;
  await Deno.mkdir(config, { recursive: true });
  await Deno.writeTextFile(`${config}/prod.key`, `${made[0]?.secret}\n`, { mode: 0o600 });
  await Deno.writeTextFile(
    `${config}/config.yaml`,
    "profiles:\n  prod:\n    base-url: http://localhost:4000\n    key-file: prod.key\n",
    { mode: 0o600 },
  );
  const { network } = serverOver(store);
  // No test changes a key, so equal requests get equal responses. Keeping these saves time.
  const responses = new Map<string, Result>();
  return {
    home,
    fetch: async (...args) => {
      const request = new Request(...args);
      const body = await request.clone().text();
      const response = responses.get(body) ?? await send(network, request);
      responses.set(body, response);
      const { status, headers, text } = response;
      headers.set("content-length", `${new TextEncoder().encode(text).length}`);
      return new Response(text, { status, headers });
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await Deno.remove(home, { recursive: true });
    },
  };
}

const { fetch: network } = globalThis;

/** Stands for the lines at the top of the window that the picture before has too. */
const UNCHANGED = "⋮";

/** A run of a command that asks questions. Disposing it cancels the question that is open. */
export class Wizard implements AsyncDisposable {
  readonly #running: Running;
  readonly #isPlain: boolean;
  readonly #see: (screen: string, title: string) => void;
  /** Rejects when the command ends. */
  readonly #ended: Promise<never>;
  #asked = Promise.withResolvers<void>();
  /** The lines of the picture before. */
  #before: readonly string[] = [];

  constructor(args: readonly string[], team: Pick<Team, "home" | "fetch">, window: Window, see: Parameters<Show>[1]) {
    const { columns, rows, isPlain } = window;
    const env = { HOME: team.home, SERVICE_API_PROFILE: "prod", ...window.env };
    globalThis.fetch = team.fetch;
    this.#running = runAtTerminal(args, { columns, rows, env, now: NOW, showsOutput: true });
    this.#isPlain = isPlain;
    this.#see = see;
    const { screen, code } = this.#running;
    // Every question starts to listen to keys or, in plain lines, to the input.
    screen.input.on("newListener", (event) => {
      if (event === "keypress" || event === "readable") this.#asked.resolve();
    });
    this.#ended = code.then(async (code) => {
      throw new Error(`the command ended with the exit status ${code}:\n${await screen.text()}`);
    });
    this.#ended.catch(() => {});
  }

  /** Takes a picture of the next question. Leaves out what the picture before has at the same place. */
  async see(title: string): Promise<void> {
    await Promise.race([this.#asked.promise, this.#ended]);
    await this.#takePicture(title);
  }

  /** Waits until the command ends, and takes a picture. */
  async seeEnd(title: string): Promise<void> {
    await this.#running.code;
    await this.#takePicture(title);
  }

  async #takePicture(title: string): Promise<void> {
    const lines = (await this.#running.screen.window()).split("\n");
    const same = lines.findIndex((line, index) => line !== this.#before[index]);
    this.#before = lines;
    this.#see([...(same > 1 ? [UNCHANGED, ...lines.slice(same)] : lines)].join("\n"), title);
  }

  /** Answers the next question: with keys or, in plain lines, with a line. */
  async answer(keys: readonly string[], line: string): Promise<void> {
    await this.#press(this.#isPlain ? [line, KEYS.enter] : keys, `${line}\n`);
  }

  /** @param echo what a terminal shows that draws nothing else */
  async #press(keys: readonly string[], echo: string): Promise<void> {
    await Promise.race([this.#asked.promise, this.#ended]);
    this.#asked = Promise.withResolvers();
    const { screen } = this.#running;
    if (this.#isPlain) screen.write(echo);
    screen.press(...keys);
  }

  /** Answers with a text, or selects the only item that contains it. */
  async type(text: string): Promise<void> {
    await this.answer([...text, KEYS.enter], text);
  }

  /** Answers with a text that the terminal does not show. */
  async typeSecret(text: string): Promise<void> {
    await this.#press([text, KEYS.enter], "");
  }

  /** Answers with the default. */
  async enter(): Promise<void> {
    await this.answer([KEYS.enter], "");
  }

  /** Answers a confirmation. */
  async decide(letter: "y" | "n" | "e"): Promise<void> {
    await this.answer([letter], letter);
  }

  /** Selects an item of a short list. */
  async choose(index: number): Promise<void> {
    await this.answer([...Array<string>(index).fill(KEYS.down), KEYS.enter], `${index + 1}`);
  }

  /** Selects the items of a list that contain these texts. */
  async select(...texts: readonly string[]): Promise<void> {
    const keys = texts.flatMap((text) => [...text, KEYS.ctrlA, KEYS.ctrlU]);
    await this.answer([...keys, KEYS.enter], texts.join(","));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running.screen.press(KEYS.ctrlC);
    // Waits for the emulator too, whose timer would outlive the test.
    await this.#ended.catch(() => {});
    globalThis.fetch = network;
  }
}
