/** Tests settings whose value is the path of a file. */
import { expect } from "expect";
import { onPosix } from "../../posix.ts";
import { configHome, SECRET } from "../config_file/config_home.ts";

const testWithSpecialFiles = onPosix("named pipes and devices");
const testWithModes = onPosix("file modes");

for (const [what, kind] of [["pipe", "a named pipe"], ["/dev/zero", "a device or a socket"]] as const) {
  testWithSpecialFiles(`${kind} is rejected at once, wherever a flag takes a file`, async () => {
    await using home = await configHome();
    const path = new URL(what, `file://${home.home}/`).pathname;
    if (what === "pipe") await new Deno.Command("mkfifo", { args: [path] }).output();
    for (
      const args of [
        ["config", "--key-file", path],
        ["config", "--ca-file", path, "--base-url", "https://127.0.0.1:1"],
        ["request", "--query", `@${path}`],
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- one command at a time
      const { code, stderr } = await home.run(args);
      const message = `service-api: ${args[1]}: cannot read "${path}": it is ${kind}. Use a file.\n`;
      expect({ code, stderr }).toEqual({ code: 2, stderr: message });
    }
  });
}

Deno.test("--key-file /dev/stdin fails with a message that names --key-file -", async () => {
  await using home = await configHome();
  const { code, stderr } = await home.run(["config", "--key-file", "/dev/stdin"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    'service-api: --key-file: cannot read "/dev/stdin". Use --key-file - to read standard input.\n',
  );
});

testWithModes(
  "if other users can read a key file of the user, there is a warning with the command that fixes it",
  async () => {
    await using home = await configHome();
    const path = `${home.home}/my key`;
    await Deno.writeTextFile(path, SECRET);
    for (const [mode, warns] of [[0o644, true], [0o640, true], [0o600, false], [0o400, false]] as const) {
      // deno-lint-ignore no-await-in-loop -- one mode at a time
      await Deno.chmod(path, mode);
      // deno-lint-ignore no-await-in-loop -- one mode at a time
      const { code, stderr } = await home.run(["config", "--key-file", path]);
      expect({ mode, code }).toEqual({ mode, code: 0 });
      const warning = `WARNING Other users can access the key file "${path}". Run: chmod 600 '${path}'\n`;
      expect(stderr.replace(/^\S+ /, "")).toBe(warns ? warning : "");
    }
  },
);

testWithModes("there is no warning about a secret that Kubernetes mounts", async () => {
  await using home = await configHome();
  await Deno.mkdir(`${home.home}/..2026_11_22_09_17_15.123456789`);
  await Deno.writeTextFile(`${home.home}/..2026_11_22_09_17_15.123456789/key`, SECRET, { mode: 0o644 });
  await Deno.symlink("..2026_11_22_09_17_15.123456789", `${home.home}/..data`);
  await Deno.symlink("..data/key", `${home.home}/key`);
  const { code, stderr } = await home.run(["config", "--key-file", `${home.home}/key`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});
