/** The exit statuses of the program. */
import type { FailureCode } from "../apikey/failure.ts";

export const ExitCode = {
  /** Success. */
  OK: 0,
  /** Refused or failed. */
  FAILED: 1,
  /** An invalid flag, value or setting, or a value is missing and the command cannot prompt for it. */
  USAGE: 2,
  /** Not authenticated or not authorized. */
  DENIED: 3,
  /** The server could not be reached, its response is not GraphQL, or it limits the rate of requests. */
  UNREACHABLE: 4,
  /** Interrupted by Ctrl-C, SIGINT or SIGTERM, or the user did not confirm. */
  INTERRUPTED: 130,
} as const;

export type ExitCode = typeof ExitCode[keyof typeof ExitCode];

/** The exit status of each failure. */
export const EXIT_CODES: Readonly<Record<FailureCode, ExitCode>> = {
  INVALID_NAME: ExitCode.USAGE,
  ALREADY_EXISTS: ExitCode.FAILED,
  NOT_FOUND: ExitCode.FAILED,
  EXPIRED: ExitCode.FAILED,
  UNSUPPORTED: ExitCode.FAILED,
  NO_RIGHTS: ExitCode.USAGE,
  INVALID_ROLE: ExitCode.USAGE,
  INVALID_PERMISSION: ExitCode.USAGE,
  USAGE: ExitCode.USAGE,
  UNAUTHENTICATED: ExitCode.DENIED,
  FORBIDDEN: ExitCode.DENIED,
  RATE_LIMITED: ExitCode.UNREACHABLE,
  UNREACHABLE: ExitCode.UNREACHABLE,
  TLS: ExitCode.UNREACHABLE,
  TIMEOUT: ExitCode.UNREACHABLE,
  BAD_RESPONSE: ExitCode.UNREACHABLE,
  FAILED: ExitCode.FAILED,
  INTERRUPTED: ExitCode.INTERRUPTED,
};

/** The end of each help page. The topic `exit-codes` has the details. */
export const EXIT_STATUS = `
Exit status: 0 success, 1 refused or failed, 2 usage error, 3 not authenticated
or not authorized, 4 unreachable, rate limited or not GraphQL, 130 interrupted.`;
