"use strict";
const { update } = require("./store");

const [path, key, value] = process.argv.slice(2);
update(
  path,
  (data) => ({ ...data, [key]: value }),
  (error, data) => {
    if (error) {
      console.error(`cannot update ${path}: ${error.message}`);
      process.exitCode = 1;
      return;
    }
    console.log(`${path} has ${Object.keys(data).length} entries`);
  },
);
