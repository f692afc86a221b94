/**
 * Builds an image as Docker would, as far as the Dockerfile of this project goes, into a directory: what a stage
 * copies, its commands in a shell, and in place of the base what that is documented to hold and the program needs.
 */
import { AUTHORITY } from "../client/certificates.ts";
import { command } from "../execute.ts";
import { expand, type Instruction, parseDockerfile, type Stage, wordsOf } from "./dockerfile.ts";

export interface Image {
  /** The directory with its root file system. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
}

export interface BuildOptions {
  readonly dockerfile: string;
  /** The directory that `COPY` copies from. */
  readonly context: string;
  readonly args: Readonly<Record<string, string>>;
  /** An empty directory. */
  readonly directory: string;
  /** The directory with the shell for `RUN` and all that it may call; by default those of this machine. */
  readonly tools?: string | undefined;
  /** The last stage to build. */
  readonly target?: string;
}

/** What BuildKit gives to whoever declares it. */
export const TARGETARCH = Deno.build.arch === "aarch64" ? "arm64" : "amd64";

/** @throws {Error} with the words of the command that failed */
export async function buildImage(options: BuildOptions): Promise<Image> {
  const stages = parseDockerfile(await Deno.readTextFile(options.dockerfile));
  const last = options.target === undefined
    ? stages.length - 1
    : stages.findIndex(({ name }) => name === options.target);
  let built: Build | undefined;
  for (const stage of stages.slice(0, last + 1)) {
    const build = new Build(stage, `${options.directory}/${stage.name ?? "image"}`, options);
    // deno-lint-ignore no-await-in-loop -- a stage may copy from those before it
    await build.run();
    built = build;
  }
  if (built === undefined) throw new Error(`${options.dockerfile} has no stage ${options.target}`);
  return built.image();
}

/** The libraries of glibc and of `libgcc-s1` in gcr.io/distroless/cc. */
const BASE_LIBRARIES =
  /\/(ld-linux-(x86-64|aarch64)\.so\.\d|lib(c|m|dl|rt|pthread|resolv|nss_dns|nss_files|util|anl)\.so\.\d|libgcc_s\.so\.1)$/;

/** What the base sets. */
const BASE_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt",
};

/** One stage while it is built. */
class Build {
  readonly #values = new Map<string, string>();
  readonly #env: Record<string, string> = {};
  readonly #labels: Record<string, string> = {};
  #workdir = "/";
  #user = "0";
  #entrypoint: readonly string[] = [];

  constructor(readonly stage: Stage, readonly root: string, readonly options: BuildOptions) {}

  async run(): Promise<void> {
    await Deno.mkdir(this.root, { recursive: true });
    if (this.stage.base.includes("/distroless/cc-")) await this.#layBase();
    for (const instruction of this.stage.instructions) {
      // deno-lint-ignore no-await-in-loop -- one builds on the other
      await this.#follow(instruction);
    }
  }

  image(): Image {
    return {
      root: this.root,
      env: this.#env,
      labels: this.#labels,
      user: this.#user,
      entrypoint: this.#entrypoint,
    };
  }

  /** No /etc/passwd: nothing is to hang on it. The only authority is that of the tests. */
  async #layBase(): Promise<void> {
    Object.assign(this.#env, BASE_ENV);
    const directories = ["etc/ssl/certs", "home", "tmp", "proc", "dev", "run", "usr/local/bin", "usr/share/doc"];
    await Promise.all(directories.map((path) => Deno.mkdir(`${this.root}/${path}`, { recursive: true })));
    await Deno.writeTextFile(`${this.root}${BASE_ENV.SSL_CERT_FILE}`, AUTHORITY);
    await Deno.chmod(`${this.root}/tmp`, 0o1777);
  }

