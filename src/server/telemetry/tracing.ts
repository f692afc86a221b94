/**
 * Opens spans for operations of the store and measures how long the operations take. Uses Deno's built-in OpenTelemetry.
 * Deno itself creates the spans and metrics of HTTP requests.
 */

/** Runs `act` in a span and records its duration. */
export type Trace = <Result>(name: string, act: () => Promise<Result>) => Promise<Result>;

/** The parts of the OpenTelemetry API that this module uses. */
interface Span {
  setAttribute(name: string, value: string): void;
  end(): void;
}

interface Tracer {
  startActiveSpan<Result>(name: string, act: (span: Span) => Result): Result;
}

interface Histogram {
  record(value: number, attributes: Readonly<Record<string, string>>): void;
}

interface Providers {
  readonly tracerProvider: { getTracer(name: string): Tracer };
  readonly meterProvider: {
    getMeter(name: string): { createHistogram(name: string, options: object): Histogram };
  };
}

/** Returns `undefined` if OpenTelemetry is off. Creating a meter then throws. */
export function openTelemetry(): Trace | undefined {
  try {
    return createTrace(Deno.telemetry);
  } catch {
    return undefined;
  }
}

function createTrace({ tracerProvider, meterProvider }: Providers): Trace {
  const tracer = tracerProvider.getTracer("service-api");
  const durations = meterProvider.getMeter("service-api").createHistogram("service_api.store.duration", {
    description: "Duration of look-ups and changes in the store",
    unit: "s",
  });
  return (name, act) =>
    tracer.startActiveSpan(name, async (span) => {
      const start = performance.now();
      let outcome = "ok";
      try {
        return await act();
      } catch (error) {
        outcome = error instanceof Error && "code" in error ? String(error.code) : "error";
        throw error;
      } finally {
        const attributes = { "service_api.operation": name, "service_api.outcome": outcome };
        for (const [key, value] of Object.entries(attributes)) span.setAttribute(key, value);
        span.end();
        durations.record((performance.now() - start) / 1000, attributes);
      }
    });
}
