/** What tests give to containers: a volume, a secret. */
import { command } from "../execute.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import type { RunOptions } from "./container.ts";
import type { Image } from "./image.ts";

/** Registers a test in a place of its own, or, where there is no image, one that is ignored and says why. */
export function testOnImage(
  image: Image | undefined,
  why: string | undefined,
  title: string,
  test: (place: Place) => Promise<void>,
): void {
  if (image === undefined) Deno.test.ignore(`${title}: not run: ${why}`, () => {});
  else Deno.test(title, () => inTemporaryDirectory((directory) => test({ image, directory })));
}

export interface Place {
  readonly image: Image;
  /** A directory for what a test mounts. */
  readonly directory: string;
}

/** A volume for `/data` as a runtime makes it: the image's directory of that name says whose it is. */
export async function volume({ image, directory }: Place): Promise<RunOptions> {
  await command("cp", ["-a", `${image.root}/data`, `${directory}/volume`]);
  return { mounts: [{ source: `${directory}/volume`, target: "/data" }] };
}

/** A file that one user can read, by default that of the image. */
export async function secretFile({ directory }: Place, text: string, owner = "65532"): Promise<string> {
  const path = await Deno.makeTempFile({ dir: directory, prefix: "secret-" });
  await Deno.writeTextFile(path, text);
  await Deno.chmod(path, 0o400);
  await command("chown", [`${owner}:${owner}`, path]);
  return path;
}

/** The arguments of a `serve` that has a network of its own, for one that shares that of the tests. */
export function onThisMachine(args: readonly string[]): readonly string[] {
  return [...args.map((word) => word === "0.0.0.0" ? "127.0.0.1" : word), "--port", "0"];
}
