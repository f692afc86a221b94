/** Forges that run the jobs of a pipeline: what of GitHub's and GitLab's runners the recipes use, and nothing more. */
import { parse } from "yaml";
import { until } from "../server/until.ts";
import type { Place } from "./place.ts";

export interface JobOutcome {
  readonly status: "success" | "failure" | "cancelled";
  /** What can be read of it on the forge. */
  readonly log: string;
}

export interface JobOptions {
  /** What the runner has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Cancels the job once there is such a file, with the id of the process that it waits for. */
  readonly cancelAt?: string | undefined;
}

interface Step {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly if?: string;
  readonly env?: Variables;
}

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly env: Variables; readonly steps: readonly Step[] }>>;
}

type Variables = Readonly<Record<string, string>>;

/** Runs the one job of a workflow of GitHub Actions, on a checkout that is the directory of the place. */
export async function runOnGitHub(
  text: string,
  secrets: Variables,
  { env, cancelAt }: JobOptions,
  place: Place,
): Promise<JobOutcome> {
  const workflow: Workflow = parse(text);
  const job = onlyOf(workflow.jobs);
  const context = new Map([["github.run_id", "123456789"], ["github.run_attempt", "2"]]);
  for (const [name, value] of Object.entries(secrets)) context.set(`secrets.${name}`, value);
  const files = { GITHUB_OUTPUT: `${place.directory}/github_output`, GITHUB_PATH: `${place.directory}/github_path` };
  const masks = Object.values(secrets);
  let status: JobOutcome["status"] = "success";
  let log = "";
  let path = env["PATH"] ?? "";

  const runStep = async ({ id, run, env: ofStep = {} }: Step): Promise<JobOutcome["status"]> => {
    if (run === undefined || run.includes("${{")) throw new Error("this runner takes steps that run a plain text");
    await Promise.all(Object.values(files).map((file) => Deno.writeTextFile(file, "")));
    const ended = await runUntil(cancelAt, place, ["bash", "-ec", run], {
      ...env,
      ...expand(job.env, context),
      ...expand(ofStep, context),
      ...files,
      PATH: path,
      RUNNER_TEMP: place.directory,
    });
    for (const line of ended.log.split("\n")) {
      const [, secret] = /^::add-mask::(.+)$/.exec(line) ?? [];
      if (secret === undefined) log += `${masks.reduce((shown, mask) => shown.replaceAll(mask, "***"), line)}\n`;
      else masks.push(secret);
    }
    for (const [, name, value = ""] of (await Deno.readTextFile(files.GITHUB_OUTPUT)).matchAll(/^(\w+)=(.*)$/gm)) {
      context.set(`steps.${id}.outputs.${name}`, value);
    }
    path = [(await Deno.readTextFile(files.GITHUB_PATH)).trim(), path].filter(Boolean).join(":");
    return ended.status;
  };

  for (const step of job.steps.filter(({ uses = "" }) => !uses.startsWith("actions/checkout@"))) {
    const isRun: boolean = step.if === undefined ? status === "success" : decide(step.if, context);
    // deno-lint-ignore no-await-in-loop -- step by step
    const outcome: JobOutcome["status"] | "skipped" = isRun ? await runStep(step) : "skipped";
    if (status === "success" && outcome !== "skipped") status = outcome;
    context.set(`steps.${step.id}.outcome`, outcome);
  }
  return { status, log };
}

/** Variables with what their expressions stand for: what there is not, as the output of a step that failed, is empty. */
function expand(variables: Variables, context: ReadonlyMap<string, string>): Variables {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, expression: string) => context.get(expression) ?? ""),
    ]),
  );
}

/** What a condition comes to that begins with `always()`. */
function decide(condition: string, context: ReadonlyMap<string, string>): boolean {
  const [always, ...terms] = condition.split(" && ");
  if (always !== "always()") throw new Error(`this runner knows no condition ${condition}`);
  return terms.every((term) => {
    const [, name = "", value] = /^([\w.]+) != '(\w+)'$/.exec(term) ?? [];
    if (!context.has(name)) throw new Error(`this runner knows no condition ${term}`);
    return context.get(name) !== value;
  });
}

interface GitLabJob {
  readonly variables: Variables;
  readonly before_script: readonly string[];
  readonly script: readonly string[];
  readonly after_script: readonly string[];
}

/** Runs the one job of a pipeline of GitLab: what comes after has a shell of its own, and no say in the outcome. */
export async function runOnGitLab(text: string, { env, cancelAt }: JobOptions, place: Place): Promise<JobOutcome> {
  const pipeline: Readonly<Record<string, GitLabJob>> = parse(text);
  const { variables, before_script, script, after_script } = onlyOf(pipeline);
  const all = { ...env, CI_JOB_ID: "4711" };
  for (const [name, value] of Object.entries(variables)) {
    Object.assign(all, { [name]: value.replaceAll("$CI_JOB_ID", all.CI_JOB_ID) });
  }
  const shell = (lines: readonly string[]): readonly string[] => ["bash", "-eo", "pipefail", "-c", lines.join("\n")];
  const { status, log } = await runUntil(cancelAt, place, shell([...before_script, ...script]), all);
  const after = await runUntil(undefined, place, shell(after_script), all);
  return { status, log: log + after.log };
}

function onlyOf<Job>(jobs: Readonly<Record<string, Job>>): Job {
  const [job, ...others] = Object.values(jobs);
  if (job === undefined || others.length > 0) throw new Error("this runner takes one job");
  return job;
}

/** Runs a command to its end, or until there is a file with the id of a process: then both are told to end. */
async function runUntil(
  file: string | undefined,
  place: Place,
  command: readonly string[],
  env: Variables,
): Promise<JobOutcome> {
  const { pid, outcome } = place.start(command, { env, printsSecret: true });
  let isOver = false;
  let isCancelled = false;
  const ended = outcome.finally(() => isOver = true);
  await until(async () => {
    const process = file && await place.read(file).catch(() => undefined);
    if (!process || isOver) return isOver;
    await Deno.remove(`${place.directory}/${file}`);
    new Set([Number(process), pid]).forEach((id) => Deno.kill(id, "SIGTERM"));
    return isCancelled = true;
  });
  const { code, stdout, stderr } = await ended;
  return { status: isCancelled ? "cancelled" : code === 0 ? "success" : "failure", log: stdout + stderr };
}
