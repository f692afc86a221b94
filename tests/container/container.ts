/**
 * Runs the executable under the conditions of the image, without a container engine: as process 1 in its own
 * namespaces, on a read-only root file system, as an unprivileged user without a passwd entry, without capabilities,
 * and with only the variables of the image and of the test. The executable shares the network with the tests.
 */
import { AUTHORITY } from "../client/certificates.ts";
import { command, execute, type Outcome } from "../execute.ts";
import { until } from "../server/until.ts";

/** What the Dockerfile and its base image set. */
export const IMAGE = {
  user: "65532:65532",
  env: {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt",
    XDG_DATA_HOME: "/data",
  },
  executable: "/usr/local/bin/service-api",
} as const;

/** The libraries of the base image, gcr.io/distroless/cc. */
const BASE_LIBRARIES =
  /\/(ld-linux-(x86-64|aarch64)\.so\.\d|lib(c|m|dl|rt|pthread|resolv|nss_dns|nss_files|util|anl)\.so\.\d|libgcc_s\.so\.1)$/;

export interface Mount {
  /** A file or directory of this machine. */
  readonly source: string;
  readonly target: string;
  readonly readOnly?: boolean;
}

export interface RunOptions {
  /** @default the user of the image */
  readonly user?: string;
  /** Variables besides those of the image. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  /** What container engines provide, but this container does not have. */
  readonly without?: readonly ("/proc" | "/dev" | "/etc/hosts")[];
  /** @default open: an empty file in `runContainer`, a pipe in `startContainer` */
  readonly stdin?: "closed";
}

export interface Container {
  /** The command that runs the container. */
  readonly command: readonly [string, ...string[]];
  readonly remove: () => Promise<void>;
}

