/** The exit statuses of the program. */
import type { FailureCode } from "../apikey/failure.ts";

export const ExitCode = {
  /** Done. */
  OK: 0,
  /** Refused or failed. */
  FAILED: 1,
  /** A bad flag or value, or a question that would need a terminal when there is none. */
  USAGE: 2,
  /** Not authenticated, or not permitted. */
  DENIED: 3,
  /** The server could not be reached or did not answer in GraphQL. */
  UNREACHABLE: 4,
  /** Ctrl-C. */
  INTERRUPTED: 130,
} as const;

export type ExitCode = typeof ExitCode[keyof typeof ExitCode];

/** The exit status that goes with each failure. */
export const EXIT_CODES: Readonly<Record<FailureCode, ExitCode>> = {
  INVALID_NAME: ExitCode.USAGE,
  ALREADY_EXISTS: ExitCode.FAILED,
  NO_RIGHTS: ExitCode.USAGE,
  INVALID_ROLE: ExitCode.USAGE,
  INVALID_PERMISSION: ExitCode.USAGE,
  USAGE: ExitCode.USAGE,
  UNAUTHENTICATED: ExitCode.DENIED,
  FORBIDDEN: ExitCode.DENIED,
  UNREACHABLE: ExitCode.UNREACHABLE,
  TLS: ExitCode.UNREACHABLE,
  TIMEOUT: ExitCode.UNREACHABLE,
  BAD_RESPONSE: ExitCode.UNREACHABLE,
  FAILED: ExitCode.FAILED,
  INTERRUPTED: ExitCode.INTERRUPTED,
};

/** The same, at the end of every help. */
export const EXIT_STATUS = `
Exit status: 0 done, 1 refused or failed, 2 usage, 3 not authenticated or not
permitted, 4 server unreachable or not GraphQL, 130 interrupted.`;
