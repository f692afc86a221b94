/** A real disk that can be full or read-only, where this user may mount one. */

export interface SmallDisk {
  readonly path: string;
  /** Fills it, until `empty`. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  setReadOnly(readOnly: boolean): Promise<void>;
  close(): Promise<void>;
}

/** A file system of 256 KiB of its own, or nothing where this user may not mount one. */
export async function openSmallDisk(): Promise<SmallDisk | undefined> {
  const path = await Deno.makeTempDir({ prefix: "service-api-disk-" });
  if (!await mount(["-t", "tmpfs", "-o", "size=256k", "tmpfs", path])) {
    await Deno.remove(path);
    return undefined;
  }
  const filler = `${path}/filler`;
  return {
    path,
    fill: () => fill(filler),
    empty: () => Deno.remove(filler),
    setReadOnly: async (readOnly) => {
      if (!await mount(["-o", `remount,${readOnly ? "ro" : "rw"}`, path])) throw new Error(`${path} stays as it is`);
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
    // deno-lint-ignore no-await-in-loop -- until it does not fit any more
    for (;;) await file.write(block);
  } catch {
    // full
  } finally {
    file.close();
  }
}
