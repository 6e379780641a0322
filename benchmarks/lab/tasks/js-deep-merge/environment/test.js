"use strict";
const assert = require("assert");
const { merge } = require("./merge");

assert.deepStrictEqual(merge({ a: 1 }, { b: 2 }), { a: 1, b: 2 });
assert.deepStrictEqual(merge({ a: { x: 1 } }, { a: { y: 2 } }), { a: { x: 1, y: 2 } });

const first = { a: { x: { p: 1 } } };
assert.deepStrictEqual(merge(first, { a: { x: { q: 2 } } }), { a: { x: { p: 1, q: 2 } } });
assert.deepStrictEqual(first, { a: { x: { p: 1 } } });
console.log("ok");