/** Why this machine cannot run containers, or `undefined` if it can. */
export async function whyNoContainers(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "containers need Linux";
  try {
    const mounts = "mount --bind /tmp /tmp; mount -t tmpfs tmpfs /tmp; mount -t proc proc /proc";
    await command("unshare", ["--mount", "--pid", "--fork", "sh", "-ec", `${mounts}; setpriv -V; chroot --version`]);
    return undefined;
  } catch (error) {
    return `containers need root, unshare and setpriv: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * Creates the root file system of the image in a directory. The file system has no /etc/passwd, and its only CA
 * certificate is that of the tests.
 *
 * @returns the path of the root file system
 */
export async function createRoot(directory: string, executable: string): Promise<string> {
  const root = `${directory}/root`;
  const folders = ["etc/ssl/certs", "tmp", "proc", "dev", "usr/local/bin", "data"];
  await Promise.all(folders.map((path) => Deno.mkdir(`${root}/${path}`, { recursive: true })));
  await Deno.writeTextFile(`${root}${IMAGE.env.SSL_CERT_FILE}`, AUTHORITY);
  await Deno.chmod(`${root}/tmp`, 0o1777);
  await command("chown", [IMAGE.user, `${root}/data`]);
  await Deno.copyFile(executable, `${root}${IMAGE.executable}`);
  const linked = (await command("ldd", [executable])).matchAll(/(\/\S+) \(0x/g);
  const libraries = [...linked].map(([, path = ""]) => path).filter((path) => BASE_LIBRARIES.test(path));
  await Promise.all(libraries.map(async (path) => {
    await Deno.mkdir(`${root}${path.replace(/[^/]*$/, "")}`, { recursive: true });
    await Deno.copyFile(path, `${root}${path}`);
  }));
  return root;
}

/** Prepares a container. Its root file system contains hard links to the files of `base`. */
export async function createContainer(
  base: string,
  args: readonly string[],
  { user = IMAGE.user, env = {}, mounts = [], without = [], stdin }: RunOptions = {},
): Promise<Container> {
  const directory = await Deno.makeTempDir({ dir: `${base}/..`, prefix: "container-" });
  const root = `${directory}/root`;
  await command("cp", ["-al", base, root]);
  await Deno.writeTextFile(`${directory}/hosts`, "127.0.0.1 localhost\n");
  const hosts = without.includes("/etc/hosts") ? [] : [{ source: `${directory}/hosts`, target: "/etc/hosts" }];
  const all: readonly Mount[] = [...mounts, ...hosts];
  await Promise.all(all.map((mount) => createMountPoint(root, mount)));

  const variables = Object.entries({ ...IMAGE.env, ...env }).map(([name, value]) => `${name}=${value}`);
  const [uid = "", gid = uid] = user.split(":");
  const script = [
    `mount --bind ${quote(root)} ${quote(root)}`,
    `cd ${quote(root)}`,
    ...without.includes("/proc") ? [] : ["mount -t proc proc proc"],
    ...without.includes("/dev") ? [] : DEVICES,
    ...all.flatMap(bindCommands),
    "mount -o remount,bind,ro .",
    // chroot needs three capabilities. The kernel drops them when chroot changes the user, and the program cannot regain
    // them.
    `exec env -i ${variables.map(quote).join(" ")} "$(command -v setpriv)" --no-new-privs --inh-caps=-all ` +
    `--bounding-set=-all,+sys_chroot,+setuid,+setgid "$(command -v chroot)" --userspec=${uid}:${gid} --groups= . ` +
    `"$@"${stdin === "closed" ? " <&-" : ""}`,
  ].join("\n");
  return {
    command: ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", script, "sh", IMAGE.executable, ...args],
    remove: () => Deno.remove(directory, { recursive: true }),
  };
}

const DEVICES = [
  "mount -t tmpfs -o mode=755 tmpfs dev",
  "for device in null zero full random urandom; do : > dev/$device; mount --bind /dev/$device dev/$device; done",
];

async function createMountPoint(root: string, { source, target }: Mount): Promise<void> {
  const { isDirectory } = await Deno.stat(source);
  const path = `${root}${target}`;
  await Deno.mkdir(isDirectory ? path : path.replace(/[^/]*$/, ""), { recursive: true });
  if (!isDirectory) await Deno.writeTextFile(path, "");
}

function bindCommands({ source, target, readOnly = false }: Mount): readonly string[] {
  const mount = `mount --bind ${quote(source)} ${quote(`.${target}`)}`;
  return readOnly ? [mount, `mount -o remount,bind,ro ${quote(`.${target}`)}`] : [mount];
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Runs a container until it ends, with empty standard input. */
export async function runContainer(base: string, args: readonly string[], options?: RunOptions): Promise<Outcome> {
  const container = await createContainer(base, args, options);
  try {
    const [program, ...words] = container.command;
    return await execute(program, words, { stdin: "null" });
  } finally {
    await container.remove();
  }
}

/** A running container. */
export interface Running extends AsyncDisposable {
  readonly process: Deno.ChildProcess;
  /**
   * Waits until process 1 has a handler for a signal, and sends that signal. Linux drops signals for which process 1
   * has no handler.
   */
  readonly signal: (signal: "TERM" | "INT") => Promise<void>;
}

/** Starts a container whose streams are pipes. Disposing of the result kills the container. */
export async function startContainer(base: string, args: readonly string[], options?: RunOptions): Promise<Running> {
  const container = await createContainer(base, args, options);
  const [program, ...words] = container.command;
  const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const process = new Deno.Command(program, { args: words, ...streams }).spawn();
  let hasEnded = false;
  void process.status.then(() => hasEnded = true);
  return {
    process,
    signal: (signal) => signalProcess1(process.pid, signal),
    [Symbol.asyncDispose]: async () => {
      await until(async () => hasEnded || (await runForProcess1(process.pid, "kill -KILL $1"), false));
      await Promise.all([process.stdin, process.stdout, process.stderr].map(close));
      await container.remove();
    },
  };
}

const SIGNALS = { TERM: 15, INT: 2 } as const;

/**
 * Waits until process 1 of a container has a handler for a signal, and sends that signal.
 *
 * @param pid the process ID of the container's `unshare`
 */
export async function signalProcess1(pid: number, signal: "TERM" | "INT"): Promise<void> {
  await until(async () => {
    const [, caught = "0"] = /^SigCgt:\s*(\w+)$/m.exec(await runForProcess1(pid, "cat /proc/$1/status")) ?? [];
    return (BigInt(`0x${caught}`) >> BigInt(SIGNALS[signal] - 1)) % 2n === 1n;
  });
  await runForProcess1(pid, `kill -${signal} $1`);
}

/**
 * Runs a shell script with the process ID of a container's process 1 as `$1`.
 *
 * @returns the standard output of the script; empty if the script fails, for example because the process has ended
 */
async function runForProcess1(pid: number, script: string): Promise<string> {
  const find = `set -- $(cat /proc/${pid}/task/${pid}/children)`;
  return await command("sh", ["-ec", `${find}; ${script}`]).catch(() => "");
}

async function close(stream: ReadableStream | WritableStream): Promise<void> {
  if (stream.locked) return;
  await ("cancel" in stream ? stream.cancel() : stream.close()).catch(() => {});
}
