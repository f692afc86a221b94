/** The certificate and private key that `serve` shows its clients. */
import { Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import { readSettingFile } from "../../settings/setting.ts";

export interface TlsFiles {
  /** PEM: the certificate first, then those that lead to its authority. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/**
 * Reads both files and checks that they belong together: a server would find out with its first client.
 *
 * @returns `undefined` when neither is given
 * @throws {Failure} `USAGE`
 */
export async function readTlsFiles(
  certPath: string | undefined,
  keyPath: string | undefined,
): Promise<TlsFiles | undefined> {
  if (certPath === undefined && keyPath === undefined) return undefined;
  if (certPath === undefined || keyPath === undefined) {
    throw new Failure("USAGE", "--tls-cert and --tls-key go together: give both.");
  }
  const [cert, key] = await Promise.all([
    readSettingFile(certPath, "--tls-cert"),
    readSettingFile(keyPath, "--tls-key"),
  ]);
  const { createPrivateKey, X509Certificate } = await import("node:crypto");
  const certificate = parsePem("--tls-cert", certPath, "certificate", () => new X509Certificate(cert));
  const privateKey = parsePem("--tls-key", keyPath, "private key", () => createPrivateKey(key));
  if (certificate.checkPrivateKey(privateKey)) return { cert, key };
  throw new Failure("USAGE", `The key in ${quote(keyPath)} is not that of the certificate in ${quote(certPath)}.`);
}

function parsePem<Result>(flag: string, path: string, what: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    throw new Failure("USAGE", `${flag}: there is no PEM ${what} in ${quote(path)}: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}
