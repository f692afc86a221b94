/** Checks that the tasks, files, variables and flags in scripts/README.md exist, and runs the commands that need no build. */
import { expect } from "expect";
import deno from "../../deno.json" with { type: "json" };
import { command } from "../execute.ts";
import { textsIn } from "../readme.ts";
import { testWith } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { filesIn, INSTALLER, openMachine } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const ROOT = `${import.meta.dirname}/../..`;
const README = await Deno.readTextFile(`${ROOT}/scripts/README.md`);
const BLOCKS = textsIn(README, "sh");

Deno.test("scripts/README.md describes every task", () => {
  const described = [...README.matchAll(/^\| `deno task ([\w:-]+)`/gm)].map(([, task]) => task);
  expect(Object.keys(deno.tasks).filter((task) => !described.includes(task))).toEqual([]);
});

Deno.test("the version of the releases in scripts/README.md is the version in deno.json", () => {
  const named = [...README.matchAll(/(?:releases\/download\/v|service-api-)(\d+\.\d+\.\d+)/g)];
  expect(new Set(named.map(([, version]) => version))).toEqual(new Set([deno.version]));
});

Deno.test("the files, variables and flags in scripts/README.md exist", async () => {
  const paths = [...README.matchAll(/`((?:src|scripts|\.ci)\/[^`\s]*|main\.ts)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(5);
  await Promise.all(paths.map((path) => Deno.stat(`${ROOT}/${path}`)));
  const sources = await Promise.all(
    ["compile.ts", "release.ts", "runtime_base.ts", "install.sh"].map((name) =>
      Deno.readTextFile(`${ROOT}/scripts/${name}`)
    ),
  );
  const code = sources.join("");
  const variables = new Set(README.match(/`(PREFIX|TMPDIR|SERVICE_API_\w+|DENORT_BIN|DENO_COMPILE)`/g));
  expect([...variables].filter((name) => !code.includes(name.slice(1, -1)))).toEqual([]);
  const flags = BLOCKS.flatMap((block) => [...block.matchAll(/deno task \S+.* --(\w+)/g)].map(([, flag]) => flag));
  expect(flags.filter((flag) => !code.includes(`      ${flag}: { type: "string"`))).toEqual([]);
});

testWith(["bash"], "the commands in scripts/README.md are valid shell, and their tasks exist", async () => {
  await Promise.all(BLOCKS.map((block) => command("bash", ["-n", "-c", block])));
  const tasks = BLOCKS.flatMap((block) => [...block.matchAll(/^deno task (\S+)/gm)].map(([, task = ""]) => task));
  expect(tasks.filter((task) => !(task in deno.tasks))).toEqual([]);
});

testWith(["sh", "tar", "gzip", "curl"], "the commands in scripts/README.md install from a mirror", async () => {
  const { files } = await makeRelease(archived("echo service-api 1.2.3"));
  await using server = serveRelease({ ...files, "install.sh": await Deno.readTextFile(INSTALLER) });
  await using machine = await openMachine();
  const block = BLOCKS.find((block) => block.includes("mirror="))?.replace("https://mirror.example.com", server.url);
  const env = { HOME: machine.home, PATH: Deno.env.get("PATH") ?? "", TMPDIR: machine.tmp };
  await command("sh", ["-euc", block ?? "exit 1"], { env, clearEnv: true });
  expect(await filesIn(machine.home)).toHaveProperty([".local/bin/service-api"]);
  expect(new Set(server.requests.map((path) => path.replace(/[^/]*$/, "")))).toEqual(new Set(["/service-api/"]));
});

const [CHECKSUMS = "", ATTESTATION = ""] = BLOCKS.find((block) => block.includes("SHA256SUMS"))?.split("\n") ?? [];

testWith(
  ["sh", "sha256sum"],
  "the command in scripts/README.md verifies the checksum of an archive",
  () =>
    inTemporaryDirectory(async (directory) => {
      const { files } = await makeRelease(archived(""));
      await Promise.all(
        Object.entries(files).map(([name, content]) =>
          Deno.writeFile(
            `${directory}/${name}`,
            typeof content === "string" ? new TextEncoder().encode(content) : content,
          )
        ),
      );
      const verify = (): Promise<string> => command("sh", ["-euc", CHECKSUMS], { cwd: directory });
      expect(await verify()).toMatch(/^service-api-\S+: OK$/m);
      await Deno.truncate(`${directory}/${Object.keys(files).find((name) => name.endsWith(".gz"))}`, 10);
      await expect(verify()).rejects.toThrow(/did NOT match/);
    }),
);

testWith(["gh"], "gh supports the flag with which scripts/README.md verifies attestations", async () => {
  const [, flag = ""] = /^gh attestation verify .* (--\w+) /.exec(ATTESTATION) ?? [];
  expect(await command("gh", ["attestation", "verify", "--help"])).toContain(flag);
});
