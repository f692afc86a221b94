/** The directories in which the platform expects programs to keep their files. */
import type { Host } from "../host/host.ts";

/** For each kind: the variable on Windows, the XDG variable, and the XDG default below the home directory. */
const VARIABLES = {
  config: ["APPDATA", "XDG_CONFIG_HOME", ".config"],
  data: ["LOCALAPPDATA", "XDG_DATA_HOME", ".local/share"],
} as const;

/** The program's directory for its config or its data; `undefined` if the environment does not say where it is. */
export function platformDirectory(kind: keyof typeof VARIABLES, host: Host): string | undefined {
  const [windowsVariable, xdgVariable, xdgDefault] = VARIABLES[kind];
  if (host.platform === "windows") return join(host.env(windowsVariable), "\\service-api");
  const home = host.env("HOME");
  if (host.platform === "darwin") return join(home, "/Library/Application Support/service-api");
  const xdg = host.env(xdgVariable);
  return join(xdg?.startsWith("/") ? xdg : join(home, `/${xdgDefault}`), "/service-api");
}

function join(directory: string | undefined, path: string): string | undefined {
  return directory && `${directory}${path}`;
}
