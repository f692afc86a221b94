/** How the PostgreSQL store adds, finds and removes keys, and how it is opened. */
import { testKeys } from "../../key_store_contract.ts";
import { testOpening } from "../../opening_contract.ts";
import { testContracts } from "./engine.ts";

await testContracts(testKeys, testOpening);
