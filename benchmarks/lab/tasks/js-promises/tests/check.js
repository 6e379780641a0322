"use strict";
const assert = require("assert");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { load, save, update } = require(path.resolve("store.js"));

async function main() {
  assert.deepStrictEqual([load.length, save.length, update.length], [1, 2, 2], "a function still takes a callback");
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "store-"));
  const file = path.join(folder, "data");
  assert.deepStrictEqual(await load(file), {});
  await save(file, { a: 1 });
  assert.deepStrictEqual(await update(file, (data) => ({ ...data, b: 2 })), { a: 1, b: 2 });
  assert.deepStrictEqual(await load(file), { a: 1, b: 2 });
  await assert.rejects(load(folder));
  await assert.rejects(
    update(file, () => {
      throw new Error("no");
    }),
    /no/,
  );
  fs.writeFileSync(file, "{");
  await assert.rejects(load(file), SyntaxError);
  assert(!/callback/.test(fs.readFileSync("store.js", "utf8")), "store.js still has callbacks");
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
