/** What happens before the first question if the key in use lacks the right that the command needs. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { runAtTerminal, type Running } from "../../../program/terminal_host.ts";
import { listedKeys, startKeyServer } from "./key_server.ts";

const COMMANDS = [
  { args: ["--create"], verb: "create", lacks: "API_KEY:CREATE_ANY", question: /\? Name/ },
  { args: ["update"], verb: "update", lacks: "API_KEY:UPDATE_ANY and API_KEY:UPDATE_OWN", question: /\? Key to/ },
  {
    args: ["update", "admin"],
    verb: "update",
    lacks: "API_KEY:UPDATE_ANY and API_KEY:UPDATE_OWN",
    question: /\? What/,
  },
  { args: ["rotate"], verb: "rotate", lacks: "API_KEY:UPDATE_ANY and API_KEY:UPDATE_OWN", question: /\? Key to/ },
  { args: ["--delete"], verb: "delete", lacks: "API_KEY:DELETE_ANY and API_KEY:DELETE_OWN", question: /\? Keys to/ },
  {
    args: ["--delete", "--match", "*"],
    verb: "delete",
    lacks: "API_KEY:DELETE_ANY and API_KEY:DELETE_OWN",
    question: /\? Keys to/,
  },
] as const;

for (const { args, verb, lacks, question } of COMMANDS) {
  const command = ["apikey", ...args];
  Deno.test(`if the key in use cannot ${verb} keys, ${command.join(" ")} says so before the first question`, async () => {
    await using installation = await embedded(inProcess);
    const { program, env } = installation;
    const runAs = async (...permissions: readonly string[]): Promise<Running> => {
      const rights = ["API_KEY:READ_ANY", ...permissions].join(",");
      const create = ["apikey", "--create", "--name", "ops", "--overwrite", "--permissions", rights];
      const key = (await program(create)).stdout.trim();
      return runAtTerminal(command, { env: { ...env, SERVICE_API_KEY: key } });
    };
    await program(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"]);
    const weak = await runAs();
    expect(await weak.code).toBe(3);
    expect(weak.host.stderr.text.replaceAll(/\s+/g, " ")).toBe(
      `service-api: The key in use, "ops", cannot ${verb} keys, because it lacks ${lacks}. ` +
        "To use another key, add --key-file. ",
    );
    const strong = await runAs(lacks.replace(/ and .*/, ""));
    await strong.screen.until(question);
    strong.screen.press("\x03");
    expect(await strong.code).toBe(130);
  });
}

Deno.test("on a server that does not report the rights of the key in use, the prompts appear", async () => {
  await using server = startKeyServer(listedKeys(["ci deploy"]));
  const { screen, code } = runAtTerminal(["apikey", "--create"], {
    env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "a-key-of-another-kind" },
  });
  await screen.until(/\? Name/);
  screen.press("\x03");
  expect(await code).toBe(130);
});
