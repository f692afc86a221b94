/** The section "Container" of the README: its commands, and its files for Compose and Kubernetes. */
import { parse } from "yaml";
import { sectionOf, textsIn } from "../readme.ts";

const SECTION = sectionOf("Container");

export const [BUILD = "", RUN = ""] = textsIn(SECTION, "sh");

export interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly secrets: readonly string[];
  readonly volumes: readonly string[];
}

interface Compose {
  readonly services: { readonly keys: Service; readonly revoke: Service };
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

interface Named {
  readonly name: string;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface ServeContainer {
  readonly args: readonly string[];
  readonly env: readonly (Named & { readonly value: string })[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly (Named & { readonly mountPath: string; readonly readOnly: boolean })[];
  readonly securityContext: unknown;
}

interface Pod {
  readonly securityContext: {
    readonly runAsNonRoot: boolean;
    readonly runAsUser: number;
    readonly runAsGroup: number;
    readonly fsGroup: number;
  };
  readonly containers: readonly [ServeContainer];
  readonly volumes: readonly [Named & { readonly secret: { readonly defaultMode: number } }];
}

interface Deployment {
  readonly spec: {
    readonly selector: { readonly matchLabels: unknown };
    readonly template: { readonly metadata: { readonly labels: unknown }; readonly spec: Pod };
  };
}

const [compose = "", kubernetes = ""] = textsIn(SECTION, "yaml");

export const COMPOSE: Compose = parse(compose);

/** In the version of YAML that Kubernetes has: 0440 is octal. */
export const DEPLOYMENT: Deployment = parse(kubernetes, { version: "1.1" });
