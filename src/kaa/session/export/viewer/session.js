"use strict";
// The session as the page carries it: a row for each entry, and the entries in pieces that are parsed when needed.

const index = JSON.parse(document.getElementById("index").textContent);
const rows = index.rows;
const ID = 0, PARENT = 1, KIND = 2, PREVIEW = 3, TIME = 4, OWNER = 5;

const pieces = document.querySelectorAll("script.piece");
const KEPT_PIECES = 32; // a quarter of a megabyte each
const parsedPieces = new Map(); // the last used one is last

// Children of every entry in the order of the file; -1 stands above the roots.
const children = new Map();
rows.forEach((row, position) => {
  const siblings = children.get(row[PARENT]);
  if (siblings) siblings.push(position);
  else children.set(row[PARENT], [position]);
});

function childrenOf(position) {
  return children.get(position) || [];
}

// The entries of agents follow those of the conversation. An agent is shown where it began: at a call of an entry, or
// at the entry that says so, which is the empty call.
const agents = index.agents;
const agentsFirst = agents.length ? agents[0].first : rows.length;
const begunAt = new Map();
agents.forEach((agent, number) => {
  for (const [position, call] of agent.begun) {
    const key = `${position} ${call}`;
    if (!begunAt.has(key)) begunAt.set(key, new Set());
    begunAt.get(key).add(number);
  }
});

function agentsBegunAt(position, call) {
  return [...(begunAt.get(`${position} ${call}`) || [])];
}

function agentOf(position) {
  return agents.findLastIndex((agent) => agent.first <= position);
}

function pieceOf(position) {
  let low = 0, high = index.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (index.starts[middle] <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

function parsePiece(number) {
  let entries = parsedPieces.get(number);
  if (entries) parsedPieces.delete(number);
  else entries = JSON.parse(pieces[number].textContent);
  parsedPieces.set(number, entries);
  if (parsedPieces.size > KEPT_PIECES) parsedPieces.delete(parsedPieces.keys().next().value);
  return entries;
}

function entryAt(position) {
  const number = pieceOf(position);
  return parsePiece(number)[position - index.starts[number]];
}

function pathTo(position) {
  const path = [];
  for (let at = position; at >= 0; at = rows[at][PARENT]) path.push(at);
  return path.reverse();
}

const pathOfLeaf = new Set(pathTo(index.leaf));

// Where the branch through an entry ends: at the session's leaf if it is on the way there, else with the newest entries.
function tipOf(position) {
  if (pathOfLeaf.has(position)) return index.leaf;
  if (position >= agentsFirst) return agents[agentOf(position)].leaf;
  let tip = position;
  for (let below = childrenOf(tip); below.length; below = childrenOf(tip)) tip = below[below.length - 1];
  return tip;
}

// Small ways to make elements. Text becomes text nodes and nothing else: the page's policy forbids more.

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content.filter((part) => part !== null && part !== undefined && part !== ""));
  return made;
}

function button(className, text, title, action) {
  const made = element("button", className, text);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", action);
  return made;
}

function asText(value) {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
}

function asList(value) {
  return Array.isArray(value) ? value : [];
}

function asObject(value) {
  return value && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function count(number, singular, plural) {
  return `${number.toLocaleString()} ${number === 1 ? singular : plural || singular + "s"}`;
}
