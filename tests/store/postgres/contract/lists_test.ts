/** The pages of keys and the audit trail of the PostgreSQL store. */
import { testAuditTrail } from "../../audit_trail_contract.ts";
import { testPages } from "../../page_contract.ts";
import { testContracts } from "./engine.ts";

await testContracts(testAuditTrail, testPages);
