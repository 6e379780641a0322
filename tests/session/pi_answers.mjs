// Asks an installed pi what it makes of session files: node pi_answers.mjs <package folder>; one path per line of stdin.
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const main = ["dist/bundle/index.js", "dist/index.js"].map((name) => join(folder, name)).find(existsSync);
const pi = await import(pathToFileURL(main).href);

for await (const path of createInterface({ input: process.stdin })) {
  const sessionManager = pi.SessionManager.open(path);
  const { messages, model, thinkingLevel } = sessionManager.buildSessionContext();
  const session = {
    sessionManager,
    state: { messages: [] },
    messages: [],
    getContextUsage: () => undefined,
  };
  const { tokens, cost } = pi.AgentSession.prototype.getSessionStats.call(session);
  console.log(JSON.stringify({ messages: pi.convertToLlm(messages), model, thinkingLevel, tokens, cost }));
}
process.stdout.write("", () => process.exit(0)); // what pi keeps open would keep the process alive
