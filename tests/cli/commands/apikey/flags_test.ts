/** Command lines that `apikey` rejects before it contacts a server. `tests/apikey/` tests names and rights. */
import { expect } from "expect";
import { inProcess } from "../../../program/program.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";

/** An address without a server. A command that sends a request fails with `UNREACHABLE`, and so its test fails. */
const env = { SERVICE_API_URL: "http://127.0.0.1:1" };

for (
  const [rule, args, code, message] of [
    [
      "an invalid name",
      ["--create", "--name", "ci-bot", "--roles", "GUEST"],
      "INVALID_NAME",
      /only letters, digits and/,
    ],
    ["no rights (spec 4.1 rule 1)", ["--create", "--name", "a"], "NO_RIGHTS", /at least one role or permission/],
    [
      "blank lists of rights",
      ["--create", "--name", "a", "--roles", "", "--permissions", " "],
      "NO_RIGHTS",
      /at least one role or permission/,
    ],
    [
      "an unknown role",
      ["--create", "--name", "a", "--roles", "ADMN"],
      "INVALID_ROLE",
      /--roles: "ADMN" is not a role\. Did you mean ADMIN\?/,
    ],
    [
      "an unknown resource",
      ["--create", "--name", "a", "--permissions", "DOCKR:READ_ANY"],
      "INVALID_PERMISSION",
      /--permissions: "DOCKR" in "DOCKR:READ_ANY" is not a resource\. Did you mean DOCKER\?/,
    ],
    [
      "a description of more than 1,024 code points",
      ["--create", "--name", "a", "--roles", "GUEST", "--description", "🚀".repeat(1025)],
      "USAGE",
      /The description is too long\. A description may have at most 1024 characters\./,
    ],
    [
      "an unknown action on all resources",
      ["--create", "--name", "a", "--permissions", "*:REED_ANY"],
      "INVALID_PERMISSION",
      /"REED_ANY" in "\*:REED_ANY" is not an action\. Did you mean READ_ANY\?/,
    ],
    [
      "no name and no terminal",
      ["--create", "--roles", "ADMIN"],
      "USAGE",
      /cannot prompt for the name of the key\. Add --name\./,
    ],
    ["no mode and no terminal", ["--name", "a"], "USAGE", /--create or --delete/],
    ["both modes", ["--create", "--delete", "--name", "a"], "USAGE", /not both/],
    ["an unknown flag", ["--create", "--nam", "a"], "USAGE", /"--nam"\. Did you mean --name\?/],
    ["two names", ["--create", "--name", "a", "--name", "b", "--roles", "GUEST"], "USAGE", /--name was given twice/],
    ["--if-exists", ["--create", "--name", "a", "--roles", "GUEST", "--if-exists"], "USAGE", /--if-exists .* --delete/],
    ["an id", ["--create", "--name", "a", "--roles", "GUEST", "--id", "key_1"], "USAGE", /--id .* --delete/],
    ["a repeated flag", ["--create", "--description", "a", "--description", "b"], "USAGE", /--description .*twice/],
  ] as const
) {
  Deno.test(`apikey with ${rule} fails with ${code} and exit status 2, in plain text and in JSON`, async () => {
    const json = await inProcess(["apikey", ...args, "--json"], { env });
    expect({ exit: json.code, stderr: json.stderr }).toEqual({ exit: 2, stderr: "" });
    expect(JSON.parse(json.stdout)).toMatchObject({ code, error: expect.stringMatching(message) });
    const plain = await inProcess(["apikey", ...args], { env });
    expect({ exit: plain.code, stdout: plain.stdout }).toEqual({ exit: 2, stdout: "" });
    expect(plain.stderr).toMatch(message);
    expect(plain.stderr).toMatch(/^service-api: [^\n]+\n$/);
  });
}

for (
  const [rule, args, code, error] of [
    ["an invalid name", ["--name", "a-b"], "INVALID_NAME", expect.stringMatching(/may contain only letters, digits/)],
    [
      "no name and no terminal",
      [],
      "USAGE",
      "The command cannot prompt for the keys to delete. Add --name, --id, --match, --expired or --unused.",
    ],
    [
      "a filter and a name",
      ["--name", "a", "--match", "*"],
      "USAGE",
      "--match cannot be combined with --name or --id. Run the command twice.",
    ],
    [
      "a filter and an id",
      ["--id", "key_1", "--expired"],
      "USAGE",
      "--expired cannot be combined with --name or --id. Run the command twice.",
    ],
    ["an empty id", ["--id", " "], "USAGE", "--id is empty. Pass the id of a key, for example key_1."],
    [
      "a flag of --create",
      ["--name", "a", "--overwrite"],
      "USAGE",
      "--overwrite works only with --create, not with --delete.",
    ],
  ] as const
) {
  Deno.test(`apikey --delete with ${rule} fails with ${code} and exit status 2, and the JSON says that 0 keys were deleted`, async () => {
    const outcome = await inProcess(["apikey", "--delete", ...args, "--json"], { env });
    expect({ exit: outcome.code, stderr: outcome.stderr }).toEqual({ exit: 2, stderr: "" });
    expect(JSON.parse(outcome.stdout)).toEqual({ deleted: 0, error, code });
  });
}

for (
  const [args, flag] of [
    [["--create"], "--name"],
    [["--create", "--name", "n"], "--roles"],
    [["--delete"], "--name"],
    [[], "--create"],
  ] as const
) {
  Deno.test(`${["apikey", ...args].join(" ")} fails and names the missing ${flag} if it cannot prompt`, async () => {
    const noInput = runAtTerminal(["apikey", ...args, "--no-input"], { env });
    const piped = runAtTerminal(["apikey", ...args], { env });
    piped.host.stdin.isTerminal = () => false;
    const logged = runAtTerminal(["apikey", ...args], { env });
    logged.host.stderr.isTerminal = () => false;
    expect(await Promise.all([noInput.code, piped.code, logged.code])).toEqual([2, 2, 2]);
    for (const { host } of [noInput, piped, logged]) expect(host.stderr.text).toContain(flag);
  });
}
