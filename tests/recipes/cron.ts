/** Files of `/etc/cron.d`, as crontab(5) has them. */

export interface CronFile {
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: readonly { readonly schedule: string; readonly user: string; readonly command: string }[];
}

/** @throws {Error} at a line that is neither a variable nor a job */
export function readCronFile(text: string): CronFile {
  if (!text.endsWith("\n")) throw new Error("cron wants a line break at the end");
  const lines = text.trim().split("\n").filter((line) => !line.startsWith("#"));
  const variables = lines.map((line) => /^([A-Za-z_]+)=(.*)$/.exec(line));
  const jobs = lines.filter((_, index) => variables[index] === null).map((line) => {
    const [, schedule, user, command] = /^((?:\S+\s+){4}\S+)\s+(\S+)\s+(.+)$/.exec(line) ?? [];
    if (schedule === undefined || user === undefined || command === undefined) throw new Error(`no line: ${line}`);
    return { schedule, user, command };
  });
  return { env: Object.fromEntries(variables.flatMap((match) => match === null ? [] : [[match[1], match[2]]])), jobs };
}

/** The fields of a schedule: minute, hour, day of the month, month, day of the week. */
const RANGES = [[0, 59], [0, 23], [1, 31], [1, 12], [0, 7]] as const;

/** Whether five fields are a time, in numbers. */
export function isSchedule(schedule: string): boolean {
  const fields = schedule.split(/\s+/);
  return fields.length === RANGES.length &&
    RANGES.every(([low, high], index) =>
      (fields[index] ?? "").split(",").every((part) => {
        const [, from = low, to = from] = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/[1-9]\d*)?$/.exec(part) ?? [null, -1];
        return low <= Number(from) && Number(from) <= Number(to) && Number(to) <= high;
      })
    );
}
