/** A small file system that tests can fill or make read-only. */

export interface SmallDisk {
  readonly path: string;
  /** Fills the disk. `empty` frees the space again. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  setReadOnly(readOnly: boolean): Promise<void>;
  close(): Promise<void>;
}

/**
 * Mounts a file system. Returns `undefined` if this user cannot mount file systems.
 *
 * @param size in KiB
 */
export async function openSmallDisk(size = 256): Promise<SmallDisk | undefined> {
  const path = await Deno.makeTempDir({ prefix: "service-api-disk-" });
  if (!await mount(["-t", "tmpfs", "-o", `size=${size}k`, "tmpfs", path])) {
    await Deno.remove(path);
    return undefined;
  }
  const filler = `${path}/filler`;
  return {
    path,
    fill: () => fill(filler),
    empty: async () => {
      // Frees the space even if the file is still open.
      await Deno.truncate(filler);
      await Deno.remove(filler);
    },
    setReadOnly: async (readOnly) => {
      if (!await mount(["-o", `remount,${readOnly ? "ro" : "rw"}`, path])) throw new Error(`cannot remount ${path}`);
    },
    close: async () => {
      await new Deno.Command("umount", { args: ["--lazy", path] }).output();
      await Deno.remove(path);
    },
  };
}

async function mount(args: readonly string[]): Promise<boolean> {
  try {
    return (await new Deno.Command("mount", { args: [...args], stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

async function fill(path: string): Promise<void> {
  const file = await Deno.open(path, { write: true, create: true });
  try {
    const block = new Uint8Array(4096);
    // deno-lint-ignore no-await-in-loop -- writes until the disk is full
    for (;;) await file.write(block);
  } catch {
    // The disk is full.
  } finally {
    file.close();
  }
}
