// Search in everything that is said, piece by piece, so that the page stays alive in a session of a hundred megabytes.

const PATIENCE = 12; // milliseconds of work before the page may do something else
const TYPING_PAUSE = 150; // milliseconds

const queryField = document.getElementById("query");
const hitsOutput = document.getElementById("hits");
let needle = "";
let hits = []; // positions
let hit = -1;
let searchNumber = 0;

async function search() {
  const number = (searchNumber += 1);
  needle = queryField.value.trim().toLowerCase();
  hits = [];
  hit = -1;
  if (needle) {
    let rested = performance.now();
    const everywhere = document.getElementById("everywhere").checked;
    const places = everywhere ? rows.keys() : path;
    for (const position of places) {
      if (searchableText(entryAt(position)).toLowerCase().includes(needle)) hits.push(position);
      if (performance.now() - rested < PATIENCE) continue;
      hitsOutput.textContent = `${hits.length}…`;
      await new Promise((go) => setTimeout(go));
      if (number !== searchNumber) return;
      rested = performance.now();
    }
  }
  tellHits();
  highlight();
  document.body.dataset.searched = needle; // for tests and style: the search is complete
}

function searchableText(entry) {
  const withThinking = !document.body.classList.contains("no-thinking");
  const withTools = !document.body.classList.contains("no-tools");
  const message = asObject(entry.type === "message" ? entry.message : entry);
  if (message.role === "toolResult") {
    return withTools ? [textOf(message.content), asText(asObject(message.details).diff), strings(asObject(message.details).display)].join("\n") : "";
  }
  if (entry.type === "custom") return displayed(entry.display) ? strings(entry.display) : "";
  if (message.display === false) return "";
  const texts = [textOf(message.content), asText(message.summary), asText(message.command), asText(message.output), asText(message.errorMessage), strings(asObject(message.details).display)];
  for (const block of asList(message.content).map(asObject)) {
    if (block.type === "thinking" && withThinking) texts.push(asText(block.thinking));
    if (block.type === "toolCall" && withTools) texts.push(asText(block.name), strings(block.arguments));
  }
  return texts.filter(Boolean).join("\n");
}

function strings(value) {
  const found = [];
  const open = [value];
  while (open.length) {
    const next = open.pop();
    if (typeof next === "string") found.push(next);
    else if (next && typeof next === "object") open.push(...Object.values(next));
  }
  return found.join("\n");
}

function tellHits() {
  const total = count(hits.length, "match", "matches");
  hitsOutput.textContent = !needle ? "" : hit < 0 ? total : `${hit + 1} of ${hits.length}`;
}

function goToHit(by) {
  if (!hits.length) return;
  hit = hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (hit + by + hits.length) % hits.length;
  tellHits();
  goTo(hits[hit], { open: true });
  highlight();
  const [first] = rangesIn(document.getElementById(`entry-${current}`));
  if (first) openAround(first.startContainer);
}

function openAround(node) {
  for (let at = node.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
}

// Matches are marked without touching the elements, where the browser can do that.
function highlight() {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("hits");
  CSS.highlights.delete("hit");
  if (!needle) return;
  const drawn = [...holder.querySelectorAll(".entry")];
  CSS.highlights.set("hits", new Highlight(...drawn.flatMap(rangesIn)));
  const now = hit >= 0 ? document.getElementById(`entry-${current}`) : null;
  if (now) CSS.highlights.set("hit", new Highlight(...rangesIn(now).slice(0, 1)));
}

// Where the needle is in an element, also where it is set in several ways, as in bold and plain.
function rangesIn(within) {
  if (!within || !needle) return [];
  const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  const nodes = [];
  const starts = [];
  let text = "";
  while (walker.nextNode()) {
    nodes.push(walker.currentNode);
    starts.push(text.length);
    text += walker.currentNode.data.toLowerCase();
  }
  const found = [];
  let node = 0;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    const range = new Range();
    while (node + 1 < nodes.length && starts[node + 1] <= at) node += 1;
    let last = node;
    while (last + 1 < nodes.length && starts[last + 1] < at + needle.length) last += 1;
    // Lower case may be longer than the text was, as that of İ is.
    range.setStart(nodes[node], Math.min(at - starts[node], nodes[node].length));
    range.setEnd(nodes[last], Math.min(at + needle.length - starts[last], nodes[last].length));
    found.push(range);
  }
  return found;
}

let pause = 0;
queryField.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(search, TYPING_PAUSE);
});
document.getElementById("everywhere").addEventListener("change", search);
document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
queryField.addEventListener("keydown", async (event) => {
  if (event.key === "Enter") {
    if (needle !== queryField.value.trim().toLowerCase()) {
      clearTimeout(pause);
      await search();
    }
    goToHit(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    queryField.value = "";
    queryField.blur();
    search();
  }
});
document.getElementById("next").addEventListener("click", () => goToHit(1));
document.getElementById("previous").addEventListener("click", () => goToHit(-1));
