"use strict";

function isObject(value) {
  return typeof value === "object" && !Array.isArray(value);
}

/** The properties of both; those of `b` take precedence, and objects are merged. */
function merge(a, b) {
  const result = Object.assign({}, a);
  for (const key in b) {
    if (isObject(b[key]) && isObject(result[key])) {
      for (const inner in b[key]) {
        result[key][inner] = b[key][inner];
      }
    } else {
      result[key] = b[key];
    }
  }
  return result;
}

module.exports = { merge };
