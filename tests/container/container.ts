/**
 * Runs an image as a container runtime would: in namespaces of its own as process 1, in nothing but its root file
 * system, as its user, without capabilities, with its environment and no other variable. It shares the network with
 * the tests.
 */
import { command, execute, type Outcome } from "../execute.ts";
import { until } from "../server/until.ts";
import type { Image } from "./image.ts";

export interface Mount {
  /** A file or directory of this machine. */
  readonly source: string;
  readonly target: string;
  readonly readOnly?: boolean;
}

export interface RunOptions {
  /** @default true */
  readonly readOnly?: boolean;
  /** The image's by default. */
  readonly user?: string;
  /** Besides the image's. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly tmpfs?: readonly string[];
  /** Which of the things are not there that every runtime gives. */
  readonly lacks?: readonly ("proc" | "dev" | "hosts")[];
  /** What standard input is: by default what the process that runs the container has. */
  readonly stdin?: "closed";
}

export interface Container {
  /** What to execute on this machine. */
  readonly command: readonly [string, ...string[]];
  /** Removes what it wrote. */
  readonly remove: () => Promise<void>;
}

/** Why no container can be run here; `undefined`: it can. */
export async function whyNoContainers(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "it takes Linux";
  try {
    const mounts = "mount --bind /tmp /tmp; mount -t tmpfs tmpfs /tmp; mount -t proc proc /proc";
    await command("unshare", ["--mount", "--pid", "--fork", "sh", "-ec", `${mounts}; setpriv -V; chroot --version`]);
    return undefined;
  } catch (error) {
    return `it takes root, unshare and setpriv: ${error instanceof Error ? error.message : error}`;
  }
}

/** Prepares a container of an image, whose root file system it shares as long as it does not write. */
export async function createContainer(
  image: Image,
  args: readonly string[],
  { readOnly = true, user = image.user, env = {}, mounts = [], tmpfs = [], lacks = [], stdin }: RunOptions = {},
): Promise<Container> {
  const directory = await Deno.makeTempDir({ dir: `${image.root}/..`, prefix: "container-" });
  const root = `${directory}/root`;
  await command("cp", ["-al", image.root, root]);
  await Deno.writeTextFile(`${directory}/hosts`, "127.0.0.1 localhost\n");
  const all = lacks.includes("hosts") ? mounts : [...mounts, { source: `${directory}/hosts`, target: "/etc/hosts" }];
  await Promise.all(all.map((mount) => makeMountPoint(root, mount)));
  await Promise.all(tmpfs.map((path) => Deno.mkdir(`${root}${path}`, { recursive: true })));

  const variables = Object.entries({ ...image.env, ...env }).map(([name, value]) => `${name}=${value}`);
  const [uid = "", gid = uid] = user.split(":");
  const script = [
    `mount --bind ${quoted(root)} ${quoted(root)}`,
    `cd ${quoted(root)}`,
    ...lacks.includes("proc") ? [] : ["mount -t proc proc proc"],
    ...lacks.includes("dev") ? [] : DEVICES,
    ...tmpfs.map((path) => `mount -t tmpfs -o mode=1777 tmpfs ${quoted(`.${path}`)}`),
    ...all.flatMap(bind),
    ...readOnly ? ["mount -o remount,bind,ro ."] : [],
    // The three capabilities that are left go with the change of user; nothing can give them back.
    `exec env -i ${variables.map(quoted).join(" ")} "$(command -v setpriv)" --no-new-privs --inh-caps=-all ` +
    `--bounding-set=-all,+sys_chroot,+setuid,+setgid "$(command -v chroot)" --userspec=${uid}:${gid} --groups= . ` +
    `"$@"${stdin === "closed" ? " <&-" : ""}`,
  ].join("\n");
  return {
    command: ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", script, "sh", ...image.entrypoint, ...args],
    remove: () => Deno.remove(directory, { recursive: true }),
  };
}

const DEVICES = [
  "mount -t tmpfs -o mode=755 tmpfs dev",
  "for device in null zero full random urandom; do : > dev/$device; mount --bind /dev/$device dev/$device; done",
];

async function makeMountPoint(root: string, { source, target }: Mount): Promise<void> {
  const { isDirectory } = await Deno.stat(source);
  const path = `${root}${target}`;
  await Deno.mkdir(isDirectory ? path : path.replace(/[^/]*$/, ""), { recursive: true });
  if (!isDirectory) await Deno.writeTextFile(path, "");
}

function bind({ source, target, readOnly = false }: Mount): readonly string[] {
  const mount = `mount --bind ${quoted(source)} ${quoted(`.${target}`)}`;
  return readOnly ? [mount, `mount -o remount,bind,ro ${quoted(`.${target}`)}`] : [mount];
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Runs a container to its end, with nothing on standard input. */
export async function runContainer(image: Image, args: readonly string[], options?: RunOptions): Promise<Outcome> {
  const container = await createContainer(image, args, options);
  try {
    const [program, ...words] = container.command;
    return await execute(program, words, { stdin: "null" });
  } finally {
    await container.remove();
  }
}

/** A container that runs. */
export interface Running extends AsyncDisposable {
  readonly process: Deno.ChildProcess;
  /** Sends a signal to its process 1, as soon as that has a handler: without one it would get none. */
  readonly signal: (signal: "TERM" | "INT") => Promise<void>;
}

/** Starts a container whose streams are pipes. It ends with the test, if it has not yet ended. */
export async function startContainer(image: Image, args: readonly string[], options?: RunOptions): Promise<Running> {
  const container = await createContainer(image, args, options);
  const [program, ...words] = container.command;
  const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const process = new Deno.Command(program, { args: words, ...streams }).spawn();
  let isOver = false;
  void process.status.then(() => isOver = true);
  return {
    process,
    signal: (signal) => signalProcess1(process.pid, signal),
    [Symbol.asyncDispose]: async () => {
      await until(async () => isOver || (await toProcess1(process.pid, "kill -KILL $1"), false));
      await Promise.all([process.stdin, process.stdout, process.stderr].map(close));
      await container.remove();
    },
  };
}

const SIGNALS = { TERM: 15, INT: 2 } as const;

/** @param pid of the `unshare` that runs the container */
export async function signalProcess1(pid: number, signal: "TERM" | "INT"): Promise<void> {
  await until(async () => {
    const [, caught = "0"] = /^SigCgt:\s*(\w+)$/m.exec(await toProcess1(pid, "cat /proc/$1/status")) ?? [];
    return (BigInt(`0x${caught}`) >> BigInt(SIGNALS[signal] - 1)) % 2n === 1n;
  });
  await toProcess1(pid, `kill -${signal} $1`);
}

/** Runs a shell command for which `$1` is process 1 of a container. What goes wrong goes wrong since it is not there. */
async function toProcess1(pid: number, script: string): Promise<string> {
  const find = `set -- $(cat /proc/${pid}/task/${pid}/children)`;
  return await command("sh", ["-ec", `${find}; ${script}`]).catch(() => "");
}

async function close(stream: ReadableStream | WritableStream): Promise<void> {
  if (stream.locked) return;
  await ("cancel" in stream ? stream.cancel() : stream.close()).catch(() => {});
}
