/**
 * Simulated machines for install.sh. A machine has a home directory, a directory for temporary files, and a directory
 * of programs, which is the only one in `PATH`.
 */
import { type Outcome, outcomeOf } from "../execute.ts";
import { findProgram, missingPrograms, notInstalled } from "../tools.ts";

export const INSTALLER = new URL("../../scripts/install.sh", import.meta.url).pathname;

/** The tools that install.sh and its tests use, except those that download and verify. */
export const TOOLS = "cat chmod cp cut getconf grep gzip ldd mkdir mktemp mv rm rmdir sed sleep sysctl tar uname".split(
  " ",
);

export interface MachineOptions {
  /** @default TOOLS, curl, sha256sum and shasum */
  readonly tools?: readonly string[];
  /** Shell scripts that replace tools, by name. */
  readonly standIns?: Readonly<Record<string, string>>;
}

export interface Run {
  /** Variables to add to `HOME`, `PATH` and `TMPDIR`, or to replace them. An empty value unsets a variable. */
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A script to pass on standard input instead of the installer. */
  readonly script?: string;
}

export interface Machine extends AsyncDisposable {
  readonly home: string;
  readonly tmp: string;
  /** The directory in `PATH`. */
  readonly path: string;
  /** Runs the installer in a shell, by default {@link SHELL}. */
  run(run?: Run, shell?: string): Promise<Outcome>;
  /** Starts the installer in a shell, by default {@link SHELL}. */
  start(run?: Run, shell?: string): Started;
  /** Describes all files in the home and the temporary directory. Any change to a file changes the description. */
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
  const start = ({ env = {}, args = [], script }: Run = {}, shell = SHELL): Started => {
    const variables = Object.entries({ HOME: home, PATH: bin, TMPDIR: tmp, ...env }).filter(([, value]) =>
      value !== ""
    );
    const child = new Deno.Command(findProgram(shell) ?? shell, {
      // The first argument of busybox names the program to run.
      args: [...shell === "busybox" ? ["sh"] : [], ...script === undefined ? [INSTALLER] : ["-s", "--"], ...args],
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
    run: (run, shell) => start(run, shell).outcome,
    state: async () => [...await stateOf(root, "/home"), ...await stateOf(root, "/tmp")],
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

/** Each path below a directory with its mode, and for files also the inode, size and time of modification. */
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

/** The mode and content of each file below a directory, by path. */
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

/** The shell in which every test of install.sh runs. */
const SHELL = "sh";

/** More shells in which a few tests also run. */
const OTHER_SHELLS = ["bash", "dash", "busybox"];

/**
 * Registers a test of install.sh. If programs are missing, the test is skipped, and its name lists them.
 *
 * @param rule continues the name of the test, which starts with `install.sh`
 */
export function testInstaller(
  rule: string,
  check: (shell: string) => Promise<void>,
  needs: readonly string[] = ["curl"],
  shell = SHELL,
): void {
  const name = `install.sh${shell === SHELL ? "" : ` in ${shell}`} ${rule}`;
  const missing = missingPrograms([shell, "tar", "gzip", ...needs]);
  if (missing.length === 0) Deno.test(name, () => check(shell));
  else Deno.test.ignore(`${name} (skipped: ${notInstalled(missing)})`, () => {});
}

/** Registers a test of install.sh for each shell that install.sh supports. */
export function testInAllShells(rule: string, check: (shell: string) => Promise<void>): void {
  for (const shell of [SHELL, ...OTHER_SHELLS]) testInstaller(rule, check, ["curl"], shell);
}
