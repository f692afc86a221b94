/** Parses the permissions that the configuration of a proxy requires. */
import { Failure, quote } from "../../apikey/failure.ts";
import { type KnownResources, parsePermissionsOf, type Permission } from "../../apikey/permission.ts";
import { setBounded } from "../auth/bounded_map.ts";

/** How many results are remembered. If there are more, the oldest is removed. */
const MAX_RESULTS = 1000;

/** The NEEDS in a path that require only a valid key. */
const ANY = "any";

/** `/verify/NEEDS`, at the beginning of a path. The path and the query of the client follow. */
const PATH_WITH_NEEDS = /^\/verify\/([^/?]*)/;

/**
 * Returns the permissions that a request to `/verify` requires: those of the path `/verify/NEEDS/…` or, if the path is
 * `/verify`, of the parameters `can`. A path with NEEDS is followed by the path and the query of the client, which are
 * ignored. The path is not decoded.
 *
 * @param url the path, which begins with `/verify`, and the query
 * @param names the resources of the server
 * @throws {Failure} `INVALID_PERMISSION` if an item is not a `RESOURCE:ACTION` pair of this server, or if the query of
 *   `/verify` has a parameter other than `can`
 */
type NeedsParser = (url: string, names: KnownResources["names"]) => readonly Permission[];

/** Creates a parser that remembers its results. The configuration of a proxy has only a few different NEEDS. */
export function createNeedsParser(): NeedsParser {
  const results = new Map<string, readonly Permission[]>();
  let resultsFor: KnownResources["names"] | undefined;
  return (url, names) => {
    if (names !== resultsFor) results.clear();
    resultsFor = names;
    const [ownPart, needs] = PATH_WITH_NEEDS.exec(url) ?? [url];
    const known = results.get(ownPart);
    if (known !== undefined) return known;
    const lists = needs === undefined ? listsIn(new URLSearchParams(url.slice("/verify?".length))) : [needs];
    const permissions = needs === ANY ? [] : parsePermissions(lists, names);
    setBounded(results, ownPart, permissions, MAX_RESULTS);
    return permissions;
  };
}

/** Rejects every parameter other than `can`: a misspelt `can` would let every valid key pass. */
function listsIn(query: URLSearchParams): readonly string[] {
  const other = [...query.keys()].find((name) => name !== "can");
  if (other === undefined) return query.getAll("can");
  throw new Failure("INVALID_PERMISSION", `Write can=RESOURCE:ACTION. The parameter ${quote(other)} is not allowed.`);
}

function parsePermissions(lists: readonly string[], names: KnownResources["names"]): readonly Permission[] {
  for (const list of lists) {
    if (list.trim() === "") {
      throw new Failure("INVALID_PERMISSION", "A required permission is empty. Write RESOURCE:ACTION.");
    }
    // A key would need every right that the wildcard stands for, which is not what `*` means to most people.
    if (list.includes("*")) {
      throw new Failure("INVALID_PERMISSION", "A required permission cannot contain *. Write each RESOURCE:ACTION.");
    }
  }
  return parsePermissionsOf({ names, every: undefined }, lists);
}
