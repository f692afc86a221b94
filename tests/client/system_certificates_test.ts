/** Which files the client reads CA certificates from. */
import { expect } from "expect";
import { systemCertificates } from "../../src/client/system_certificates.ts";

Deno.test("on Windows the system's CA certificates come only from SSL_CERT_FILE, because any user can create /etc/ssl there", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "PEM");
    expect(await systemCertificates(path, true)).toEqual(["PEM"]);
    expect(await systemCertificates(path, false)).toEqual(["PEM"]);
    expect(await systemCertificates(undefined, true)).toEqual([]);
  } finally {
    await Deno.remove(path);
  }
});
