/** The file that receives a secret: what may be replaced, and what remains after a failure. */
import { expect } from "expect";
import { openSecretFile, removeTemporaryFiles } from "../../../src/cli/host/secret_file.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { command } from "../../execute.ts";
import { onPosix } from "../../posix.ts";

const HOST = { platform: Deno.build.os === "windows" ? "windows" : "linux" } as const;
const REPLACING = { overwrite: true };
const NEW = { overwrite: false };

async function withDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function namesIn(directory: string): Promise<readonly string[]> {
  return Array.fromAsync(Deno.readDir(directory), ({ name }) => name);
}

Deno.test("the file exists under a temporary name before the secret is written, and under its own name afterwards", async () => {
  await withDirectory(async (directory) => {
    const file = await openSecretFile(`${directory}/ci.key`, NEW, HOST);
    const [temporary = "", ...others] = await namesIn(directory);
    expect(others).toEqual([]);
    expect(temporary).toMatch(/^ci\.key\.[0-9a-f]{16}\.tmp$/);
    if (HOST.platform !== "windows") {
      expect(((await Deno.stat(`${directory}/${temporary}`)).mode ?? 0) & 0o777).toBe(0o600);
    }
    await file.write("secret");
    await file.discard();
    expect(await namesIn(directory)).toEqual(["ci.key"]);
    expect(await Deno.readTextFile(`${directory}/ci.key`)).toBe("secret\n");
  });
});

Deno.test("if no secret is written, no file remains", async () => {
  await withDirectory(async (directory) => {
    await (await openSecretFile(`${directory}/ci.key`, NEW, HOST)).discard();
    expect(await namesIn(directory)).toEqual([]);
  });
});

Deno.test("an existing file is replaced only if that is allowed", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/ci.key`;
    await Deno.writeTextFile(path, "old\n");
    expect(await failureOfPromise(openSecretFile(path, NEW, HOST))).toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(/ci\.key" exists\. Add --overwrite to replace it/),
    });
    expect(await Deno.readTextFile(path)).toBe("old\n");
    await (await openSecretFile(path, REPLACING, HOST)).write("new");
    expect(await Deno.readTextFile(path)).toBe("new\n");
    expect(await namesIn(directory)).toEqual(["ci.key"]);
  });
});

Deno.test("a file that another process creates in the meantime is not replaced", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/ci.key`;
    const file = await openSecretFile(path, NEW, HOST);
    await Deno.writeTextFile(path, "of another process");
    expect(await failureOfPromise(file.write("secret"))).toMatchObject({ code: "USAGE" });
    expect(await Deno.readTextFile(path)).toBe("of another process");
    expect(await namesIn(directory)).toEqual(["ci.key"]);
  });
});

Deno.test("a directory, a missing directory, - and an empty path are rejected", async () => {
  await withDirectory(async (directory) => {
    const codes = await Promise.all(
      [directory, `${directory}/`, `${directory}/missing/ci.key`, "-", ""].map(async (path) =>
        (await failureOfPromise(openSecretFile(path, REPLACING, HOST))).code
      ),
    );
    expect(codes).toEqual(["USAGE", "USAGE", "FAILED", "USAGE", "USAGE"]);
  });
});

onPosix("symbolic links")("a symbolic link is rejected, even if it leads to a regular file", async () => {
  await withDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/target`, "old");
    await Deno.symlink(`${directory}/target`, `${directory}/link`);
    expect(await failureOfPromise(openSecretFile(`${directory}/link`, REPLACING, HOST))).toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(/link" is a symbolic link\. Pass the path of a regular file\./),
    });
    expect(await Deno.readTextFile(`${directory}/target`)).toBe("old");
  });
});

onPosix("file modes")("a replaced file gets mode 0600, whatever its mode was", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/ci.key`;
    await Deno.writeTextFile(path, "old");
    await Deno.chmod(path, 0o644);
    await (await openSecretFile(path, REPLACING, HOST)).write("new");
    expect(((await Deno.stat(path)).mode ?? 0) & 0o777).toBe(0o600);
  });
});

const isRoot = Deno.build.os !== "windows" && (await command("id", ["-u"])).trim() === "0";

Deno.test({
  name: `a replaced file keeps its owner and group${isRoot ? "" : " (skipped: not root)"}`,
  ignore: !isRoot,
  fn: () =>
    withDirectory(async (directory) => {
      const path = `${directory}/ci.key`;
      await Deno.writeTextFile(path, "old");
      await Deno.chown(path, 12, 34);
      await (await openSecretFile(path, REPLACING, HOST)).write("new");
      expect(await Deno.stat(path)).toMatchObject({ uid: 12, gid: 34 });
    }),
});

Deno.test("temporary files that killed processes have left can be removed, and no others", async () => {
  await withDirectory(async (directory) => {
    const others = ["ci.key", "ci.key.tmp", "ci.key.0123456789abcdef", "b.ci.key.0123456789abcdef.tmp"];
    const names = [...others, "ci.key.0123456789abcdef.tmp"];
    await Promise.all(names.map((name) => Deno.writeTextFile(`${directory}/${name}`, "")));
    await removeTemporaryFiles([`${directory}/ci.key`]);
    expect((await namesIn(directory)).toSorted()).toEqual(others.toSorted());
  });
});
