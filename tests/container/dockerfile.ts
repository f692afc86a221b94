/** A Dockerfile, read as far as the one of this project needs it. */

/** From one `FROM` to the next. */
export interface Stage {
  readonly base: string;
  readonly platform: string | undefined;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export interface Instruction {
  readonly keyword: string;
  readonly flags: ReadonlyMap<string, string>;
  /** What comes after the flags, with the lines that it takes joined. */
  readonly text: string;
}

/** @throws {Error} when something comes before the first `FROM` */
export function parseDockerfile(source: string): readonly Stage[] {
  const stages: (Stage & { readonly instructions: Instruction[] })[] = [];
  const lines = source.replaceAll(/^\s*#.*\n/gm, "").replaceAll("\\\n", "").split("\n");
  for (const line of lines.filter((line) => line.trim() !== "")) {
    const instruction = parseInstruction(line);
    if (instruction.keyword === "FROM") {
      const [base = "", , name] = instruction.text.split(/\s+/);
      stages.push({ base, platform: instruction.flags.get("platform"), name, instructions: [] });
    } else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`${instruction.keyword} before FROM`);
      stage.instructions.push(instruction);
    }
  }
  return stages;
}

function parseInstruction(line: string): Instruction {
  const [, keyword = "", flags = "", text = ""] = /^\s*(\w+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
  const pairs = [...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value] as const);
  return { keyword: keyword.toUpperCase(), flags: new Map(pairs), text: text.trim() };
}

/** The words of a text: with quotes taken off, and what is in quotes in one piece. */
export function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ""));
}

/** A text with `$NAME` and `${NAME}` for their values. */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(?:(\w+)|\{(\w+)\})/g, (_, bare, braced) => values.get(bare ?? braced) ?? "");
}
