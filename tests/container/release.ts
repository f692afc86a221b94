/** Writes the files of a release that the Dockerfile uses. */
import { command } from "../execute.ts";

export const TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] as const;

/** Packs an executable into an archive for each target, and writes their checksums. */
export async function writeRelease(
  directory: string,
  version: string,
  executable: string,
  targets: readonly string[] = TARGETS,
): Promise<void> {
  await Promise.all(targets.map(async (target) => {
    const name = `service-api-${version}-${target}`;
    const folder = `${directory}/${name}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.copyFile(executable, `${folder}/service-api`);
    await Deno.chmod(`${folder}/service-api`, 0o755);
    const others = ["LICENSE", "README.md", "THIRD-PARTY-LICENSES"];
    await Promise.all(others.map((file) => Deno.writeTextFile(`${folder}/${file}`, `${file} for ${target}\n`)));
    // The lowest compression level, to save time: the executable is large.
    await command("sh", ["-ec", 'tar -cf - "$0" | gzip -1 > "$0.tar.gz"; rm -r "$0"', name], { cwd: directory });
  }));
  await command("sh", ["-ec", "sha256sum *.tar.gz > SHA256SUMS"], { cwd: directory });
}
