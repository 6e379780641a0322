// Markdown as elements: what models write, not all of CommonMark. Linear in the text, bounded in depth, never markup.

const LONGEST_PARAGRAPH = 20000; // characters; longer ones are shown as they are
const DEEPEST = 12; // quotes in lists in quotes…

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:\s+|$)/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const SAFE_LINK = /^(?:https?:\/\/|mailto:)[^\s\u0000-\u001f]+$/i;

function markdown(text) {
  const made = element("div", "markdown");
  blocks(text.replace(/\r\n?/g, "\n").split("\n"), made, 0);
  return made;
}

function blocks(lines, into, depth) {
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if (!line.trim()) at += 1;
    else if ((match = FENCE.exec(line))) at = fence(lines, at, match, into);
    else if ((match = HEADING.exec(line))) {
      // The page has headings of its own above: those of messages begin at the third level.
      into.append(inline(match[2], element(`h${Math.min(6, match[1].length + 2)}`)));
      at += 1;
    } else if (RULE.test(line)) {
      into.append(element("hr"));
      at += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST) at = quote(lines, at, into, depth);
    else if (ITEM.test(line) && depth < DEEPEST) at = list(lines, at, into, depth);
    else if (line.includes("|") && at + 1 < lines.length && TABLE_RULE.test(lines[at + 1])) at = table(lines, at, into);
    else at = paragraph(lines, at, into, depth);
  }
}

function fence(lines, at, match, into) {
  const [, indent, marks, language] = match;
  const code = [];
  for (at += 1; at < lines.length; at += 1) {
    const closing = lines[at].trim();
    if (closing.length >= marks.length && closing === marks[0].repeat(closing.length)) break;
    code.push(lines[at].startsWith(indent) ? lines[at].slice(indent.length) : lines[at]);
  }
  into.append(codeBlock(code.join("\n"), language.trim().split(/\s/)[0]));
  return at + 1;
}

function codeBlock(code, language) {
  const block = element("div", "code");
  if (language) block.append(element("span", "language", language));
  const coloured = () => scrollable(element("pre", "", element("code", "", ...colouredCode(code, languageOf(language)))));
  block.append(/^(?:diff|patch)$/i.test(language) ? diffLines(code) : coloured(), copyButton(() => code));
  return block;
}

function scrollable(block) {
  block.tabIndex = 0; // so that the keyboard can scroll it
  return block;
}

function quote(lines, at, into, depth) {
  const inner = [];
  for (; at < lines.length && lines[at].trim() && (QUOTE.test(lines[at]) || !startsBlock(lines[at])); at += 1) {
    inner.push(lines[at].replace(QUOTE, ""));
  }
  const made = element("blockquote");
  blocks(inner, made, depth + 1);
  into.append(made);
  return at;
}

function list(lines, at, into, depth) {
  const first = ITEM.exec(lines[at]);
  const ordered = /\d/.test(first[2]);
  const made = element(ordered ? "ol" : "ul");
  if (ordered) made.start = parseInt(first[2], 10);
  while (at < lines.length) {
    const match = ITEM.exec(lines[at]);
    if (!match || match[1].length > first[1].length + 1 || /\d/.test(match[2]) !== ordered || RULE.test(lines[at])) break;
    const inner = [lines[at].slice(match[0].length)];
    const indent = match[1].length + 2;
    for (at += 1; at < lines.length && continuesItem(lines, at, indent); at += 1) {
      inner.push(lines[at].replace(new RegExp(`^ {0,${match[0].length}}`), ""));
    }
    made.append(listItem(inner, depth));
  }
  into.append(made);
  return at;
}

function continuesItem(lines, at, indent) {
  const line = lines[at];
  if (line.startsWith(" ".repeat(indent))) return true;
  if (!line.trim()) return at + 1 < lines.length && lines[at + 1].startsWith(" ".repeat(indent));
  return !startsBlock(line) && Boolean(lines[at - 1].trim());
}

function listItem(lines, depth) {
  const made = element("li");
  const task = /^\[([ xX])\]\s+/.exec(lines[0]);
  if (task) {
    lines[0] = lines[0].slice(task[0].length);
    made.className = "task";
    made.append(task[1] === " " ? "☐ " : "☑ ");
  }
  blocks(lines, made, depth + 1);
  const only = made.lastElementChild;
  if (made.childElementCount === 1 && only.tagName === "P") only.replaceWith(...only.childNodes);
  return made;
}

