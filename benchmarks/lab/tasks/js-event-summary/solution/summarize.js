"use strict";
const fs = require("fs");

const users = new Map();
let skipped = 0;
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
  if (!line.trim()) continue;
  let event = null;
  try {
    event = JSON.parse(line);
  } catch {
    // counted below
  }
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    skipped++;
    continue;
  }
  if (!users.has(event.user)) users.set(event.user, []);
  users.get(event.user).push(event);
}
const summary = {};
for (const user of [...users.keys()].sort()) {
  const events = users.get(user).sort((a, b) => a.t - b.t);
  let sessions = 1;
  for (let i = 1; i < events.length; i++) if (events[i].t - events[i - 1].t > 600) sessions++;
  const cents = events.filter((event) => event.kind === "buy").reduce((sum, event) => sum + event.cents, 0);
  summary[user] = { events: events.length, cents, sessions };
}
console.log(JSON.stringify(summary));
if (skipped) console.error(`skipped ${skipped} lines`);
