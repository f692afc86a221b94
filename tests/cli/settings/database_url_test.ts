/** `--database-url`: which database is meant, and how the connection to it is secured. */
import { expect } from "expect";
import { parseDatabaseUrl } from "../../../src/cli/settings/database_url.ts";
import { AUTHORITY } from "../../client/certificates.ts";
import { FakeHost } from "../../program/program.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";

type Environment = Readonly<Record<string, string>>;

function parse(value: string, env: Environment = {}): ReturnType<typeof parseDatabaseUrl> {
  return parseDatabaseUrl({ name: "--database-url", value }, new FakeHost([], { env }));
}

/** What is in force when nothing else is said. */
const DEFAULTS = { host: "localhost", port: 5432, user: "app", password: "", database: "app", tls: undefined };

for (
  const [url, address] of [
    ["postgres://app@localhost", { label: "localhost:5432/app" }],
    ["postgresql://app@localhost", { label: "localhost:5432/app" }],
    ["postgres://app@localhost/", { label: "localhost:5432/app" }],
    ["postgres://app@127.0.0.1:6543/keys", {
      host: "127.0.0.1",
      port: 6543,
      database: "keys",
      label: "127.0.0.1:6543/keys",
    }],
    ["postgres://app:secret@localhost/keys", { password: "secret", database: "keys", label: "localhost:5432/keys" }],
    ["postgres://app:p%40%2F%3A%25%3F@localhost", { password: "p@/:%?", label: "localhost:5432/app" }],
    ["postgres://app:p@ss@localhost", { password: "p@ss", label: "localhost:5432/app" }],
    ["postgres://na%3Ame@localhost", { user: "na:me", database: "na:me", label: "localhost:5432/na:me" }],
    ["postgres://app@localhost/da%2Fta%20base", { database: "da/ta base", label: "localhost:5432/da/ta base" }],
    ["postgres://app@[::1]:6543/keys", { host: "::1", port: 6543, database: "keys", label: "[::1]:6543/keys" }],
    ["postgres://app@[::1]", { host: "::1", label: "[::1]:5432/app" }],
    ["postgres://app@localhost/keys?host=/run/postgresql", {
      host: "/run/postgresql",
      database: "keys",
      label: "keys at /run/postgresql",
    }],
    ["postgres://app@/keys?host=/run/postgresql", {
      host: "/run/postgresql",
      database: "keys",
      label: "keys at /run/postgresql",
    }],
    ["postgres://app@%2Frun%2Fpostgresql/keys", {
      host: "/run/postgresql",
      database: "keys",
      label: "keys at /run/postgresql",
    }],
  ] as const
) {
  Deno.test(`${url} is ${JSON.stringify(address)}`, async () => {
    expect(await parse(url)).toEqual({ ...DEFAULTS, ...address });
  });
}

const LIBPQ = { PGHOST: "127.0.0.2", PGPORT: "6543", PGUSER: "lib", PGPASSWORD: "p%41ss", PGDATABASE: "pq" };

for (
  const [url, env, address] of [
    ["postgres://", LIBPQ, {
      host: "127.0.0.2",
      port: 6543,
      user: "lib",
      password: "p%41ss",
      database: "pq",
      label: "127.0.0.2:6543/pq",
    }],
    ["postgres:///keys", LIBPQ, {
      host: "127.0.0.2",
      port: 6543,
      user: "lib",
      password: "p%41ss",
      database: "keys",
      label: "127.0.0.2:6543/keys",
    }],
    ["postgres://app:secret@localhost:5433/keys", LIBPQ, {
      port: 5433,
      password: "secret",
      database: "keys",
      label: "localhost:5433/keys",
    }],
    ["postgres://", { PGUSER: "lib" }, { user: "lib", database: "lib", label: "localhost:5432/lib" }],
    ["postgres://app@/keys", { PGHOST: "127.0.0.2" }, {
      host: "127.0.0.2",
      database: "keys",
      label: "127.0.0.2:5432/keys",
    }],
    ["postgres://", { PGUSER: "lib", PGHOST: "/run/postgresql" }, {
      host: "/run/postgresql",
      user: "lib",
      database: "lib",
      label: "lib at /run/postgresql",
    }],
    [
      "postgres://app@elsewhere:5433/keys?host=127.0.0.1",
      {},
      { host: "127.0.0.1", port: 5433, database: "keys", label: "127.0.0.1:5433/keys" },
    ],
    ["postgres:///?host=/tmp", LIBPQ, {
      host: "/tmp",
      port: 6543,
      user: "lib",
      password: "p%41ss",
      database: "pq",
      label: "pq at /tmp",
    }],
  ] as const
) {
  Deno.test(`${url} with ${Object.keys(env).join(", ")} is ${JSON.stringify(address)}`, async () => {
    expect(await parse(url, env)).toEqual({ ...DEFAULTS, ...address });
  });
}

const VERIFIED = { rejectUnauthorized: true, ca: [AUTHORITY] };

