import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { greetings } from "./greetings.js";

const file = fileURLToPath(import.meta.url);
const config = JSON.parse(readFileSync(new URL("./config.json", import.meta.url), "utf8"));

export function greet(name, language = config.language) {
  return `${greetings[language] || greetings.en}, ${name}!`;
}

if (process.argv[1] && realpathSync(process.argv[1]) === realpathSync(file)) {
  console.log(`${path.basename(file)}: ${greet(config.name)}`);
}
