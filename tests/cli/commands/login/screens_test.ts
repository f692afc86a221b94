/** What `login` looks like: a new profile, another server, keys that the server rejects, and the role ADMIN. */
import { KEYS } from "../../../program/screen.ts";
import { type Show, testPictures } from "../../../program/snapshots.ts";
import { configHome } from "../../config_file/config_home.ts";
import { Wizard } from "../apikey/screens/wizard.ts";

/** What the server reports about a key, besides its id and its name. */
interface Rights {
  readonly roles: readonly string[];
  readonly permissions: readonly { readonly resource: string; readonly actions: readonly string[] }[];
  readonly expiresAt: string | null;
}

const CI: Rights = {
  roles: ["VIEWER"],
  permissions: ["DOCKER", "VMS"].map((resource) => ({ resource, actions: ["CREATE_ANY", "UPDATE_ANY"] })),
  expiresAt: "2026-03-05T00:00:00Z",
};

const ADMIN: Rights = { roles: ["ADMIN"], permissions: [], expiresAt: null };

/** Stands for a server that accepts every key except `wrong`. */
function serverWith(rights: Rights): typeof fetch {
  return (...args) => {
    const { headers } = new Request(...args);
    const isKnown = ![headers.get("authorization"), headers.get("x-api-key")].some((key) => key?.endsWith("wrong"));
    const errors = [{ message: "The key is not valid.", extensions: { code: "UNAUTHENTICATED" } }];
    const me = { id: "key_0wdOQ87OYBJGzACCo6H9ZJ", name: "ci deploy", rights: [], ...rights };
    const body = JSON.stringify(isKnown ? { data: { me } } : { errors });
    const responseHeaders = { "content-type": "application/json", "content-length": `${body.length}` };
    return Promise.resolve(new Response(body, { status: isKnown ? 200 : 401, headers: responseHeaders }));
  };
}

/** Runs `login` with the profile "prod" of a home directory that has this profile. */
function dialog(args: readonly string[], rights: Rights, act: (wizard: Wizard) => Promise<void>): Show {
  return async (window, see) => {
    await using home = await configHome(
      "profiles:\n  prod:\n    base-url: https://keys.example.com\n    key-file: prod.key\n",
    );
    await Deno.writeTextFile(`${home.directory}/prod.key`, "secret\n", { mode: 0o600 });
    await using wizard = new Wizard(["login", ...args], { home: home.home, fetch: serverWith(rights) }, window, see);
    await act(wizard);
  };
}

testPictures(new URL("screens.txt", import.meta.url), "the login", {
  "to a new profile": dialog(["--profile", "staging"], CI, async (wizard) => {
    await wizard.see("the server");
    await wizard.type("keys.staging.internal:4000");
    await wizard.see("the key");
    await wizard.typeSecret("secret");
    await wizard.seeEnd("the result");
  }),
  "to another server": dialog([], CI, async (wizard) => {
    await wizard.see("the server");
    await wizard.answer([KEYS.ctrlU, ..."https://new.example.com", KEYS.enter], "https://new.example.com");
    await wizard.see("the key of the profile");
    await wizard.decide("y");
    await wizard.seeEnd("the result");
  }),
  "with wrong keys": dialog([], CI, async (wizard) => {
    await wizard.enter();
    await wizard.see("the key");
    await wizard.typeSecret("wrong");
    await wizard.typeSecret("wrong");
    await wizard.see("after two keys");
    await wizard.typeSecret("wrong");
    await wizard.seeEnd("the result");
  }),
  "with the role ADMIN": dialog(["--base-url", "https://keys.example.com"], ADMIN, async (wizard) => {
    await wizard.see("the key");
    await wizard.enter();
    await wizard.seeEnd("the result");
  }),
});
