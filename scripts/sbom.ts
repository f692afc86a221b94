/** The SBOM and the licence texts of the executables: the packages in the bundles, and the Deno runtime. */
import deno from "../deno.json" with { type: "json" };
import { PROJECT } from "./bundle.ts";
import type { BundledPackage } from "./bundle_contents.ts";
import type { NpmProgram } from "./runtime_base.ts";

/** The fields of a package's `package.json` that the SBOM uses. */
interface Manifest {
  readonly description?: string;
  /** An SPDX expression. */
  readonly license: string;
}

/** The field of `deno.lock` that the SBOM uses. A key is `name@version`. `_` and peer dependencies may follow. */
interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

/** A CycloneDX component. */
interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly expression: string }[];
  /** A package URL. */
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/**
 * The SBOM as a CycloneDX 1.6 document in JSON. The same arguments give the same document.
 *
 * @param packages the packages in the bundles
 * @param runtime the version of Deno in the executables
 * @param programs the packages on npm whose programs contain the runtime bases; empty for bases from Deno's download
 * @param time the time of the commit
 * @throws {Error} if a package is not in deno.lock
 */
export async function createSbom(
  packages: readonly BundledPackage[],
  runtime: string,
  programs: readonly NpmProgram[],
  time: Date,
): Promise<string> {
  const { npm }: Lock = JSON.parse(await Deno.readTextFile(`${PROJECT}/deno.lock`));
  const program = `service-api@${deno.version}`;
  const components: readonly Component[] = [
    {
      type: "platform",
      "bom-ref": `deno@${runtime}`,
      name: "deno",
      version: runtime,
      description: "The runtime in the executables, with V8 and SQLite",
      licenses: [{ expression: "MIT" }],
      purl: `pkg:github/denoland/deno@v${runtime}`,
      ...programs.length === 0 ? {} : {
        properties: programs.map(({ spec, sha256 }) => ({
          name: "service-api:runtime-base",
          value: `taken from the npm package ${spec}, sha256:${sha256}`,
        })),
      },
    },
    ...await Promise.all(packages.map((found) => componentOf(found, npm))),
  ];
  const contents = {
    metadata: {
      timestamp: time.toISOString(),
      component: {
        type: "application",
        "bom-ref": program,
        name: "service-api",
        version: deno.version,
        licenses: [{ expression: deno.license }],
      },
    },
    components,
    dependencies: [{ ref: program, dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    // actions/attest rejects SBOMs without a serial number.
    serialNumber: await serialNumberOf(contents),
    version: 1,
    ...contents,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

async function componentOf({ name, version, directory }: BundledPackage, locked: Lock["npm"]): Promise<Component> {
  const id = `${name}@${version}`;
  const [, { integrity } = {}] = Object.entries(locked).find(([key]) => key === id || key.startsWith(`${id}_`)) ?? [];
  if (integrity === undefined) throw new Error(`${id} is bundled but not in deno.lock`);
  const { description, license }: Manifest = JSON.parse(await Deno.readTextFile(`${directory}/package.json`));
  const [, group, bare = name] = /^(@.*)\/(.*)$/.exec(name) ?? [];
  return {
    type: "library",
    "bom-ref": id,
    ...(group && { group }),
    name: bare,
    version,
    ...(description && { description }),
    hashes: [{ alg: "SHA-512", content: Uint8Array.fromBase64(integrity.replace(/^sha512-/, "")).toHex() }],
    licenses: [{ expression: license }],
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  };
}

/** A UUID of version 8 (RFC 9562), derived from the contents. */
async function serialNumberOf(contents: object): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(contents)));
  const hex = new Uint8Array(digest).toHex();
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(12, 15)}`, `a${hex.slice(15, 18)}`];
  return `urn:uuid:${groups.join("-")}-${hex.slice(18, 30)}`;
}

/** The licence texts of the packages and the runtime. The licences require us to distribute them. */
export async function formatLicences(packages: readonly BundledPackage[], runtime: string): Promise<string> {
  const [mit = ""] = /Permission is hereby granted.*/s.exec(await Deno.readTextFile(`${PROJECT}/LICENSE`)) ?? [];
  const texts = await Promise.all(
    packages.map(async ({ name, version, directory }) =>
      `${name} ${version}\n\n${(await readLicence(directory)).trim()}\n`
    ),
  );
  return [
    "The executable contains the following third-party software.\n",
    `Deno ${runtime}\n\nMIT License\n\nCopyright the Deno authors\n\n${mit.trim()}\n\nDeno contains V8, SQLite and other software with ` +
    `licences of their own. The source code of Deno: https://github.com/denoland/deno/tree/v${runtime}\n`,
    ...texts,
  ].join(`\n${"-".repeat(80)}\n\n`);
}

/**
 * Reads the licence of a package from its licence file or, if it has none, from its README.
 *
 * @throws {Error} if neither contains the licence
 */
async function readLicence(directory: string): Promise<string> {
  const names = await Array.fromAsync(Deno.readDir(directory), ({ name }) => name);
  const file = names.find((name) => /^licen[cs]e/i.test(name));
  if (file !== undefined) return await Deno.readTextFile(`${directory}/${file}`);
  const readme = names.find((name) => /^readme/i.test(name));
  const text = readme === undefined ? "" : await Deno.readTextFile(`${directory}/${readme}`);
  const [, section] = /^#+ *licen[cs]e\n(.*)/ims.exec(text) ?? [];
  if (section === undefined) {
    throw new Error(`${directory} has neither a licence file nor a licence section in its README`);
  }
  return section;
}
