/** Asks for permissions as `RESOURCE:ACTION` pairs, in plain lines. */
import { Failure } from "../../../apikey/failure.ts";
import { ACTIONS, parsePermissionsOf, type Permission } from "../../../apikey/permission.ts";
import type { PermissionsOptions } from "../options.ts";
import type { Screen } from "../run_prompt.ts";
import { ask, type Reply, writeLines } from "./line.ts";

/** What the user types to list the resources and actions. */
const LIST_ALL = "?";

const NONE = "none";

/**
 * Asks for permissions, as `--permissions` accepts them. Accepts none only if the key has a role.
 *
 * @returns the permissions in the order of `resources` and `ACTIONS`
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function askForPermissions(options: PermissionsOptions, screen: Screen): Promise<readonly Permission[]> {
  const { label, resources, roles, byRoles, initial = [], canGoBack } = options;
  const canBeEmpty = roles.length > 0;
  const onEnter = initial.length > 0
    ? [`Enter keeps ${formatPermissions(initial, resources)}`, ...(canBeEmpty ? [`${NONE} removes them`] : [])]
    : canBeEmpty
    ? ["Enter for none"]
    : [];
  if (byRoles !== undefined && byRoles.size > 0) {
    const subject = roles.length === 1 ? "The role grants" : "The roles grant";
    await writeLines(`${subject} ${formatPermissions([...byRoles], resources)}.`, screen);
  }
  return await ask({
    label,
    hints: [
      "RESOURCE:ACTION pairs separated by commas, for example DOCKER:READ_ANY,VMS:*",
      `${LIST_ALL} lists the resources and actions`,
      ...onEnter,
    ],
    canGoBack,
    read: (answer) => {
      const typed = answer.trim();
      if (typed === LIST_ALL) return { again: listNames(resources) };
      if (typed === "" && initial.length > 0) return { value: initial };
      const isNone = typed === "" || typed.toLowerCase() === NONE;
      if (!isNone) return parse(typed, resources);
      return canBeEmpty ? { value: [] } : { again: "Type at least one permission: the key has no role." };
    },
  }, screen);
}

function parse(typed: string, resources: readonly string[]): Reply<readonly Permission[]> {
  const [first, ...others] = resources;
  if (first === undefined) throw new TypeError("a server has at least one resource");
  try {
    const permissions = new Set<Permission>(
      parsePermissionsOf({ names: [first, ...others], every: resources }, [typed]),
    );
    return { value: allPermissions(resources).filter((permission) => permissions.has(permission)) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { again: error.message.replace(/ To list the resources.*$/, ` To list the resources, type ${LIST_ALL}.`) };
  }
}

function allPermissions(resources: readonly string[]): readonly Permission[] {
  return resources.flatMap((resource) => ACTIONS.map((action): Permission => `${resource}:${action}`));
}

function listNames(resources: readonly string[]): string {
  return ["Resources:", `  ${resources.join(", ")}`, "Actions:", `  ${ACTIONS.join(", ")}`].join("\n");
}

/** Lists permissions as the user would type them: with `*` in place of all resources or all actions. */
function formatPermissions(permissions: readonly string[], resources: readonly string[]): string {
  const held = new Set(permissions);
  const onAll = ACTIONS.filter((action) => resources.every((resource) => held.has(`${resource}:${action}`)));
  if (onAll.length === ACTIONS.length) return "*:*";
  const rest = resources.flatMap((resource) => {
    const actions = ACTIONS.filter((action) => held.has(`${resource}:${action}`));
    if (actions.length === ACTIONS.length) return [`${resource}:*`];
    return actions.filter((action) => !onAll.includes(action)).map((action) => `${resource}:${action}`);
  });
  return [...onAll.map((action) => `*:${action}`), ...rest].join(", ");
}
