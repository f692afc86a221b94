/** Units of systemd: what they say, and how systemd would start their command. */
import { expect } from "expect";
import type { Place, Running } from "./place.ts";

/** A file of systemd: sections, and in them settings with all of their values. */
export type Unit = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Reads a block that has several files, each after a line with its path. */
export function readUnits(block: string): ReadonlyMap<string, string> {
  const parts = block.split(/^# (\/\S+)\n/m).slice(1);
  return new Map(Array.from({ length: parts.length / 2 }, (_, i) => [parts[2 * i] ?? "", parts[2 * i + 1] ?? ""]));
}

export function parseUnit(text: string): Unit {
  const unit: Record<string, Record<string, string[]>> = {};
  let section: Record<string, string[]> = {};
  for (const line of text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))) {
    const [, title, name = "", value = ""] = /^(?:\[(\w+)\]|(\w+)=(.*))$/.exec(line) ?? [];
    if (title !== undefined) section = unit[title] ??= {};
    else if (name !== "") (section[name] ??= []).push(value);
    else throw new Error(`this is no line of a unit: ${line}`);
  }
  return unit;
}

/**
 * Starts the command of a service as systemd does: in an environment of what the unit says and systemd adds, with its
 * state directory and its credentials, which are in `state` and `credentials` of the place.
 */
export async function startService({ Service = {} }: Unit, place: Place): Promise<Running> {
  const state = `${place.directory}/state`;
  const credentials = `${place.directory}/credentials`;
  const directories = Service["StateDirectory"] ?? [];
  await Deno.remove(credentials, { recursive: true }).catch(() => {});
  await Promise.all(
    [credentials, ...directories.map((name) => `${state}/${name}`)].map((path) =>
      Deno.mkdir(path, { recursive: true, mode: 0o700 })
    ),
  );
  await Promise.all((Service["LoadCredential"] ?? []).map(async (credential) => {
    const [name, path = ""] = credential.split(":");
    await Deno.writeFile(`${credentials}/${name}`, await Deno.readFile(path), { mode: 0o400 });
  }));
  const words = (name: string): readonly string[] =>
    (Service[name] ?? []).flatMap((value) => value.replaceAll("%S", state).replaceAll("%d", credentials).split(" "));
  return place.start(words("ExecStart"), {
    env: {
      ...Object.fromEntries(words("Environment").map((assignment) => assignment.split("="))),
      PATH: `${place.directory}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      CREDENTIALS_DIRECTORY: credentials,
      STATE_DIRECTORY: directories.map((name) => `${state}/${name}`).join(":"),
      INVOCATION_ID: "0123456789abcdef0123456789abcdef",
    },
  });
}

const analyze = await new Deno.Command("systemd-analyze", { args: ["--version"] }).output().catch(() => undefined);
const version = Number(/^systemd (\d+)/.exec(new TextDecoder().decode(analyze?.stdout))?.[1] ?? 0);

/** Registers a test that wants systemd's opinion of units, or one that is ignored where there is none that knows `%d`. */
export function testWithSystemd(what: string, test: () => Promise<void>): void {
  if (version >= 250) Deno.test(what, test);
  else Deno.test.ignore(`${what}: not run, for want of systemd-analyze 250 on this machine`, () => {});
}

/** Sees that systemd finds nothing wrong with units, which are files of one directory. */
export async function verifyUnits(place: Place, paths: readonly string[]): Promise<void> {
  const { code, stderr } = await place.run(["systemd-analyze", "verify", "--man=no", ...paths]);
  expect({ code, faults: stderr.split("\n").filter((line) => line.includes(place.directory)) })
    .toEqual({ code: 0, faults: [] });
}
