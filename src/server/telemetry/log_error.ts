/**
 * Logs an error whose details clients must not see.
 *
 * @param message text with `{placeholders}`
 * @param properties the values of the placeholders
 */
export type LogError = (message: string, properties: Record<string, unknown>) => void;
