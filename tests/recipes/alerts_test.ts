/** `alerts.yaml`: alert rules for Prometheus. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { testWith } from "../tools.ts";
import { RECIPES } from "./workspace.ts";

const ALERTS = `${RECIPES}/metrics/alerts.yaml`;

testWith(["promtool"], "promtool accepts the three alert rules", async () => {
  const { code, stdout } = await execute("promtool", ["check", "rules", "--lint=all", "--lint-fatal", ALERTS]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("3 rules found")]);
});

/** A series of values, one per interval, in the notation of promtool: `1+2x3` is 1, 3, 5, 7. */
type Series = Readonly<Record<string, string>>;

/** Runs the rules on series. Returns the report of promtool about the alerts that do not fire as expected. */
async function checkAlert(
  alert: string,
  series: Series,
  firing: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>,
  interval = "1m",
): Promise<string> {
  let report = "";
  await inTemporaryDirectory(async (directory) => {
    const test = {
      evaluation_interval: interval,
      rule_files: [await Deno.realPath(ALERTS)],
      tests: [{
        interval,
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: Object.entries(firing).map(([time, alerts]) => ({
          eval_time: time,
          alertname: alert,
          exp_alerts: alerts.map(({ summary, description, ...labels }) => ({
            exp_labels: labels,
            exp_annotations: { summary, description },
          })),
        })),
      }],
    };
    // JSON is YAML.
    await Deno.writeTextFile(`${directory}/test.yaml`, JSON.stringify(test));
    const { stdout, stderr } = await execute("promtool", ["test", "rules", `${directory}/test.yaml`]);
    report = `${stdout}${stderr}`.replaceAll(directory, "");
  });
  return report;
}

const PASSED = expect.stringMatching(/^Unit Testing: +\/test\.yaml\n +SUCCESS\n*$/);

const EXPIRES_SOON = {
  severity: "warning",
  job: "service-api",
  description: 'List the keys with "service-api apikey list --expiring 7d", then rotate or extend them.',
};

testWith(
  ["promtool"],
  "ServiceApiKeyExpiresSoon fires once for all servers from 7 days before the expiry on",
  async () => {
    const series = (instance: string): string =>
      `service_api_next_key_expiry_seconds{job="service-api",instance="${instance}"}`;
    const values = `${7 * 86_400 + 600}-60x60`;
    expect(
      await checkAlert("ServiceApiKeyExpiresSoon", { [series("a")]: values, [series("b")]: values }, {
        "15m": [],
        "16m": [{ ...EXPIRES_SOON, summary: "An API key expires in 6d 23h 54m 0s" }],
      }),
    ).toEqual(PASSED);
  },
);

testWith(["promtool"], "ServiceApiKeyExpiresSoon does not fire if no key expires", async () => {
  const series = { 'service_api_store_up{job="service-api",instance="a"}': "1x60" };
  expect(await checkAlert("ServiceApiKeyExpiresSoon", series, { "60m": [] })).toEqual(PASSED);
});

testWith(
  ["promtool"],
  "ServiceApiRefusalsRise fires if refusals rise, but not at a steady or very low rate",
  async () => {
    const series = (outcome: string): string =>
      `service_api_verifications_total{job="service-api",instance="a",outcome="${outcome}"}`;
    // For a day, 60 refusals in 5 minutes (0.2 per second), then 300 (1 per second).
    const rising = { [series("unknown")]: "0+60x288 17580+300x12", [series("valid")]: "0+3000x300" };
    expect(
      await checkAlert("ServiceApiRefusalsRise", rising, {
        "1440m": [],
        "1475m": [{
          severity: "warning",
          job: "service-api",
          summary: "The gate refuses 1.0 requests per second, 3 times as many as in the last day",
          description:
            'The label "outcome" of service_api_verifications_total says why. The access log says from where.',
        }],
      }, "5m"),
    ).toEqual(PASSED);
    const low = { [series("unknown")]: "0x288 0+25x12", [series("valid")]: "0+300x288 86400+30000x12" };
    expect(await checkAlert("ServiceApiRefusalsRise", low, { "1475m": [] }, "5m")).toEqual(PASSED);
  },
);

testWith(
  ["promtool"],
  "ServiceApiStoreUnavailable fires if the store or the server does not respond for a minute",
  async () => {
    const labels = (instance: string): string => `{job="service-api",instance="${instance}"}`;
    const series = {
      [`up${labels("a")}`]: "1x10",
      [`service_api_store_up${labels("a")}`]: "1x4 0x6",
      [`up${labels("b")}`]: "1x4 0x6",
      [`service_api_store_up${labels("b")}`]: "1x4 stale",
      [`up${labels("c")}`]: "1x10",
      [`service_api_store_up${labels("c")}`]: "1x10",
    };
    const alert = (instance: string): Readonly<Record<string, string>> => ({
      severity: "critical",
      job: "service-api",
      instance,
      summary: `The server on ${instance} or its store does not respond`,
      description: "Without its store, the server answers requests with 503, and its log has the reason.",
    });
    expect(await checkAlert("ServiceApiStoreUnavailable", series, { "5m": [], "6m": [alert("a"), alert("b")] }))
      .toEqual(PASSED);
  },
);
