/** The README's commands that create a key for a document and check the document in CI. */
import { expect } from "expect";
import { testWith } from "../tools.ts";
import { commandsOf } from "./readme.ts";
import { openWorkspace } from "./workspace.ts";

const [create = "", check = ""] = commandsOf("Least permissions", 2);

testWith(
  ["sh", "paste", "diff"],
  "a key for a document can send it, and CI notices that the document needs more",
  async () => {
    await using workspace = await openWorkspace();
    expect(await workspace.run(["sh", "-euc", create])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await workspace.read("report.permissions")).toBe("API_KEY:READ_ANY\nLOGS:READ_ANY\n");
    const request = ["service-api", "request", "--query", "@report.graphql", "--key-file", "report.key"];
    expect(await workspace.run(request)).toMatchObject({ code: 0 });

    expect(await workspace.run(["sh", "-euc", check])).toEqual({ code: 0, stdout: "", stderr: "" });
    await workspace.write("report.graphql", "mutation { apiKey { delete(input: { ids: [] }) } }");
    expect(await workspace.run(["sh", "-euc", check])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("> API_KEY:DELETE_ANY\n"),
    });
  },
);
