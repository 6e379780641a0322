"use strict";
const { update } = require("./store");

async function main() {
  const [path, key, value] = process.argv.slice(2);
  try {
    const data = await update(path, (data) => ({ ...data, [key]: value }));
    console.log(`${path} has ${Object.keys(data).length} entries`);
  } catch (error) {
    console.error(`cannot update ${path}: ${error.message}`);
    process.exitCode = 1;
  }
}

main();
