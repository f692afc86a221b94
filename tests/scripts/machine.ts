/** Machines for the installer to be run on: a home, a directory for temporary files, and the tools they have. */
import { type Outcome, outcomeOf } from "../execute.ts";
import { findProgram, missingPrograms } from "../tools.ts";

export const INSTALLER = new URL("../../scripts/install.sh", import.meta.url).pathname;

/** What the installer works with, on one system or another, but for what downloads and verifies. */
export const TOOLS = "cat chmod cp cut getconf grep gzip ldd mkdir mktemp mv rm rmdir sed sleep sysctl tar uname".split(
  " ",
);

export interface MachineOptions {
  /** @default the usual ones */
  readonly tools?: readonly string[];
  /** Shell scripts that stand in for tools, by their names. */
  readonly standIns?: Readonly<Record<string, string>>;
}

export interface Run {
  /** What is set besides `HOME`, `PATH` and `TMPDIR`; an empty one is not set. */
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A script to be read from standard input, in place of the installer as a file. */
  readonly script?: string;
}

export interface Machine extends AsyncDisposable {
  readonly home: string;
  readonly tmp: string;
  /** The directories of `PATH`. */
  readonly path: string;
  /** Runs the installer in a shell. */
  run(shell: string, run?: Run): Promise<Outcome>;
  /** The same, without waiting for its end. */
  start(shell: string, run?: Run): Started;
  /** What is in the home and among the temporary files: paths, modes, and which files they are. */
  state(): Promise<readonly string[]>;
}

export interface Started {
  readonly outcome: Promise<Outcome>;
  kill(signal: Deno.Signal): void;
}

export async function openMachine(
  { tools = [...TOOLS, "curl", "sha256sum", "shasum"], standIns = {} }: MachineOptions = {},
): Promise<Machine> {
  const root = await Deno.makeTempDir({ prefix: "service-api-machine-" });
  const [home, tmp, bin] = [`${root}/home`, `${root}/tmp`, `${root}/bin`];
  await Promise.all([home, tmp, bin].map((directory) => Deno.mkdir(directory)));
  await Promise.all(
    tools.filter((tool) => !(tool in standIns)).map(async (tool) => {
      const path = findProgram(tool);
      if (path !== undefined) await Deno.symlink(path, `${bin}/${tool}`);
    }),
  );
  await Promise.all(
    Object.entries(standIns).map(([tool, script]) =>
      Deno.writeTextFile(`${bin}/${tool}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    ),
  );
  const start = (shell: string, { env = {}, args = [], script }: Run = {}): Started => {
    const variables = Object.entries({ HOME: home, PATH: bin, TMPDIR: tmp, ...env }).filter(([, value]) =>
      value !== ""
    );
    const child = new Deno.Command(findProgram(shell) ?? shell, {
      args: [...script === undefined ? [INSTALLER] : ["-s", "--"], ...args],
      cwd: home,
      env: Object.fromEntries(variables),
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return { outcome: outcomeOf(child, script ?? ""), kill: (signal) => child.kill(signal) };
  };
  return {
    home,
    tmp,
    path: bin,
    start,
    run: (shell, run) => start(shell, run).outcome,
    state: async () => [...await stateOf(root, "/home"), ...await stateOf(root, "/tmp")],
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

/** Every file and directory below one: path and mode, and of files what changes when they are written or replaced. */
async function stateOf(root: string, below: string): Promise<readonly string[]> {
  const entries = (await Array.fromAsync(Deno.readDir(`${root}${below}`))).toSorted((a, b) => a.name < b.name ? -1 : 1);
  const states = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = `${below}/${name}`;
    const { mode, ino, size, mtime } = await Deno.lstat(`${root}${path}`);
    const state = `${path} ${((mode ?? 0) & 0o7777).toString(8)}`;
    return isDirectory ? [state, ...await stateOf(root, path)] : [`${state} ${ino} ${size} ${mtime?.getTime()}`];
  }));
  return states.flat();
}

/** The files below a directory by their paths, with mode and content. */
export async function filesIn(
  directory: string,
  below = "",
): Promise<Readonly<Record<string, readonly [number, string]>>> {
  const entries = await Array.fromAsync(Deno.readDir(`${directory}/${below}`));
  const files = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = `${below}${name}`;
    if (isDirectory) return filesIn(directory, `${path}/`);
    const { mode } = await Deno.lstat(`${directory}/${path}`);
    return { [path]: [(mode ?? 0) & 0o777, await Deno.readTextFile(`${directory}/${path}`)] as const };
  }));
  return Object.assign({}, ...files);
}

/** What the installer is said to work in. */
const SHELLS = ["dash", "bash"];

const MISSING = missingPrograms([...SHELLS, "tar", "gzip", "curl", "wget", "sha256sum", "shasum", "openssl"]);

/** A test of the installer in each shell, which is not run where what it needs is missing. */
export function testInShells(
  rule: string,
  check: (shell: string) => Promise<void>,
  needs: readonly string[] = ["curl"],
): void {
  for (const shell of SHELLS) {
    const name = `install.sh in ${shell}: ${rule}`;
    const missing = [shell, "tar", "gzip", ...needs].filter((program) => MISSING.includes(program));
    if (missing.length === 0) Deno.test(name, () => check(shell));
    else Deno.test.ignore(`${name}: not run, for want of ${missing.join(", ")}`, () => {});
  }
}
