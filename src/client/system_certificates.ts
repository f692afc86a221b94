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
 * Reads the system's certificates: from `bundle` if it is given, else from the system's own store where the
 * runtime can, else from the usual files.
 *
 * @param bundle the file that `SSL_CERT_FILE` names
 * @returns PEM texts; none where the system has none
 */
export async function systemCertificates(bundle?: string): Promise<readonly string[]> {
  const tls: object = await import("node:tls");
  if (bundle === undefined && "getCACertificates" in tls && typeof tls.getCACertificates === "function") {
    const certificates: unknown = tls.getCACertificates("system");
    if (Array.isArray(certificates)) return certificates.map(String);
  }
  const texts = await Promise.all((bundle === undefined ? BUNDLES : [bundle]).map(readIfThere));
  const found = texts.find((text) => text !== undefined);
  return found === undefined ? [] : [found];
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch {
    return undefined;
  }
}
