/** How the PostgreSQL store updates keys, and keeps resources. */
import { testResources } from "../../resource_contract.ts";
import { testUpdates } from "../../update_contract.ts";
import { testContracts } from "./engine.ts";

await testContracts(testResources, testUpdates);
