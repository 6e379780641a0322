"use strict";

/** The fields of each line. */
function parse(text) {
  if (text === "") return [];
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => line.split(","));
}

module.exports = { parse };
