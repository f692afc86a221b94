/** Where the platform wants programs to keep their files. */
import type { Host } from "../host/host.ts";

/** For each kind: the variable of Windows, that of the XDG base directories, and what stands in for that. */
const VARIABLES = {
  config: ["APPDATA", "XDG_CONFIG_HOME", ".config"],
  data: ["LOCALAPPDATA", "XDG_DATA_HOME", ".local/share"],
} as const;

/** The program's directory for config or for data; `undefined` where there is no home for one. */
export function platformDirectory(kind: keyof typeof VARIABLES, host: Host): string | undefined {
  const [ofWindows, ofXdg, fallback] = VARIABLES[kind];
  if (host.platform === "windows") return below(host.env(ofWindows), "\\service-api");
  const home = host.env("HOME");
  if (host.platform === "darwin") return below(home, "/Library/Application Support/service-api");
  const xdg = host.env(ofXdg);
  return below(xdg?.startsWith("/") ? xdg : below(home, `/${fallback}`), "/service-api");
}

function below(directory: string | undefined, path: string): string | undefined {
  return directory && `${directory}${path}`;
}
