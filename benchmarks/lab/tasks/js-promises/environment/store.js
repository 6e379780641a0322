"use strict";
const fs = require("fs");

function load(path, callback) {
  fs.readFile(path, "utf8", (error, text) => {
    if (error && error.code === "ENOENT") return callback(null, {});
    if (error) return callback(error);
    let data;
    try {
      data = JSON.parse(text);
    } catch (problem) {
      return callback(problem);
    }
    callback(null, data);
  });
}

function save(path, data, callback) {
  fs.writeFile(path, JSON.stringify(data) + "\n", callback);
}

function update(path, change, callback) {
  load(path, (error, data) => {
    if (error) return callback(error);
    const changed = change(data);
    save(path, changed, (problem) => {
      if (problem) return callback(problem);
      callback(null, changed);
    });
  });
}

module.exports = { load, save, update };
