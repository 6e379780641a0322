"use strict";
const assert = require("assert");
const { spawnSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

function run(text) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "events-")), "e");
  fs.writeFileSync(file, text);
  const done = spawnSync(process.execPath, ["summarize.js", file], { encoding: "utf8" });
  assert.strictEqual(done.status, 0, done.stderr);
  return done;
}

const done = run(
  [
    '{"t": 2000, "user": "bob", "kind": "buy", "cents": 250}',
    "",
    '{"t": 700, "user": "ada", "kind": "view"}',
    '{"t": 100, "user": "ada", "kind": "login"}',
    "[1]",
    '{"t": 1301, "user": "ada", "kind": "buy", "cents": 5}',
    '{"t": 1399, "user": "bob", "kind": "view", "cents": 7}',
    '{"broken',
    "null",
  ].join("\n"),
);
assert.strictEqual(
  JSON.stringify(JSON.parse(done.stdout)),
  '{"ada":{"events":3,"cents":5,"sessions":2},"bob":{"events":2,"cents":250,"sessions":2}}',
);
assert.match(done.stderr, /^skipped 3 lines$/m);
const empty = run("");
assert.strictEqual(JSON.stringify(JSON.parse(empty.stdout)), "{}");
assert.strictEqual(empty.stderr, "");
const all = run(fs.readFileSync("events.jsonl", "utf8"));
const total = Object.values(JSON.parse(all.stdout)).reduce((sum, one) => sum + one.events, 0);
assert.strictEqual(total, 120);
