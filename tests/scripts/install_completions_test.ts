/** Checks that bash, zsh and fish find the completions that install.sh installs. */
import { expect } from "expect";
import { script as bash } from "../../src/cli/completions/bash.ts";
import { script as fish } from "../../src/cli/completions/fish.ts";
import { script as zsh } from "../../src/cli/completions/zsh.ts";
import { execute } from "../execute.ts";
import { testWith } from "../tools.ts";
import { openMachine } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

/** Stands in for the executable. This stand-in completes every word with `--create`. */
const EXECUTABLE = "case $1 in __complete) printf '%s\\n' --create :space ;; *) echo service-api 1.2.3 ;; esac";

const { files } = await makeRelease({
  ...archived(EXECUTABLE),
  "completions/service-api.bash": bash,
  "completions/_service-api": zsh,
  "completions/service-api.fish": fish,
});

/** For each shell, commands that succeed only if the shell finds the installed completions. */
const FINDS = {
  bash: ". /usr/share/bash-completion/bash_completion; _completion_loader service-api; " +
    "[[ $(complete -p service-api) != *_minimal* ]]",
  zsh: "fpath=(~/.local/share/zsh/site-functions $fpath) && autoload -U compinit && compinit -D -u && " +
    '[[ "$_comps[service-api]" == _service-api ]] && autoload +X _service-api',
  fish: "complete --do-complete 'service-api apikey --crea' | string match --quiet -- '--create*'",
};

const hasBashCompletion = await Deno.stat("/usr/share/bash-completion/bash_completion").then(() => true, () => false);

for (const [shell, script] of Object.entries(FINDS)) {
  const needs = [shell, "curl", "tar", "gzip", ...shell === "bash" && !hasBashCompletion ? ["bash-completion"] : []];
  testWith(needs, `install.sh installs completions that ${shell} finds`, async () => {
    await using server = serveRelease(files);
    await using machine = await openMachine();
    const env = { HOME: machine.home, PATH: `${machine.home}/.local/bin:${Deno.env.get("PATH")}` };
    const find = (): ReturnType<typeof execute> => execute("env", [shell, "-c", script], { env, clearEnv: true });
    expect(await find()).not.toMatchObject({ code: 0 });
    await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } });
    expect(await find()).toMatchObject({ code: 0 });
  });
}
