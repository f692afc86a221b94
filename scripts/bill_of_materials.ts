/** What is in the executables, and under which licences: packages by their code in the bundles, and the runtime. */
import { Contrib, Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import { PackageURL } from "packageurl-js";
import parseSpdx from "spdx-expression-parse";
import deno from "../deno.json" with { type: "json" };
import { PROJECT } from "./bundle.ts";
import type { BundledPackage } from "./bundle_contents.ts";
import type { Commit } from "./commit.ts";

const licenses = new Contrib.License.Factories.LicenseFactory(parseSpdx);
const builder = new Contrib.FromNodePackageJson.Builders.ComponentBuilder(
  new Contrib.FromNodePackageJson.Factories.ExternalReferenceFactory(),
  licenses,
);

/**
 * A CycloneDX 1.6 document in JSON.
 *
 * @param packages those whose code is in the bundles
 * @param runtime the version of Deno that the executables run on
 */
export async function billOfMaterials(
  packages: readonly BundledPackage[],
  runtime: string,
  commit: Commit | undefined,
): Promise<string> {
  const program = new Models.Component(Enums.ComponentType.Application, "service-api", {
    bomRef: `service-api@${deno.version}`,
    version: deno.version,
    licenses: new Models.LicenseRepository([licenses.makeFromString(deno.license)]),
  });
  const platform = new Models.Component(Enums.ComponentType.Platform, "deno", {
    bomRef: `deno@${runtime}`,
    version: runtime,
    description: "The runtime that the executables are made of, V8 and SQLite among it",
    licenses: new Models.LicenseRepository([licenses.makeFromString("MIT")]),
    purl: new PackageURL("github", "denoland", "deno", `v${runtime}`, undefined, undefined).toString(),
  });
  const { npm: locked }: Lock = JSON.parse(await Deno.readTextFile(`${PROJECT}/deno.lock`));
  const components = [platform, ...await Promise.all(packages.map((found) => componentOf(found, locked)))];
  for (const { bomRef } of components) program.dependencies.add(bomRef);
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ component: program, ...(commit && { timestamp: commit.time }) }),
    components: new Models.ComponentRepository(components),
  });
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  const serialize = (): string => `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
  // The action that attests a release takes no list without.
  bom.serialNumber = await serialNumberOf(serialize());
  return serialize();
}

/** A UUID of version 8 (RFC 9562): the same contents have the same. */
async function serialNumberOf(contents: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(contents));
  const hex = new Uint8Array(digest).toHex();
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(12, 15)}`, `a${hex.slice(15, 18)}`];
  return `urn:uuid:${groups.join("-")}-${hex.slice(18, 30)}`;
}

/** The part of `deno.lock` that is used here, by `name@version`, and `_` with the versions of its peers if it has any. */
interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

async function componentOf(
  { name, version, directory }: BundledPackage,
  locked: Lock["npm"],
): Promise<Models.Component> {
  const component = builder.makeComponent(await readPackage(directory), Enums.ComponentType.Library);
  const [group, bare] = name.startsWith("@") ? name.split("/") : [undefined, name];
  if (component === undefined || bare === undefined) throw new Error(`${directory} has no good package.json`);
  const id = `${name}@${version}`;
  const [, { integrity } = {}] = Object.entries(locked).find(([key]) => key === id || key.startsWith(`${id}_`)) ?? [];
  if (integrity === undefined) throw new Error(`${id} is bundled and not in deno.lock`);
  component.bomRef.value = id;
  component.purl = new PackageURL("npm", group, bare, version, undefined, undefined).toString();
  const digest = Uint8Array.fromBase64(integrity.replace(/^sha512-/, ""));
  component.hashes.set(Enums.HashAlgorithm["SHA-512"], digest.toHex());
  return component;
}

async function readPackage(directory: string): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(`${directory}/package.json`));
}

/** The licences of the packages, as they want to be handed on, in one text. */
export async function licenceTexts(packages: readonly BundledPackage[], runtime: string): Promise<string> {
  const texts = await Promise.all(
    packages.map(async ({ name, version, directory }) =>
      `${name} ${version}\n\n${(await readLicence(directory)).trim()}\n`
    ),
  );
  return [
    "The executable contains what follows, besides the program itself.\n",
    `Deno ${runtime}, with V8, SQLite and what else it is made of. Copyright the Deno authors, MIT License:\n` +
    `https://github.com/denoland/deno/blob/v${runtime}/LICENSE.md\n`,
    ...texts,
  ].join(`\n${"-".repeat(80)}\n\n`);
}

/** A few packages name a licence and have no file with it. */
async function readLicence(directory: string): Promise<string> {
  for await (const { name } of Deno.readDir(directory)) {
    if (/^licen[cs]e/i.test(name)) return await Deno.readTextFile(`${directory}/${name}`);
  }
  const { license, author } = await readPackage(directory);
  return `${license} License, by ${typeof author === "string" ? author : Deno.inspect(author)}`;
}
