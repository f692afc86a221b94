/** `apikey --create --secret-file`. */
import { expect } from "expect";
import { startServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";

const CREATE = ["apikey", "--create", "--name", "ci", "--roles", "VIEWER"];

Deno.test("with --secret-file, only the file contains the secret", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    const path = `${directory}/ci.key`;
    expect(await program([...CREATE, "--secret-file", path])).toEqual({ code: 0, stdout: "", stderr: "" });
    const me = await program(["request", "--query", "{ me { name } }", "--key-file", path]);
    expect(JSON.parse(me.stdout)).toEqual({ data: { me: { name: "ci" } } });
    const refused = await program([...CREATE, "--secret-file", path]);
    expect({ code: refused.code, stderr: refused.stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/exists\. Add --overwrite .* use service-api apikey ensure\.\n$/),
    });
    const replaced = await program([...CREATE, "--secret-file", path, "--overwrite", "--json"]);
    expect(JSON.parse(replaced.stdout)).toEqual({
      name: "ci",
      id: expect.stringMatching(/^key_/),
      secretFile: path,
    });
    const again = await inProcess(["request", "--query", "{ me { name } }", "--key-file", path], { env });
    expect(again.code).toBe(0);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("if the server refuses the key, --secret-file leaves the existing file as it is, and no temporary file", async () => {
  await using installation = await embedded(inProcess);
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await installation.program(CREATE);
    const { code } = await installation.program([...CREATE, "--secret-file", `${directory}/ci.key`]);
    expect(code).toBe(1);
    expect(await Array.fromAsync(Deno.readDir(directory))).toEqual([]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a missing directory and a file instead of a directory are usage errors that name --secret-file", async () => {
  await using installation = await embedded(inProcess);
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await Deno.writeTextFile(`${directory}/file`, "");
    const missing = await installation.program([...CREATE, "--secret-file", `${directory}/missing/ci.key`]);
    expect(missing).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^service-api: --secret-file: cannot write ".*missing\/ci\.key": No such file or directory\. Create the directory first\.\n$/,
      ),
    });
    const { code, stderr } = await installation.program([...CREATE, "--secret-file", `${directory}/file/ci.key`]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/--secret-file: cannot write ".*ci\.key"/),
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("if the file cannot be written after the key was created, the message says so and what to do", async () => {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const path = `${directory}/keys/ci.key`;
  await Deno.mkdir(`${directory}/keys`);
  await using server = startServer(async () => {
    await Deno.remove(`${directory}/keys`, { recursive: true });
    const create = { id: "key_1", name: "ci", key: "secret" };
    return Response.json({ data: { apiKey: { refusesTakenNames: true, create } } });
  });
  try {
    const { code, stdout, stderr } = await inProcess([...CREATE, "--secret-file", path], {
      env: { SERVICE_API_URL: server.url },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /The key "ci" \(key_1\) was created, but its secret could not be written: Cannot write ".*ci\.key": No such file or directory\. Delete the key, or create it again with --overwrite\.\n$/,
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
