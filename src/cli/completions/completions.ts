/** `completions`: the script with which a shell completes the program's commands, flags and values. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import { nearest } from "../../apikey/nearest.ts";
import type { Session } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

type Shell = typeof SHELLS[number];

/** Declares the command. */
export function registerCompletions(command: Command, { host, setExitCode }: Session): void {
  command
    .description(
      "Print the script with which a shell completes commands, flags, files, roles,\npermissions and the names of keys.",
    )
    .usage("bash|zsh|fish|powershell")
    .addArgument(command.createArgument("[shell]").choices(SHELLS).argParser(parseShell))
    .addHelpText("after", NOTES)
    .action(async (shell) => setExitCode(await completions(shell, host)));
}

function parseShell(typed: string): Shell {
  const shell = SHELLS.find((candidate) => candidate === typed);
  if (shell !== undefined) return shell;
  throw new Failure(
    "USAGE",
    `There is no script for a shell ${quote(typed)}; did you mean ${nearest(typed.toLowerCase(), SHELLS)}? ` +
      `The shells are ${SHELLS.join(", ")}.`,
  );
}

async function completions(shell: Shell | undefined, host: Host): Promise<ExitCode> {
  if (shell === undefined) throw new Failure("USAGE", `Say for which shell: ${SHELLS.join(", ")}.`);
  const { script } = await load(shell);
  await host.stdout.write(script);
  return ExitCode.OK;
}

async function load(shell: Shell): Promise<{ readonly script: string }> {
  switch (shell) {
    case "bash":
      return await import("./bash.ts");
    case "zsh":
      return await import("./zsh.ts");
    case "fish":
      return await import("./fish.ts");
    case "powershell":
      return await import("./powershell.ts");
  }
}

const NOTES = `
To have it in every new shell, once:
  bash        echo 'eval "$(service-api completions bash)"' >> ~/.bashrc
  zsh         echo 'autoload -U compinit && compinit' >> ~/.zshrc
              echo 'eval "$(service-api completions zsh)"' >> ~/.zshrc
  fish        mkdir -p ~/.config/fish/completions
              service-api completions fish \\
                > ~/.config/fish/completions/service-api.fish
  powershell  Add-Content $PROFILE 'service-api completions powershell |
                Out-String | Invoke-Expression'

The names of keys come from the server that the line and the variables name,
within a second or not at all.
${EXIT_STATUS}`;
