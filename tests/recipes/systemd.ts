/** Reads the commands of systemd units, and checks units with `systemd-analyze`. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { findProgram } from "../tools.ts";
import type { Workspace } from "./workspace.ts";

export interface UnitCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The `ExecStart=` and `Environment=` of a unit, with `%S` and `%d` replaced by directories of the workspace. */
export function commandOfUnit(text: string, { directory }: Workspace): UnitCommand {
  const words = (setting: string): readonly string[] =>
    (new RegExp(`^${setting}=(.*)$`, "m").exec(text)?.[1] ?? "")
      .replaceAll("%S", `${directory}/state`).replaceAll("%d", `${directory}/credentials`).split(" ");
  return {
    command: words("ExecStart"),
    env: Object.fromEntries(words("Environment").map((word) => word.split("=", 2))),
  };
}

const versionLine = findProgram("systemd-analyze") && (await execute("systemd-analyze", ["--version"])).stdout;
const version = Number(/^systemd (\d+)/.exec(versionLine ?? "")?.[1] ?? 0);

/** Registers a test that is skipped without `systemd-analyze` 250 or newer. No earlier version supports `%d`. */
export function testWithSystemd(name: string, test: () => Promise<void>): void {
  if (version >= 250) Deno.test(name, test);
  else Deno.test.ignore(`${name} (skipped: systemd-analyze 250 or newer is not installed)`, () => {});
}

/** Checks that `systemd-analyze verify` accepts the recipes with these names. */
export async function expectValidUnits(workspace: Workspace, units: readonly string[]): Promise<void> {
  const texts = await Promise.all(units.map(workspace.recipe));
  await Promise.all(units.map((unit, index) => workspace.write(unit, texts[index] ?? "")));
  const paths = units.map((unit) => `${workspace.directory}/${unit}`);
  const { code, stderr } = await workspace.run(["systemd-analyze", "verify", "--man=no", ...paths]);
  // Ignores messages about other units of this machine.
  const faults = stderr.split("\n").filter((line) => line.includes(workspace.directory));
  expect({ code, faults }).toEqual({ code: 0, faults: [] });
}
