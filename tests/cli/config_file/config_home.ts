/** A temporary home directory for one test, with or without a config file. */
import type { Platform } from "../../../src/cli/host/host.ts";
import type { Outcome } from "../../execute.ts";
import { FakeHost, inProcess, type Surroundings } from "../../program/program.ts";

/** A text with the length and the alphabet of a secret. No server accepts it. */
export const SECRET = "sak_0123456789012345678901234567890123456789012hlqB6Y";

export interface ConfigHome extends AsyncDisposable {
  readonly home: string;
  /** The path of the config file. */
  readonly path: string;
  /** The directory of the config file. */
  readonly directory: string;
  /** Runs the program with this home directory. */
  run(args: readonly string[], surroundings?: Surroundings): Promise<Outcome>;
  /** A host with this home directory and no arguments. */
  host(surroundings?: Surroundings, platform?: Platform): FakeHost;
}

/** @param config the content of the config file; without it, there is no config file */
export async function configHome(config?: string | Uint8Array): Promise<ConfigHome> {
  const home = await Deno.makeTempDir({ prefix: "service-api-config-" });
  const directory = `${home}/.config/service-api`;
  const path = `${directory}/config.yaml`;
  if (config !== undefined) {
    await Deno.mkdir(directory, { recursive: true });
    const bytes = typeof config === "string" ? new TextEncoder().encode(config) : config;
    await Deno.writeFile(path, bytes, { mode: 0o600 });
  }
  const inHome = ({ env, ...rest }: Surroundings = {}): Surroundings => ({ ...rest, env: { HOME: home, ...env } });
  return {
    home,
    path,
    directory,
    run: (args, surroundings) => inProcess(args, inHome(surroundings)),
    host: (surroundings, platform = "linux") => Object.assign(new FakeHost([], inHome(surroundings)), { platform }),
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

export { SILENT_LOG as SILENT } from "../../../src/cli/host/log.ts";
