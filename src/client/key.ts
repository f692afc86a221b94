/** Keys as a server returns them. */
import * as z from "zod/mini";

export const KeyReference = z.object({ id: z.string().check(z.minLength(1)), name: z.string() });

export type KeyReference = Readonly<z.infer<typeof KeyReference>>;

/** A key with what distinguishes it from others in a list. */
export interface KeySummary extends KeyReference {
  /** `null` if there is none, or if the server does not report it. */
  readonly description: string | null;
  /** Empty if the server does not report them. */
  readonly roles: readonly string[];
  /** RFC 3339; `null` if the server does not report it. */
  readonly createdAt: string | null;
}
