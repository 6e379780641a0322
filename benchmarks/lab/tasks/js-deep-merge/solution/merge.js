"use strict";

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function copy(value) {
  if (Array.isArray(value)) return value.map(copy);
  return isObject(value) ? merge({}, value) : value;
}

/** The properties of both; those of `b` take precedence, and objects are merged. */
function merge(a, b) {
  const result = {};
  for (const source of [a, b]) {
    for (const key of Object.keys(source)) {
      if (key === "__proto__") continue;
      const known = Object.prototype.hasOwnProperty.call(result, key) ? result[key] : undefined;
      result[key] = isObject(known) && isObject(source[key]) ? merge(known, source[key]) : copy(source[key]);
    }
  }
  return result;
}

module.exports = { merge };
