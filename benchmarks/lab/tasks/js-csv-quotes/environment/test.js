"use strict";
const assert = require("assert");
const { parse } = require("./csv");

assert.deepStrictEqual(parse("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
assert.deepStrictEqual(parse(""), []);
assert.deepStrictEqual(parse("a,,b"), [["a", "", "b"]]);
console.log("ok");
