"use strict";
const assert = require("assert");
const path = require("path");
const { merge } = require(path.resolve("merge.js"));

const a = { n: { x: { p: 1 } }, list: [1, 2], nothing: { x: 1 } };
const b = { n: { x: { q: 2 } }, list: [3], nothing: null, extra: { y: [1] } };
const before = JSON.stringify([a, b]);
const merged = merge(a, b);
assert.deepStrictEqual(merged, { n: { x: { p: 1, q: 2 } }, list: [3], nothing: null, extra: { y: [1] } });
merged.n.x.p = 9;
merged.list.push(4);
merged.extra.y.push(2);
assert.strictEqual(JSON.stringify([a, b]), before);
merge({}, JSON.parse('{"__proto__": {"admin": true}, "n": {"__proto__": {"admin": true}}}'));
merge({ n: {} }, JSON.parse('{"constructor": {"prototype": {"admin": true}}}'));
assert.strictEqual({}.admin, undefined);
assert.strictEqual(merge({}, JSON.parse('{"__proto__": {"admin": true}}')).admin, undefined);
