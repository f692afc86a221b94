/** `kubernetes.yaml`: a Deployment and a Service. */
import { expect } from "expect";
import { parseAllDocuments } from "yaml";
import { startServe } from "../program/installations.ts";
import { testWith } from "../tools.ts";
import { openWorkspace, RECIPES } from "./workspace.ts";

const TEXT = await Deno.readTextFile(`${RECIPES}/server/kubernetes.yaml`);
const [DEPLOYMENT = "", SERVICE = ""] = TEXT.split(/^---$/m);
// Kubernetes reads YAML 1.1, in which 0440 is octal.
const [deployment, service, ...others] = parseAllDocuments(TEXT, { version: "1.1" }).map((document) => document.toJS());
const pod = deployment.spec.template.spec;
const [container] = pod.containers;

Deno.test("the Deployment and the Service refer only to labels, ports and volumes that the manifest defines", () => {
  expect(others).toEqual([]);
  const { labels } = deployment.spec.template.metadata;
  expect([deployment.spec.selector.matchLabels, service.spec.selector]).toEqual([labels, labels]);
  expect(container.ports).toEqual([{ name: "http", containerPort: 4000 }]);
  expect([
    service.spec.ports[0].targetPort,
    container.livenessProbe.httpGet.port,
    container.readinessProbe.httpGet.port,
  ])
    .toEqual(["http", "http", "http"]);
  const [{ name, mountPath }] = container.volumeMounts;
  expect(pod.volumes).toEqual([{ name, secret: { secretName: "service-api", defaultMode: 0o440 } }]);
  expect(container.env).toEqual([{ name: "SERVICE_API_CONFIG", value: `${mountPath}/config.yaml` }]);
});

Deno.test("the container runs without root, capabilities or a writable root file system", () => {
  expect(pod).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
  });
  expect(container.securityContext).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
});

testWith(
  ["sh"],
  "the container's command serves the store that the config file names, and answers the probes",
  async () => {
    await using workspace = await openWorkspace();
    await workspace.write("config.yaml", "profiles:\n  default:\n    data-dir: data\n", 0o600);
    await workspace.run(["service-api", "apikey", "--create", "--name", "first", "--roles", "GUEST", "--json"], {
      env: { SERVICE_API_URL: "", SERVICE_API_KEY_FILE: "", SERVICE_API_CONFIG: `${workspace.directory}/config.yaml` },
      printsSecret: true,
    });
    expect(container.args).toEqual(["serve", "--host", "0.0.0.0", "--allow-http"]);
    const args = container.args.map((word: string) => word === "0.0.0.0" ? "127.0.0.1" : word);
    const server = await startServe(`${workspace.directory}/bin/service-api`, [...args, "--port", "0"], {
      PATH: workspace.env["PATH"] ?? "",
      SERVICE_API_CONFIG: `${workspace.directory}/config.yaml`,
    });
    for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
      // deno-lint-ignore no-await-in-loop -- there are only two probes
      const answer = await fetch(new URL(httpGet.path, server.url));
      // deno-lint-ignore no-await-in-loop -- as above
      expect([answer.status, await answer.text()]).toEqual([200, "ok\n"]);
    }
    expect(await server.stop()).toBe(0);
  },
);

testWith(["kubectl"], "kubectl knows every field of the manifest", async () => {
  await using workspace = await openWorkspace();
  await workspace.write("deployment.yaml", DEPLOYMENT);
  await workspace.write("service.yaml", SERVICE);
  // With --local, kubectl decodes an object and prints it without a cluster. It drops unknown fields.
  const decode = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout, stderr } = await workspace.run(["kubectl", "set", ...args, "--local", "--output", "json"]);
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  };
  expect(await decode("resources", "--filename=deployment.yaml", "--limits=cpu=1")).toMatchObject(deployment);
  expect(await decode("selector", "--filename=service.yaml", "app=service-api")).toMatchObject(service);
});
