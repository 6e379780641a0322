"use strict";
const fs = require("fs").promises;

async function load(path) {
  let text;
  try {
    text = await fs.readFile(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
  return JSON.parse(text);
}

async function save(path, data) {
  await fs.writeFile(path, JSON.stringify(data) + "\n");
}

async function update(path, change) {
  const changed = change(await load(path));
  await save(path, changed);
  return changed;
}

module.exports = { load, save, update };
