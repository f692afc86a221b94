/** `--database-url`: which database it selects, and whether the connection uses TLS. */
import { expect } from "expect";
import { parseDatabaseUrl } from "../../../src/cli/settings/database_url.ts";
import { AUTHORITY } from "../../client/certificates.ts";
import { FakeHost } from "../../program/program.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";

type Environment = Readonly<Record<string, string>>;

function parse(value: string, env: Environment = {}): ReturnType<typeof parseDatabaseUrl> {
  return parseDatabaseUrl({ name: "--database-url", value }, new FakeHost([], { env }));
}

const DEFAULTS = {
  host: "localhost",
  port: 5432,
  user: "app",
  password: "",
  database: "app",
  label: "localhost:5432/app",
  tls: undefined,
};

const SOCKET = { host: "/run/postgresql", database: "keys", label: "keys at /run/postgresql" };

/** The variables of libpq, PostgreSQL's client library, and the address that they select. */
const LIBPQ_ENV = { PGHOST: "127.0.0.2", PGPORT: "6543", PGUSER: "lib", PGPASSWORD: "p%41ss", PGDATABASE: "pq" };
const LIBPQ = { host: "127.0.0.2", port: 6543, user: "lib", password: "p%41ss", database: "pq" };

for (
  const [url, env, address] of [
    ["postgres://app@localhost", {}, {}],
    ["postgresql://app@localhost/", {}, {}],
    ["postgres://app@127.0.0.1:6543/keys", {}, {
      host: "127.0.0.1",
      port: 6543,
      database: "keys",
      label: "127.0.0.1:6543/keys",
    }],
    ["postgres://app:p%40%2F%3A%25%3F@localhost", {}, { password: "p@/:%?" }],
    ["postgres://app:p@ss@localhost", {}, { password: "p@ss" }],
    ["postgres://na%3Ame@localhost", {}, { user: "na:me", database: "na:me", label: "localhost:5432/na:me" }],
    ["postgres://app@localhost/da%2Fta%20base", {}, { database: "da/ta base", label: "localhost:5432/da/ta base" }],
    ["postgres://app@[::1]:6543", {}, { host: "::1", port: 6543, label: "[::1]:6543/app" }],
    ["postgres://app@localhost/keys?host=/run/postgresql", {}, SOCKET],
    ["postgres://app@/keys?host=/run/postgresql", {}, SOCKET],
    ["postgres://app@%2Frun%2Fpostgresql/keys", {}, SOCKET],
    ["postgres://app@elsewhere/?host=localhost&host=elsewhere", {}, {}],
    ["postgres://", LIBPQ_ENV, { ...LIBPQ, label: "127.0.0.2:6543/pq" }],
    ["postgres:///keys", LIBPQ_ENV, { ...LIBPQ, database: "keys", label: "127.0.0.2:6543/keys" }],
    ["postgres:///?host=/tmp", LIBPQ_ENV, { ...LIBPQ, host: "/tmp", label: "pq at /tmp" }],
    ["postgres://app:secret@localhost:5433/keys", LIBPQ_ENV, {
      port: 5433,
      password: "secret",
      database: "keys",
      label: "localhost:5433/keys",
    }],
    ["postgres://", { PGUSER: "lib" }, { user: "lib", database: "lib", label: "localhost:5432/lib" }],
    ["postgres://app@/keys", { PGHOST: "/run/postgresql" }, SOCKET],
  ] as const
) {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`).join(" ") || "no variables";
  const selected = { ...DEFAULTS, ...address };

  Deno.test(`${url} with ${variables} selects ${JSON.stringify(selected)}`, async () => {
    expect(await parse(url, env)).toEqual(selected);
  });
}

const VERIFIED = { rejectUnauthorized: true, ca: [AUTHORITY] };

for (
  const [host, parameters, tls] of [
    ["localhost", "", undefined],
    ["[::1]", "", undefined],
    ["localhost", "host=/run/postgresql", undefined],
    ["db.example", "", VERIFIED],
    ["localhost", "host=db.example", VERIFIED],
    ["127.0.0.1.db.example", "", VERIFIED],
    ["db.example", "sslmode=disable", undefined],
    ["db.example", "sslmode=require", { rejectUnauthorized: false, ca: [] }],
    ["db.example", "sslmode=require&sslrootcert=FILE", VERIFIED],
    ["db.example", "sslmode=verify-ca", VERIFIED],
    ["db.example", "sslmode=verify-full&sslrootcert=system", VERIFIED],
    ["localhost", "sslrootcert=FILE", VERIFIED],
    ["localhost", "sslmode=verify-full", VERIFIED],
    ["localhost", "sslmode=disable&sslrootcert=FILE", undefined],
  ] as const
) {
  Deno.test(`the connection to ${host} with ${parameters || "no parameters"} uses ${describe(tls)}`, () =>
    inTemporaryDirectory(async (directory) => {
      const file = `${directory}/ca.pem`;
      await Deno.writeTextFile(file, AUTHORITY);
      const url = `postgres://app@${host}/keys?${parameters.replace("FILE", encodeURIComponent(file))}`;
      expect((await parse(url, { SSL_CERT_FILE: file })).tls).toEqual(tls);
    }));
}

