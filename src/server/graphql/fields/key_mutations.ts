/** The mutations of keys. */
import { GraphQLBoolean } from "graphql";
import type { Role } from "../../../apikey/role.ts";
import { RULES } from "../../auth/authorization.ts";
import { createKey, type CreateKeyInput } from "../../keys/create_key.ts";
import { deleteKeys } from "../../keys/delete_keys.ts";
import { recordRefusal } from "../../keys/refusal_audit.ts";
import { rotateKey, type RotateKeyInput, targetOf } from "../../keys/rotate_key.ts";
import {
  addRole as addRoleTo,
  removeRole as removeRoleFrom,
  updateKey,
  type UpdateKeyInput,
} from "../../keys/update_key.ts";
import { apiKey } from "../types/api_key.ts";
import {
  addRoleForApiKeyInput,
  createApiKeyInput,
  deleteApiKeyInput,
  removeRoleFromApiKeyInput,
  rotateApiKeyInput,
  updateApiKeyInput,
} from "../types/inputs.ts";
import { required } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

const { ApiKeyMutations } = RULES;

interface CreateArguments {
  readonly input: CreateKeyInput;
}

export const create = authorized<CreateArguments>(ApiKeyMutations.create, {
  type: required(apiKey),
  description:
    "Creates a key. With overwrite, the new key replaces the key with the same name. The caller can grant only " +
    "rights that it has. To replace a key, the caller needs the permission to delete it.",
  args: { input: { type: required(createApiKeyInput) } },
  resolve: ({ input }, context) => createKey(input, context),
  onForbidden: ({ input }, error, context) => recordRefusal("CREATE", input, error, context),
});

interface UpdateArguments {
  readonly input: UpdateKeyInput;
}

export const update = authorized<UpdateArguments>(ApiKeyMutations.update, {
  type: required(apiKey),
  description:
    "Changes a key. Roles and permissions replace those of the key. The caller can grant only rights that it has: the " +
    "rights that the update adds or, to enable the key or to extend its life, all rights of the key.",
  args: { input: { type: required(updateApiKeyInput) } },
  resolve: async ({ input }, context) => ({ key: await updateKey(input, context) }),
  onForbidden: ({ input }, error, context) => recordRefusal("UPDATE", { id: input.id }, error, context),
});

interface RoleArguments {
  readonly input: { readonly apiKeyId: string; readonly role: Role };
}

export const addRole = authorized<RoleArguments>(ApiKeyMutations.addRole, {
  type: required(GraphQLBoolean),
  description: "Gives a key one more role and returns true. The caller can grant only rights that it has.",
  args: { input: { type: required(addRoleForApiKeyInput) } },
  resolve: ({ input: { apiKeyId, role } }, context) => addRoleTo(apiKeyId, role, context).then(() => true),
  onForbidden: ({ input }, error, context) => recordRefusal("UPDATE", { id: input.apiKeyId }, error, context),
});

export const removeRole = authorized<RoleArguments>(ApiKeyMutations.removeRole, {
  type: required(GraphQLBoolean),
  description: "Takes a role from a key and returns true.",
  args: { input: { type: required(removeRoleFromApiKeyInput) } },
  resolve: ({ input: { apiKeyId, role } }, context) => removeRoleFrom(apiKeyId, role, context).then(() => true),
  onForbidden: ({ input }, error, context) => recordRefusal("UPDATE", { id: input.apiKeyId }, error, context),
});

interface RotateArguments {
  readonly input: RotateKeyInput;
}

export const rotate = authorized<RotateArguments>(ApiKeyMutations.rotate, {
  type: required(apiKey),
  description:
    "Gives a key a new secret. Its id, name and rights stay the same. The caller needs every right of the key.",
  args: { input: { type: required(rotateApiKeyInput) } },
  resolve: ({ input }, context) => rotateKey(input, context),
  onForbidden: ({ input }, error, context) => recordRefusal("ROTATE", targetOf(input), error, context),
});

interface DeleteArguments {
  readonly input: { readonly ids: readonly string[] };
}

export const remove = authorized<DeleteArguments>(ApiKeyMutations.delete, {
  type: required(GraphQLBoolean),
  description:
    "Deletes all of the keys and returns true. If one of them does not exist, deletes none and returns false.",
  args: { input: { type: required(deleteApiKeyInput) } },
  resolve: ({ input }, context) => deleteKeys(input.ids, context),
  onForbidden: ({ input }, error, context) => recordRefusal("DELETE", { id: input.ids[0] }, error, context),
});

export const refusesTakenNames = authorized(ApiKeyMutations.refusesTakenNames, {
  type: required(GraphQLBoolean),
  description: "Always true: create rejects a name that is in use, unless overwrite is set. A server without this " +
    "field may return the existing key instead.",
  resolve: () => true,
});
