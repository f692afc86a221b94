/** The section "Guarding a service" of `src/server/README.md`. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { freePort } from "../free_port.ts";
import { installProgram } from "../program/from_sources.ts";
import { sectionOf, textsIn } from "../readme.ts";
import { findProgram, testWith } from "../tools.ts";
import { nginxConfiguration, startProgram } from "./guarded_service.ts";

testWith(
  ["bash", "curl", "nginx"],
  'the commands under "Guarding a service" let only keys with ORDERS:READ_ANY reach the service, and the gate says why it refuses a mistyped resource, and logs no address that a client forged',
  async () => {
    const home = await Deno.makeTempDir({ prefix: "service-api-guide-" });
    await using service = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
    const [gatePort, proxyPort] = [freePort(), freePort()];
    const adapt = (text: string): string =>
      text.replaceAll("4000", String(gatePort))
        .replaceAll("8080", String(proxyPort))
        .replaceAll("3000", String(service.addr.port))
        .replaceAll("/etc/nginx", `${home}/nginx`);
    await Promise.all(
      ["bin", "nginx/conf.d"].map((path) => Deno.mkdir(`${home}/${path}`, { recursive: true })),
    );
    await installProgram(`${home}/bin/service-api`);
    await Deno.writeTextFile(`${home}/nginx/nginx.conf`, nginxConfiguration("conf.d/*.conf"));
    const options = ["-p", home, "-c", `${home}/nginx/nginx.conf`, "-e", `${home}/error.log`];
    const nginx = findProgram("nginx") ?? "nginx";
    await Deno.writeTextFile(`${home}/bin/nginx`, `#!/bin/sh\nexec ${nginx} ${options.join(" ")} "$@"\n`, {
      mode: 0o755,
    });
    const isReady = (): Promise<boolean> =>
      Deno.readTextFile(`${home}/nginx.pid`).then((pid) => pid !== "", () => false);
    const running = await startProgram(nginx, options, home, isReady);
    try {
      const section = sectionOf("Guarding a service");
      const [guide = "", ...others] = textsIn(section, "sh");
      expect(others).toEqual([]);
      const [configuration = ""] = textsIn(section, "nginx");
      await Deno.writeTextFile(`${home}/nginx/conf.d/orders.conf`, adapt(configuration));
      const [, mistake = "", reason = ""] = /^\$ (.*)\n([^]*)$/.exec(textsIn(section, "text").join()) ?? [];
      const forged = "203.0.113.9";
      const request = `curl -sS -o forged.html -H 'X-Forwarded-For: ${forged}' http://127.0.0.1:8080/orders`;
      const script = guide.replace("kill $!", `${mistake}\n${request}\nkill $!`);
      const { code, stdout } = await execute("bash", ["-euc", adapt(script)], {
        cwd: home,
        env: { PATH: `${home}/bin:${Deno.env.get("PATH")}`, HOME: home },
        clearEnv: true,
      });
      // curl reports each retry on standard error.
      const expected = `Added the resource ORDERS\nthe orders for shop\n403\n${reason.trimEnd()}\n`;
      expect({ code, stdout }).toEqual({ code: 0, stdout: expected });
      expect(await Deno.readTextFile(`${home}/serve.log`)).not.toContain(forged);
    } finally {
      await running.stop();
      await Deno.remove(home, { recursive: true });
    }
  },
);

function answer({ headers }: Request): Response {
  return new Response(`the orders for ${headers.get("x-api-key-name")}\n`);
}
