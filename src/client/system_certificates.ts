/** The CA certificates that this machine trusts. Deno trusts only Mozilla's list, which lacks a company's own CA. */

/** Where systems keep their bundle. The first one that exists is used, as in OpenSSL, Go and curl. */
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
 * @param named the value of `SSL_CERT_FILE`, if it is set
 * @param isWindows whether this machine runs Windows, which has no bundle
 * @returns PEM texts; empty if the system has no bundle
 */
export async function systemCertificates(named: string | undefined, isWindows: boolean): Promise<string[]> {
  // On Windows, these paths are on the current drive, where any user may create them.
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
