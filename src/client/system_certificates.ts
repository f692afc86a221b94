/**
 * Reads the CA certificates that this machine trusts. By default, Deno trusts only Mozilla's list, which does not
 * contain the CA of a company.
 */

/** Where operating systems keep their bundle of CA certificates. The first file that can be read is used, as in Go. */
const BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/**
 * Reads the system's bundle of CA certificates.
 *
 * @param named the value of `SSL_CERT_FILE`; `undefined` if it is not set
 * @param isWindows whether this machine runs Windows, which has no bundle
 * @returns a list that contains the bundle (PEM); an empty list if no bundle can be read
 */
export async function systemCertificates(named: string | undefined, isWindows: boolean): Promise<string[]> {
  // On Windows, these paths are on the current drive, where other users could create them.
  const bundles = isWindows ? [] : BUNDLES;
  const texts = await Promise.all((named === undefined ? bundles : [named]).map(readIfPresent));
  return texts.filter((text) => text !== undefined).slice(0, 1);
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch {
    return undefined;
  }
}
