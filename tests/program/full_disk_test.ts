/** Data directories that the program cannot write to. The tests of full and read-only disks mount a file system. */
import { expect } from "expect";
import { onPosix } from "../posix.ts";
import { embedded } from "./installations.ts";
import { inProcess, withEnv } from "./program.ts";
import { openSmallDisk } from "./small_disk.ts";

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"] as const;

const disk = await openSmallDisk();
if (disk === undefined) {
  Deno.test.ignore(
    "create and delete on a full or read-only disk (skipped: this user cannot mount a file system)",
    () => {},
  );
} else {
  Deno.test("create and delete change nothing on a full disk, and create says that the disk is full", async () => {
    const program = withEnv(inProcess, { SERVICE_API_DATA_DIR: `${disk.path}/data` });
    await disk.fill();
    const first = await program(CREATE);
    expect(first.code).toBe(4);
    expect(JSON.parse(first.stdout)).toEqual({ error: expect.stringMatching(/disk is full/), code: "UNREACHABLE" });
    await disk.empty();

    expect((await program(CREATE)).code).toBe(0);
    await disk.fill();
    const remove = await program(["apikey", "--delete", "--name", "new", "--json"]);
    expect(remove.code).toBe(4);
    expect(JSON.parse(remove.stdout)).toMatchObject({ deleted: 0, code: "UNREACHABLE" });
    await disk.empty();
    expect((await program(["apikey", "--delete", "--name", "new"])).stdout).toBe("Successfully deleted 1 API key\n");
  });

  Deno.test("on a read-only disk, the error of create names the file and the permissions that the user needs", async () => {
    const program = withEnv(inProcess, { SERVICE_API_DATA_DIR: `${disk.path}/read-only` });
    await program(CREATE);
    await disk.setReadOnly(true);
    const { code, stdout } = await program(["apikey", "--create", "--name", "other", "--roles", "GUEST", "--json"]);
    await disk.setReadOnly(false);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toEqual({
      error: expect.stringMatching(
        /read-only\/keys\.db.*[Rr]ead-only.*The current user must be able to read and write/,
      ),
      code: "UNREACHABLE",
    });
  });

  Deno.test.afterAll(disk.close);
}

Deno.test("a data directory that is a file, or is inside a file, is a usage error", async () => {
  await using installation = await embedded(inProcess);
  const file = await Deno.makeTempFile();
  try {
    for (const directory of [file, `${file}/below`]) {
      // deno-lint-ignore no-await-in-loop -- one directory at a time
      const { code, stdout } = await installation.program([...CREATE, "--data-dir", directory]);
      expect(code).toBe(2);
      expect(JSON.parse(stdout)).toEqual({
        error: expect.stringMatching(/is a file, or is inside one/),
        code: "USAGE",
      });
    }
    expect(await Deno.readTextFile(file)).toBe("");
  } finally {
    await Deno.remove(file);
  }
});

onPosix("directories that no user can write to")(
  "create fails with UNREACHABLE if it cannot create the data directory",
  async () => {
    await using installation = await embedded(inProcess);
    const { code, stdout } = await installation.program([...CREATE, "--data-dir", "/proc/service-api"]);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toEqual({
      error: expect.stringMatching(
        /"\/proc\/service-api.*": (No such file|The program is not allowed to use this path)/,
      ),
      code: "UNREACHABLE",
    });
  },
);
