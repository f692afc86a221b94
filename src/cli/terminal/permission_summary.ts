/** Summarizes many permissions in one line. */
import { ACTIONS } from "../../apikey/permission.ts";

/** More permissions than this are counted instead of listed. */
const MAX_LISTED = 5;

/**
 * Lists a few permissions, and counts the resources of each action if there are many: for example
 * `29 resources: READ_ANY; 29: UPDATE_ANY`.
 *
 * @param permissions `RESOURCE:ACTION` pairs
 */
export function summarizePermissions(permissions: readonly string[]): string {
  if (permissions.length <= MAX_LISTED) return permissions.join(", ");
  const actionsByResource = new Map<string, readonly string[]>();
  for (const permission of permissions) {
    const [resource = "", action = ""] = permission.split(":");
    actionsByResource.set(resource, [...actionsByResource.get(resource) ?? [], action]);
  }
  const resourcesByActions = new Map<string, readonly string[]>();
  for (const [resource, actions] of actionsByResource) {
    const hasEvery = ACTIONS.every((action) => actions.includes(action));
    for (const action of hasEvery ? ["every action"] : actions) {
      resourcesByActions.set(action, [...resourcesByActions.get(action) ?? [], resource]);
    }
  }
  // Only the first number needs the noun.
  let noun = " resources";
  return [...resourcesByActions].map(([action, resources]) => {
    if (resources.length === 1) return `${resources[0]}: ${action}`;
    const counted = `${resources.length}${noun}: ${action}`;
    noun = "";
    return counted;
  }).join("; ");
}