function describe(tls: unknown): string {
  if (tls === undefined) return "no TLS";
  return tls === VERIFIED ? "TLS with a verified certificate" : "TLS with any certificate";
}

for (
  const [what, url, message] of [
    ["an empty URL", "", /^--database-url must be a URL, for example postgres:\/\/user@host:5432\/database\. Write /],
    ["a connection string", "host=localhost password=hidden", /must be a URL/],
    ["another scheme", "mysql://app:hidden@localhost/keys", /must begin with postgres:\/\/ or postgresql:\/\/\. /],
    ["a fragment", "postgres://app@localhost/keys#hidden", /must be a URL/],
    ["an invalid port", "postgres://app@localhost:hidden/keys", /must be a URL/],
    [
      "a URL without a user",
      "postgres://:hidden@localhost/keys",
      /names no user\. Add one to the URL, or set PGUSER\./,
    ],
    [
      "an unknown parameter",
      "postgres://app:hidden@localhost/keys?timeout=3",
      /^--database-url has an unknown parameter "timeout"\. The parameters are host, sslmode and sslrootcert\.$/,
    ],
    ["the password as a parameter", "postgres://app@localhost/keys?password=hidden", /unknown parameter "password"/],
    [
      "an sslmode that uses TLS only if the server supports it",
      "postgres://app:hidden@db.example/keys?sslmode=prefer",
      /^--database-url \(sslmode\) must be disable, require, verify-ca or verify-full, not "prefer"\.$/,
    ],
    ["an sslmode in capitals", "postgres://app:hidden@localhost/keys?sslmode=REQUIRE", /not "REQUIRE"/],
    [
      "a missing file of CA certificates",
      "postgres://app:hidden@localhost/keys?sslrootcert=/nonexistent",
      /\(sslrootcert\): cannot read "\/nonexistent"/,
    ],
    ["an invalid % in the password", "postgres://app:hidden%zz@localhost/keys", /Write % as %25/],
    ["an invalid % in the user", "postgres://ap%p:hidden@localhost/keys", /Write % as %25/],
    ["incomplete UTF-8 in the password", "postgres://app:hidden%e2%82@localhost/keys", /Write % as %25/],
    ["a password with an unencoded /", "postgres://app:12/hidden@localhost/keys", /%2F/],
    ["a password with an unencoded ?", "postgres://app:12?hidden@localhost/keys", /%3F/],
    ["a password with an unencoded #", "postgres://app:12#hidden@localhost/keys", /%23/],
  ] as const
) {
  Deno.test(`${what} is a usage error, and the message names the setting and shows no password`, async () => {
    const result = parse(url);
    await expect(result).rejects.toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
    await expect(result).rejects.not.toThrow(/hidden/);
  });
}

Deno.test("an invalid PGPORT is a usage error", async () => {
  await expect(parse("postgres://app@localhost", { PGPORT: "65536" })).rejects.toMatchObject({
    code: "USAGE",
    message: 'PGPORT must be a whole number from 0 to 65535, not "65536".',
  });
});

Deno.test("the address that messages show never contains the password", async () => {
  const { label } = await parse("postgres://app:hidden@db.example:5433/keys?sslmode=disable", { PGPASSWORD: "hidden" });
  expect(label).toBe("db.example:5433/keys");
});