function table(lines, at, into) {
  const head = cells(lines[at]);
  const alignments = cells(lines[at + 1]).map((cell) => (/^:-+:$/.test(cell) ? "center" : /-:$/.test(cell) ? "end" : "start"));
  const row = (texts, tag) =>
    element("tr", "", ...head.map((_, column) => inline(texts[column] || "", element(tag, alignments[column] || "start"))));
  const body = element("tbody");
  for (at += 2; at < lines.length && lines[at].includes("|"); at += 1) body.append(row(cells(lines[at]), "td"));
  into.append(scrollable(element("div", "table", element("table", "", element("thead", "", row(head, "th")), body))));
  return at;
}

function cells(line) {
  const bare = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function paragraph(lines, at, into, depth) {
  const text = [lines[at]];
  const deep = depth >= DEEPEST;
  for (at += 1; at < lines.length && lines[at].trim() && (deep || !startsBlock(lines[at])); at += 1) text.push(lines[at]);
  into.append(inline(text.map((line) => line.trim()).join("\n"), element("p")));
  return at;
}

// Code, links, bold, italic and struck text. What does not end is text.
const MARKS = /(?<escape>\\[!-\/:-@[-`{-~])|(?<code>`+)|!?(?<link>\[)|(?<bare>https?:\/\/[^\s<>"'`)\]]+)|(?<strong>\*\*|__)|(?<struck>~~)|(?<emphasis>[*_])/g;

function inline(text, into, depth = 0) {
  if (text.length > LONGEST_PARAGRAPH || depth > DEEPEST) {
    into.append(text);
    return into;
  }
  const without = new Set(); // marks that do not occur any more: looking again would cost the square of the length
  const closing = (mark, from) => {
    if (without.has(mark)) return -1;
    const found = text.indexOf(mark, from);
    if (found < 0) without.add(mark);
    return found;
  };
  let copied = 0;
  const marks = new RegExp(MARKS.source, "g");
  for (let match = marks.exec(text); match; match = marks.exec(text)) {
    const part = inlinePart(text, match, closing, depth);
    if (!part) continue;
    into.append(text.slice(copied, match.index), part.node);
    copied = marks.lastIndex = part.end;
  }
  into.append(text.slice(copied));
  return into;
}

function inlinePart(text, match, closing, depth) {
  const { escape, code, link, bare, strong, struck } = match.groups;
  const start = match.index + match[0].length;
  if (escape) return { node: document.createTextNode(escape[1]), end: start };
  if (bare) {
    const address = bare.replace(/[.,;:!?]+$/, "");
    return { node: anchor(address, address), end: match.index + address.length };
  }
  if (link) return linkPart(text, start, closing, depth);
  const mark = match[0];
  const end = closing(mark, start);
  if (end <= start) return null;
  const inner = text.slice(start, end);
  if (code) return { node: element("code", "", inner.replace(/^ (.*[^ ].*) $/s, "$1")), end: end + mark.length };
  const isInWord = mark[0] === "_" && (/\w/.test(text[match.index - 1] || "") || /\w/.test(text[end + mark.length] || ""));
  if (/^\s|\s$/.test(inner) || isInWord) return null;
  const tag = strong ? "strong" : struck ? "del" : "em";
  return { node: inline(inner, element(tag), depth + 1), end: end + mark.length };
}

function linkPart(text, start, closing, depth) {
  const middle = closing("](", start);
  const end = middle < 0 ? -1 : closing(")", middle + 2);
  if (end < 0) return null;
  const label = text.slice(start, middle);
  const address = text.slice(middle + 2, end).trim().split(/\s/)[0].replace(/^<|>$/g, "");
  if (label.includes("[") || label.includes("\n\n")) return null;
  return { node: anchor(address, label, depth), end: end + 1 };
}

// Images of other places are links as well: the page loads nothing. Other addresses stay visible as text.
function anchor(address, label, depth = DEEPEST) {
  if (!SAFE_LINK.test(address)) return element("span", "address", `${label} (${address})`);
  const made = element("a");
  made.href = address;
  made.rel = "noopener noreferrer nofollow";
  made.target = "_blank";
  made.referrerPolicy = "no-referrer";
  return depth < DEEPEST ? inline(label || address, made, depth + 1) : (made.append(label || address), made);
}
