/** Sequences of questions in which the user can go back. */
import { expect } from "expect";
import { GoBack } from "../../../src/cli/prompts/options.ts";
import { runSteps } from "../../../src/cli/prompts/steps.ts";

Deno.test("going back repeats the last question before it, and skips steps that had nothing to ask", async () => {
  const calls: string[] = [];
  let isBack = true;
  await runSteps([
    (canGoBack) => Promise.resolve(void calls.push(`name ${canGoBack}`)),
    () => {
      calls.push("description");
      return Promise.resolve(false);
    },
    (canGoBack) => {
      calls.push(`roles ${canGoBack}`);
      if (!isBack) return Promise.resolve();
      isBack = false;
      return Promise.reject(new GoBack());
    },
  ]);
  expect(calls).toEqual(["name false", "description", "roles true", "name false", "description", "roles true"]);
});

Deno.test("the first question that is asked cannot go back, even if steps before it had nothing to ask", async () => {
  const calls: boolean[] = [];
  await runSteps([() => Promise.resolve(false), (canGoBack) => Promise.resolve(void calls.push(canGoBack))]);
  expect(calls).toEqual([false]);
});

Deno.test("a failed step ends the questions", async () => {
  await expect(runSteps([() => Promise.reject(new Error("failed"))])).rejects.toThrow("failed");
});

Deno.test("with canGoBack, the first question can go back too, and the caller receives that", async () => {
  const calls: boolean[] = [];
  const ask = (canGoBack: boolean): Promise<void> => {
    calls.push(canGoBack);
    return Promise.reject(new GoBack());
  };
  await expect(runSteps([() => Promise.resolve(false), ask], { canGoBack: true })).rejects.toThrow(GoBack);
  expect(calls).toEqual([true]);
});
