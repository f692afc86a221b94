/**
 * The authorities that this machine trusts. Deno itself trusts Mozilla's list alone, which does not know a
 * company's own authority.
 */

/** Where systems keep their bundle; the first one found is taken, as OpenSSL, Go and curl do. */
const BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/**
 * Reads the system's bundle of certificates.
 *
 * @param named the file that `SSL_CERT_FILE` names, if any
 * @returns PEM texts; none where the system has no such file
 */
export async function systemCertificates(named: string | undefined): Promise<string[]> {
  const texts = await Promise.all((named === undefined ? BUNDLES : [named]).map(readIfThere));
  return texts.filter((text) => text !== undefined).slice(0, 1);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch {
    return undefined;
  }
}
