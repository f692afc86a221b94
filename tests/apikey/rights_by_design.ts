/** The correct resources, actions, roles and rights, written independently of `src/`. Tests compare `src/` with this file. */

/** Spec section 2, "Permission resources". */
export const SPEC_RESOURCES =
  ("ACTIVATION_CODE, API_KEY, ARRAY, CLOUD, CONFIG, CONNECT, CONNECT__REMOTE_ACCESS, CUSTOMIZATIONS, DASHBOARD, " +
    "DISK, DISPLAY, DOCKER, FLASH, INFO, LOGS, ME, NETWORK, NOTIFICATIONS, ONLINE, OS, OWNER, PERMISSION, " +
    "REGISTRATION, SERVERS, SERVICES, SHARE, VARS, VMS, WELCOME").split(", ");

/** Spec section 2, "Permission actions". */
export const SPEC_ACTIONS = "CREATE_ANY, CREATE_OWN, READ_ANY, READ_OWN, UPDATE_ANY, UPDATE_OWN, DELETE_ANY, DELETE_OWN"
  .split(", ");

/** Spec section 2, "Roles". */
export const SPEC_ROLES = ["ADMIN", "CONNECT", "VIEWER", "GUEST"];

/** The rights that a role grants, including each `_OWN` right that an `_ANY` right includes. */
function rightsOfRole(role: string): readonly string[] {
  switch (role) {
    case "ADMIN":
      return SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));
    case "VIEWER":
      return SPEC_RESOURCES.flatMap((resource) => [`${resource}:READ_ANY`, `${resource}:READ_OWN`]);
    case "CONNECT":
      return SPEC_ACTIONS.flatMap((action) => [`CONNECT:${action}`, `CONNECT__REMOTE_ACCESS:${action}`]);
    case "GUEST":
      return ["ME:READ_OWN"];
    default:
      throw new Error(`unknown role: ${role}`);
  }
}

/** The rights that a key with these roles and permissions must have. */
export function rightsByDesign(roles: readonly string[], permissions: readonly string[]): ReadonlySet<string> {
  const rights = new Set(roles.flatMap(rightsOfRole));
  for (const permission of permissions) {
    rights.add(permission);
    if (permission.endsWith("_ANY")) rights.add(`${permission.slice(0, -"_ANY".length)}_OWN`);
  }
  return rights;
}