  async #follow({ keyword, flags, text }: Instruction): Promise<void> {
    const expanded = expand(text, this.#values);
    if (keyword === "ARG") return this.#declare(text);
    if (keyword === "RUN") return await this.#execute(text);
    if (keyword === "COPY") return await this.#copy(flags, wordsOf(expanded));
    if (keyword === "WORKDIR") {
      this.#workdir = expanded;
      return await Deno.mkdir(`${this.root}${expanded}`, { recursive: true });
    }
    if (keyword === "ENV") return void Object.assign(this.#env, assignments(wordsOf(expanded)));
    if (keyword === "LABEL") return void Object.assign(this.#labels, assignments(wordsOf(expanded)));
    if (keyword === "USER") this.#user = expanded;
    else if (keyword === "ENTRYPOINT") this.#entrypoint = JSON.parse(text);
    else if (keyword !== "EXPOSE") throw new Error(`the tests do not know ${keyword}`);
  }

  #declare(name: string): void {
    const value = { TARGETARCH, ...this.options.args }[name];
    if (value !== undefined) this.#values.set(name, value);
  }

  async #execute(script: string): Promise<void> {
    const { tools } = this.options;
    await command(tools === undefined ? "sh" : `${tools}/sh`, ["-c", script], {
      cwd: `${this.root}${this.#workdir}`,
      env: { PATH: tools ?? Deno.env.get("PATH") ?? "", ...Object.fromEntries(this.#values) },
      clearEnv: true,
    });
  }

  async #copy(flags: ReadonlyMap<string, string>, words: readonly string[]): Promise<void> {
    const from = flags.get("from");
    const source = from === undefined ? this.options.context : `${this.options.directory}/${from}`;
    const paths = (await Promise.all(words.slice(0, -1).map((word) => matches(source, word)))).flat();
    const destination = words.at(-1) ?? "";
    const target = `${this.root}/${destination.startsWith("/") ? destination : `${this.#workdir}/${destination}`}`;
    await Deno.mkdir(target, { recursive: true });
    for (const path of paths) {
      // deno-lint-ignore no-await-in-loop -- later ones replace earlier ones
      await this.#copyInto(path, target, flags.get("chown"));
    }
  }

  /** A file by its name; of a directory what is in it. */
  async #copyInto(path: string, target: string, owner: string | undefined): Promise<void> {
    const { isDirectory } = await Deno.stat(path);
    const entries = isDirectory ? await Array.fromAsync(Deno.readDir(path), ({ name }) => `${path}/${name}`) : [path];
    await command("cp", ["-a", ...entries, target]);
    if (owner === undefined) return;
    const copies = entries.map((entry) => `${target}/${entry.replace(/^.*\//, "")}`);
    await command("chown", ["-R", owner, ...copies]);
  }
}

/** Gives the root file system of an image those of the base's libraries that an executable in it asks for. */
export async function addLibraries({ root, entrypoint: [executable = ""] }: Image): Promise<void> {
  const listed = await command("ldd", [`${root}${executable}`]);
  const libraries = [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  await Promise.all(
    libraries.filter((path) => BASE_LIBRARIES.test(path)).map(async (path) => {
      await Deno.mkdir(`${root}${path.replace(/[^/]*$/, "")}`, { recursive: true });
      await Deno.copyFile(path, `${root}${path}`);
    }),
  );
}

/** @throws {Error} when there is none: Docker would refuse to copy it, too */
async function matches(directory: string, pattern: string): Promise<readonly string[]> {
  if (!pattern.includes("*")) return [`${directory}/${pattern}`];
  const name = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
  const entries = await Array.fromAsync(Deno.readDir(directory), (entry) => entry.name);
  const found = entries.filter((entry) => name.test(entry));
  if (found.length === 0) throw new Error(`there is no ${pattern} in the context`);
  return found.map((entry) => `${directory}/${entry}`);
}

/** `name=value` and more of them. */
export function assignments(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => {
    const [name = "", ...value] = word.split("=");
    return [name, value.join("=")];
  }));
}
