/** A key as the client returns it. */
import type { ApiKey } from "../../src/client/client.ts";

/** An enabled key without rights, of which the server reports nothing else. */
export const PLAIN_KEY: ApiKey = {
  id: "key_1",
  name: "ci",
  description: null,
  roles: [],
  permissions: [],
  enabled: true,
  createdAt: null,
  createdBy: null,
  managedBy: null,
  updatedAt: null,
  lastUsedAt: null,
  expiresAt: null,
  graceUntil: null,
  revision: 1,
};
