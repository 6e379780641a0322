"use strict";

/** The fields of each line, as RFC 4180 has them. */
function parse(text) {
  const rows = [];
  let row = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      const begin = line;
      at++;
      for (;;) {
        if (at >= text.length) throw new Error(`the quote that opens in line ${begin} is never closed`);
        if (text[at] === '"' && text[at + 1] !== '"') break;
        if (text[at] === '"') at++;
        if (text[at] === "\n") line++;
        field += text[at++];
      }
      at++;
    } else {
      while (at < text.length && text[at] !== "," && text[at] !== "\n") field += text[at++];
      if (text[at] !== ",") field = field.replace(/\r$/, "");
    }
    row.push(field);
    if (text[at] === "\r" && text[at + 1] === "\n") at++;
    if (text[at] === ",") {
      at++;
      if (at < text.length) continue;
      row.push("");
    } else if (text[at] === "\n") {
      line++;
      at++;
    }
    rows.push(row);
    row = [];
  }
  return rows;
}

module.exports = { parse };
