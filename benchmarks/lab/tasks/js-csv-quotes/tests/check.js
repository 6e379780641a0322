"use strict";
const assert = require("assert");
const path = require("path");
const { parse } = require(path.resolve("csv.js"));

const cases = [
  ["a,b\n1,2\n", [["a", "b"], ["1", "2"]]],
  ["", []],
  ["a,,b", [["a", "", "b"]]],
  ['"a,b",c\r\nd,"e\nf"\r\n', [["a,b", "c"], ["d", "e\nf"]]],
  ['"say ""hi""",x', [['say "hi"', "x"]]],
  ['"",""\n', [["", ""]]],
  ["a\n\nb\n", [["a"], [""], ["b"]]],
  ["a,\n", [["a", ""]]],
];
for (const [text, fields] of cases) assert.deepStrictEqual(parse(text), fields, JSON.stringify(text));
assert.throws(() => parse('a,b\n"c\nd,e\n'), (error) => error instanceof Error && /2/.test(error.message));
