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

/** The end of the help page of each command. */
export const EXIT_STATUS = `
Exit status: 0 success, 1 refused or failed, 2 usage error, 3 not authenticated
or not authorized, 4 unreachable, rate limited or not GraphQL, 130 interrupted.`;

/** The end of the program's help page, with the codes of JSON failures. */
export const EXIT_STATUS_WITH_CODES = `
Exit status, and the "code" of a failure with --json:
    0  success
    1  ALREADY_EXISTS      a key or resource with this name already exists
       NOT_FOUND           no key with this name or id, or no such resource
       EXPIRED             the key has expired and cannot be rotated without a
                           new expiry
       UNSUPPORTED         the server does not support what the command needs
       FAILED              refused or failed for any other reason
    2  INVALID_NAME        the name is empty, too long, or contains characters
                           other than letters, digits and spaces
       INVALID_ROLE        unknown role
       INVALID_PERMISSION  unknown resource or action, or not RESOURCE:ACTION
       NO_RIGHTS           neither a role nor a permission is given
       USAGE               any other invalid flag, value or setting, or a value
                           is missing and the command cannot prompt for it
    3  UNAUTHENTICATED     the key is missing, mistyped, unknown, deleted,
                           disabled, expired or rotated
       FORBIDDEN           the key lacks a right; the message names it
    4  UNREACHABLE         no connection, or the key store cannot be used
       TLS                 the certificate is not valid, or the TLS handshake
                           failed
       TIMEOUT             no response within --timeout, or the key store was
                           locked for that long
       BAD_RESPONSE        the response is not GraphQL, is too large, or is a
                           redirect
       RATE_LIMITED        too many requests; the message says how long to wait
  130  INTERRUPTED         Ctrl-C, SIGINT or SIGTERM, or you did not confirm;
                           nothing was changed unless the message says so`;
