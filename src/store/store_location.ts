/** Where the keys are stored: a local directory or a PostgreSQL database. */
import type { DatabaseAddress } from "./postgres_database.ts";

export type StoreLocation =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "database"; readonly address: DatabaseAddress };
