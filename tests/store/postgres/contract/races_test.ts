/** What several PostgreSQL stores and processes do at the same time. */
import { testRaces } from "../../race_contract.ts";
import { testContracts } from "./engine.ts";

await testContracts(testRaces);
