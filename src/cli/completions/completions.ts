/**
 * The `completions` command: prints a script for a shell. With this script, the shell completes commands, flags and
 * values. Each time the user presses Tab, the script runs the hidden command `__complete` (`complete.ts`).
 */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import { didYouMean } from "../../apikey/nearest.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

type Shell = typeof SHELLS[number];

/** Registers the command. */
export function registerCompletions(command: Command, { host, setExitCode }: CommandContext): void {
  command
    .description("Print the completion script for a shell.")
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
    `No completion script for ${quote(typed)}.${didYouMean(typed.toLowerCase(), SHELLS)} Supported shells: ` +
      `${SHELLS.join(", ")}.`,
  );
}

async function completions(shell: Shell | undefined, host: Host): Promise<ExitCode> {
  if (shell === undefined) throw new Failure("USAGE", `Choose a shell: ${SHELLS.join(", ")}.`);
  const { script } = await loadScript(shell);
  await host.stdout.write(script);
  return ExitCode.OK;
}

async function loadScript(shell: Shell): Promise<{ readonly script: string }> {
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
After you install the script, Tab completes:
    commands, flags, files and directories
    --roles        roles; after a comma, the roles that are not in the list yet
    --permissions  RESOURCE:, then the action; after a comma, the next pair
    --name, --id   names and ids of existing keys, but no names for a new key;
                   also names without --name, for example after apikey show
    --profile      the profiles in the config file
Names of keys, and resources that are not built in, come from the server or the
store that the command line, the environment or the profile selects. If it does
not respond within one second, Tab does not offer them. Tab never creates or
deletes anything.

Run the commands for your shell once, and then start a new shell:
  bash        echo 'eval "$(service-api completions bash)"' >> ~/.bashrc
  zsh         echo 'autoload -U compinit && compinit' >> ~/.zshrc
              echo 'eval "$(service-api completions zsh)"' >> ~/.zshrc
  fish        mkdir -p ~/.config/fish/completions
              service-api completions fish \\
                > ~/.config/fish/completions/service-api.fish
  powershell  Add-Content $PROFILE 'service-api completions powershell |
                Out-String | Invoke-Expression'
The script for bash (3.2 or newer) does not need the bash-completion package.
For zsh, you can also write the script to a file named _service-api in a
directory of fpath. The script for PowerShell (5.1 and 7) has not been tested
yet.

Examples:
  # Complete in this shell, until you close it.
  eval "$(service-api completions bash)"
  service-api completions zsh > ~/.zfunc/_service-api
${EXIT_STATUS}`;
