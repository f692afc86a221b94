/** The man pages: one for the program, each command and each topic. They have the content of the help pages. */
import deno from "../../deno.json" with { type: "json" };
import { readPage, readSections } from "../../src/cli/help/page.ts";
import { COMMANDS, FULL_HELP } from "../../src/cli/help/program_help.ts";
import { TOPICS } from "../../src/cli/help/topic_names.ts";
import { readTopic } from "../../src/cli/help/topics.ts";
import { denoHost } from "../../src/cli/host/deno_host.ts";
import { SILENT_LOG } from "../../src/cli/host/log.ts";
import { SUBCOMMANDS } from "../../src/cli/commands/apikey/subcommands.ts";
import { EXIT_STATUS } from "../../src/cli/exit_code.ts";
import { describeCommands } from "../../src/cli/program.ts";
import { type ManPage, renderCommand, renderGroup, renderPage, renderSection } from "./roff.ts";

/**
 * @param time the time of the commit, so that the same commit produces the same bytes
 * @returns the contents by file name, for example `service-api-apikey.1`
 */
export async function manPages(time: Date): Promise<ReadonlyMap<string, string>> {
  const described = await describeCommands({ host: denoHost, log: SILENT_LOG, setExitCode: () => {} });
  const commands = described.map(({ name, command }) => readPage(command, name));
  const topics = await Promise.all(TOPICS.map(([name]) =>
    readTopic(name, (command) => {
      const page = commands.find(({ name }) => name === `service-api ${command}`);
      if (page === undefined) throw new Error(`There is no command ${command}.`);
      return Promise.resolve(page);
    })
  ));
  const topicReferences = topics.map(({ name }) => `service-api-${name}(7)`);
  const pages: readonly ManPage[] = [
    programPage([...COMMANDS.map(([name]) => `service-api-${name}(1)`), ...topicReferences]),
    ...commands.map((page): ManPage => ({
      name: page.name.replaceAll(" ", "-"),
      section: 1,
      summary: SUMMARIES.get(page.name) ?? page.summary,
      body: [...renderCommand(page), ...renderExitStatus()],
      seeAlso: ["service-api(1)", ...topicReferences],
    })),
    ...topics.map(({ name, summary, sections }): ManPage => ({
      name: `service-api-${name}`,
      section: 7,
      summary,
      body: sections.flatMap((section) => "rows" in section ? renderGroup(section) : renderSection(section)),
      seeAlso: ["service-api(1)", ...topicReferences.filter((reference) => reference !== `service-api-${name}(7)`)],
    })),
  ];
  const date = time.toISOString().slice(0, 10);
  return new Map(pages.map((page) => [`${page.name}.${page.section}`, renderPage(page, date, deno.version)]));
}

/** The summaries that lists of commands show. */
const SUMMARIES: ReadonlyMap<string, string> = new Map([
  ...COMMANDS.map(([name, summary]) => [`service-api ${name}`, summary] as const),
  ...SUBCOMMANDS.map(([name, summary]) => [`service-api apikey ${name}`, summary] as const),
]);

function programPage(seeAlso: readonly string[]): ManPage {
  const [usage, description, ...sections] = readSections(FULL_HELP);
  return {
    name: "service-api",
    section: 1,
    summary: "create, list, change, rotate and delete API keys",
    body: [
      ...renderSection({ title: "Synopsis", lines: (usage?.lines ?? []).map((line) => line.replace("Usage: ", "")) }),
      ...renderSection({ title: "Description", lines: description?.lines ?? [] }),
      ...sections.slice(0, -1).flatMap(renderSection),
      ...renderExitStatus(),
    ],
    seeAlso,
  };
}

function renderExitStatus(): readonly string[] {
  return renderSection({ title: "Exit status", lines: EXIT_STATUS.trim().replace("Exit status: ", "").split("\n") });
}
