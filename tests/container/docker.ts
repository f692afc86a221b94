/**
 * In place of `docker`, for the commands of the README: `build` builds an image, `run` runs a container of it, both in
 * the directory that the first argument names.
 */
import { type Container, createContainer, type Mount } from "./container.ts";
import { command } from "../execute.ts";
import { addLibraries, assignments, buildImage, type Image } from "./image.ts";
import { onThisMachine } from "./place.ts";

/** The flags with a value. Those that say nothing of how the program runs are here too. */
const VALUED: Readonly<Record<string, string>> = {
  "-e": "env",
  "-f": "file",
  "-p": "publish",
  "-t": "tag",
  "-v": "volume",
  "--build-arg": "build-arg",
  "--cap-drop": "cap-drop",
  "--log-driver": "log-driver",
  "--name": "name",
  "--stop-timeout": "stop-timeout",
  "--user": "user",
};
const SWITCHES: readonly string[] = ["-d", "--read-only", "--rm"];

interface CommandLine {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly switches: ReadonlySet<string>;
  /** From the first word on that is no flag. */
  readonly rest: readonly string[];
}

function parse(words: readonly string[]): CommandLine {
  const values = new Map<string, string[]>();
  const switches = new Set<string>();
  let index = 0;
  for (; words[index]?.startsWith("-"); index++) {
    const word = words[index] ?? "";
    const name = VALUED[word];
    if (name !== undefined) values.set(name, [...values.get(name) ?? [], words[++index] ?? ""]);
    else if (SWITCHES.includes(word)) switches.add(word);
    else throw new Error(`the tests do not know the flag ${word}`);
  }
  return { values, switches, rest: words.slice(index) };
}

async function build(state: string, { values, rest: [context = ""] }: CommandLine): Promise<void> {
  const [dockerfile = ""] = values.get("file") ?? [];
  const [tag = ""] = values.get("tag") ?? [];
  const directory = `${state}/images/${tag}`;
  await Deno.mkdir(directory, { recursive: true });
  const image = await buildImage({ dockerfile, context, args: assignments(values.get("build-arg") ?? []), directory });
  await addLibraries(image);
  await Deno.writeTextFile(`${directory}/image.json`, JSON.stringify(image));
}

async function run(state: string, { values, switches, rest: [tag = "", ...args] }: CommandLine): Promise<number> {
  const image: Image = JSON.parse(await Deno.readTextFile(`${state}/images/${tag}/image.json`));
  const mounts = await Promise.all((values.get("volume") ?? []).map((volume) => mountOf(volume, state, image)));
  const user = values.get("user")?.[0];
  const container = await createContainer(image, values.has("publish") ? onThisMachine(args) : args, {
    readOnly: switches.has("--read-only"),
    env: assignments(values.get("env") ?? []),
    mounts,
    ...user === undefined ? {} : { user },
  });
  if (switches.has("-d")) return await detach(container, `${state}/${values.get("name")?.[0]}`);
  const [program, ...words] = container.command;
  const { code } = await new Deno.Command(program, { args: words, stdin: "inherit" }).spawn().status;
  await container.remove();
  return code;
}

/** A directory or file of this machine, or a volume: a new one takes over owner and mode of what it is mounted on. */
async function mountOf(text: string, state: string, { root }: Image): Promise<Mount> {
  const [source = "", target = "", mode] = text.split(":");
  const readOnly = mode === "ro";
  if (source.includes("/")) return { source: await Deno.realPath(source), target, readOnly };
  const volume = `${state}/volumes/${source}`;
  if (!await Deno.stat(volume).then(() => true, () => false)) {
    await Deno.mkdir(`${state}/volumes`, { recursive: true });
    await command("cp", ["-a", `${root}${target}`, volume]);
  }
  return { source: volume, target, readOnly };
}

/** Leaves the container running: its id goes to standard output, its own output and process id to files. */
async function detach({ command: [program, ...words] }: Container, path: string): Promise<number> {
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$@" > "$0" 2>&1', `${path}.log`, program, ...words],
    stdin: "null",
  }).spawn();
  child.unref();
  await Deno.writeTextFile(`${path}.pid`, String(child.pid));
  console.log(child.pid);
  return 0;
}

const [state = "", verb, ...words] = Deno.args;
if (verb === "build") await build(state, parse(words));
else if (verb === "run") Deno.exit(await run(state, parse(words)));
else throw new Error(`the tests do not know docker ${verb}`);
