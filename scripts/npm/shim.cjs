#!/usr/bin/env node
/**
 * The command `service-api` of the npm package: starts the executable of the platform package.
 *
 * If Node has `process.execve` (22.15, 23.11 and later, on Linux and macOS), the executable replaces this process.
 * Otherwise, this process waits for the executable, forwards signals to it (except on Windows), and exits with
 * the same status or signal.
 * If the executable cannot be started, this process exits with 127.
 */
// deno-lint-ignore-file explicit-function-return-type -- npm packages contain JavaScript, which has no types
"use strict";
const { accessSync, constants, existsSync } = require("node:fs");
const process = require("node:process");

const PLATFORM = `${process.platform}-${process.arch}`;
const PACKAGE = `@service-api/${PLATFORM}`;

/** The dynamic loader of the executable. Systems with musl do not have it. */
const LOADER = { "linux-x64": "/lib64/ld-linux-x86-64.so.2", "linux-arm64": "/lib/ld-linux-aarch64.so.1" }[PLATFORM];

/** @returns {string | undefined} the path of the executable; `undefined` if the platform package is not installed */
function findExecutable() {
  try {
    return require.resolve(`${PACKAGE}/bin/service-api${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
}

/** @returns {string} why there is no executable that can run here, and what to do */
function explain() {
  const { optionalDependencies, version } = require("../package.json");
  const supported = Object.keys(optionalDependencies).map((name) => name.replace("@service-api/", ""));
  if (!supported.includes(PLATFORM)) {
    if (PLATFORM === "win32-arm64") {
      return "There is no executable for Windows on ARM64, but Windows can run x64 programs. Install Node for x64, then " +
        "install service-api again.";
    }
    return `There is no executable for ${PLATFORM}. Use one of these platforms: ${supported.join(", ")}.`;
  }
  if (process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime === undefined) {
    return "The executable needs glibc, but this system has musl. Use a system with glibc. In a container, use an " +
      "image with glibc, for example node:24-slim instead of node:24-alpine.";
  }
  if (LOADER !== undefined && !existsSync(LOADER)) return `The executable needs ${LOADER}, which does not exist.`;
  return `The package ${PACKAGE}, which contains the executable, is not installed, because the installation omitted optional ` +
    "dependencies or ran on another platform. Delete node_modules and package-lock.json if they are from another " +
    `platform. Then install again. With npm: npm install --include=optional service-api@${version}`;
}

/** @param {string} message */
function fail(message) {
  console.error(`service-api: ${message}`);
  process.exitCode = 127;
}

/** @param {string} executable */
function replaceThisProcess(executable) {
  // If the executable cannot be started, Node before 26 crashes instead of throwing an error.
  accessSync(executable, constants.X_OK);
  process.execve(executable, [executable, ...process.argv.slice(2)], process.env);
}

/** @param {string} executable */
function runAsChild(executable) {
  const { spawn } = require("node:child_process");
  const { isatty } = require("node:tty");
  const { constants: { signals } } = require("node:os");
  const windows = process.platform === "win32";
  const atTerminal = [0, 1, 2].some((stream) => isatty(stream));
  const forward = (signal) => {
    // A terminal sends Ctrl-C to the executable too. A second SIGINT would make it stop at once.
    if (!windows && !(signal === "SIGINT" && atTerminal)) child.kill(signal);
  };
  const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"];
  // Adds the handlers before the executable starts. Without them, a signal would end this process but not the
  // executable.
  for (const signal of forwarded) process.on(signal, forward);
  const child = spawn(executable, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", ({ message }) => fail(`Could not start the executable: ${message}. Install service-api again.`));
  child.on("exit", (code, signal) => {
    for (const signal of forwarded) process.off(signal, forward);
    process.exitCode = code ?? 128 + signals[signal];
    // As the first process of a container, this process survives its own signal. It then exits with 128 plus the number
    // of the signal.
    if (signal !== null) process.kill(process.pid, signal);
  });
}

function main() {
  const executable = findExecutable();
  if (executable === undefined || (LOADER !== undefined && !existsSync(LOADER))) return fail(explain());
  try {
    if (process.execve !== undefined && process.platform !== "win32") replaceThisProcess(executable);
    else runAsChild(executable);
  } catch (error) {
    fail(`Could not start the executable: ${error.message}. Install service-api again.`);
  }
}

main();