for (
  const [where, parameters, tls] of [
    ["localhost", "", undefined],
    ["127.0.0.1", "", undefined],
    ["[::1]", "", undefined],
    ["localhost", "host=/run/postgresql", undefined],
    ["db.example", "", VERIFIED],
    ["localhost", "host=db.example", VERIFIED],
    ["127.0.0.1.db.example", "", VERIFIED],
    ["db.example", "sslmode=disable", undefined],
    ["db.example", "sslmode=require", { rejectUnauthorized: false, ca: [] }],
    ["db.example", "sslmode=require&sslrootcert=FILE", VERIFIED],
    ["db.example", "sslmode=verify-ca", VERIFIED],
    ["db.example", "sslmode=verify-full", VERIFIED],
    ["db.example", "sslmode=verify-full&sslrootcert=system", VERIFIED],
    ["db.example", "sslrootcert=FILE", VERIFIED],
    ["localhost", "sslrootcert=FILE", VERIFIED],
    ["localhost", "sslmode=verify-full", VERIFIED],
    ["localhost", "sslmode=disable&sslrootcert=FILE", undefined],
  ] as const
) {
  Deno.test(`the connection to ${where} with ${parameters || "no parameter"} is ${secured(tls)}`, () =>
    inTemporaryDirectory(async (directory) => {
      const file = `${directory}/authority.pem`;
      await Deno.writeTextFile(file, AUTHORITY);
      const url = `postgres://app@${where}/keys?${parameters.replace("FILE", encodeURIComponent(file))}`;
      expect((await parse(url, { SSL_CERT_FILE: file })).tls).toEqual(tls);
    }));
}

function secured(tls: unknown): string {
  if (tls === undefined) return "in clear";
  return tls === VERIFIED ? "secured, and its certificate verified" : "secured, whatever its certificate";
}

for (
  const [what, url, message] of [
    ["nothing", "", /takes a URL such as postgres:\/\/user@host:5432\/database/],
    ["no URL", "host=localhost password=hidden", /takes a URL/],
    ["another scheme", "mysql://app:hidden@localhost/keys", /takes a URL/],
    ["a scheme alone", "postgres:app:hidden", /takes a URL|name a user/],
    ["a fragment", "postgres://app@localhost/keys#hidden", /takes a URL/],
    ["a port that is none", "postgres://app@localhost:hidden/keys", /takes a URL/],
    ["a port beyond 65535", "postgres://app:hidden@localhost:65536/keys", /takes a URL/],
    ["nobody", "postgres://localhost/keys", /has to name a user, or PGUSER/],
    ["a password but nobody", "postgres://:hidden@localhost/keys", /has to name a user, or PGUSER/],
    [
      "a parameter that there is none of",
      "postgres://app:hidden@localhost/keys?timeout=3",
      /there is no parameter "timeout"; the parameters are host, sslmode, sslrootcert/,
    ],
    [
      "the password as a parameter",
      "postgres://app@localhost/keys?password=hidden",
      /there is no parameter "password"/,
    ],
    [
      "a sslmode that there is none of",
      "postgres://app:hidden@localhost/keys?sslmode=allow",
      /sslmode is disable, require, verify-ca or verify-full, and not "allow"/,
    ],
    ["a sslmode that may end in clear", "postgres://app:hidden@db.example/keys?sslmode=prefer", /and not "prefer"/],
    ["a sslmode in capitals", "postgres://app:hidden@localhost/keys?sslmode=REQUIRE", /and not "REQUIRE"/],
    [
      "authorities that are not there",
      "postgres://app:hidden@localhost/keys?sslrootcert=/nonexistent",
      /\(sslrootcert\): cannot read "\/nonexistent"/,
    ],
    ["a % that stands for nothing in the password", "postgres://app:hidden%zz@localhost/keys", /write % as %25/],
    ["a % that stands for nothing in the user", "postgres://ap%p:hidden@localhost/keys", /write % as %25/],
    ["half a character", "postgres://app:hidden%e2%82@localhost/keys", /write % as %25/],
    ["a password with a / that is not written as %2F", "postgres://app:12/hidden@localhost/keys", /%2F/],
    ["a password with a ? that is not written as %3F", "postgres://app:12?hidden@localhost/keys", /%3F/],
    ["a password with a # that is not written as %23", "postgres://app:12#hidden@localhost/keys", /%23/],
    ["a password with a / that begins with letters", "postgres://app:hidden/hidden@localhost/keys", /takes a URL/],
  ] as const
) {
  Deno.test(`${what} is a usage error that names the setting and shows no password`, async () => {
    for (const env of [{}, { PGUSER: "lib" }]) {
      if ("PGUSER" in env && /user/.test(message.source)) continue;
      const refusal = expect(parse(url, env)).rejects;
      // deno-lint-ignore no-await-in-loop -- two of them
      await refusal.toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
      // deno-lint-ignore no-await-in-loop -- two of them
      await expect(parse(url, env)).rejects.toThrow(/^--database-url/);
      // deno-lint-ignore no-await-in-loop -- two of them
      await expect(parse(url, env)).rejects.not.toThrow(/hidden/);
    }
  });
}

for (const port of ["abc", "65536", "-1", "1.5", "54 32"]) {
  Deno.test(`PGPORT=${port} is a usage error`, async () => {
    await expect(parse("postgres://app@localhost", { PGPORT: port })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("PGPORT"),
    });
  });
}

Deno.test("the label, which messages show, never has the password in it", async () => {
  const { label } = await parse("postgres://app:hidden@db.example:5433/keys?sslmode=disable", { PGPASSWORD: "hidden" });
  expect(label).toBe("db.example:5433/keys");
});
