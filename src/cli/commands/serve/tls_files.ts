/** The TLS certificate and private key of `serve`. */
import { Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import { readSettingFile } from "../../settings/setting.ts";

export interface TlsFiles {
  /** PEM: the certificate, followed by its intermediate certificates. */
  readonly cert: string;
  /** PEM: the private key of the certificate. */
  readonly key: string;
}

/**
 * Reads both files and checks that they match. Without this check, `serve` would start, but no client could connect.
 *
 * @returns `undefined` if neither path is given
 * @throws {Failure} `USAGE`
 */
export async function readTlsFiles(
  certPath: string | undefined,
  keyPath: string | undefined,
): Promise<TlsFiles | undefined> {
  if (certPath === undefined && keyPath === undefined) return undefined;
  if (certPath === undefined || keyPath === undefined) {
    throw new Failure("USAGE", "Use --tls-cert and --tls-key together.");
  }
  const [cert, key] = await Promise.all([
    readSettingFile(certPath, "--tls-cert"),
    readSettingFile(keyPath, "--tls-key"),
  ]);
  const { createPrivateKey, X509Certificate } = await import("node:crypto");
  const certificate = parsePem("--tls-cert", certPath, "certificate", () => new X509Certificate(cert));
  const privateKey = parsePem("--tls-key", keyPath, "private key", () => createPrivateKey(key));
  if (certificate.checkPrivateKey(privateKey)) return { cert, key };
  throw new Failure("USAGE", `The key in ${quote(keyPath)} does not match the certificate in ${quote(certPath)}.`);
}

function parsePem<Result>(flag: string, path: string, content: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    throw new Failure("USAGE", `${flag}: ${quote(path)} contains no PEM ${content}: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}
