// All entries of the session as a tree, of which only the lines on the screen are elements.

const LINE = 26; // pixels, as in the style
const MOST_INDENT = 10;
const ICONS = { user: "›", assistant: "●", tool: "⚒", command: "$", compaction: "≡", branch: "⤴", custom: "◆", agent: "◇", setting: "·", remark: "·", other: "·" };

const tree = document.getElementById("tree");
const canvas = element("div", "canvas");
canvas.setAttribute("role", "presentation");
tree.append(canvas);
let treeLines = []; // positions
let cursor = -1; // place in treeLines
let leafLine = -1; // position of the line that stands for the leaf: of its own, or of the nearest before it
let levels = null;

function treeLevels() {
  if (levels) return levels;
  levels = new Int32Array(rows.length);
  rows.forEach((row, position) => {
    const above = row[PARENT];
    levels[position] = above < 0 ? 0 : levels[above] + (childrenOf(above).length > 1 ? 1 : 0);
  });
  return levels;
}

// Depth first without recursion: a session is one long chain.
function inTreeOrder() {
  const order = [];
  const open = [-1, ...agents.map((_, number) => -2 - number)].flatMap(childrenOf).reverse();
  while (open.length) {
    const position = open.pop();
    order.push(position);
    const below = childrenOf(position);
    for (let at = below.length - 1; at >= 0; at -= 1) open.push(below[at]);
  }
  return order;
}

const treeOrder = inTreeOrder();

const isTalk = (kind) => !["tool", "setting", "remark", "other"].includes(kind);
const FILTERS = {
  talk: (kind, position) => position < agentsFirst && isTalk(kind),
  user: (kind, position) => position < agentsFirst && kind === "user",
  agents: (kind, position) => position >= agentsFirst && isTalk(kind),
  labels: (kind, position) => index.labels[position] !== undefined,
  all: () => true,
};

function refreshTree() {
  const wanted = FILTERS[document.getElementById("tree-kinds").value];
  const words = document.getElementById("tree-query").value.toLowerCase().split(/\s+/).filter(Boolean);
  treeLines = treeOrder.filter((position) => {
    const row = rows[position];
    if (!wanted(row[KIND], position)) return false;
    if (!words.length) return true;
    const text = `${row[PREVIEW]} ${index.labels[position] || ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const listed = new Set(treeLines);
  for (leafLine = index.leaf; leafLine >= 0 && !listed.has(leafLine); ) leafLine = rows[leafLine][PARENT];
  canvas.style.height = `${treeLines.length * LINE}px`;
  cursor = Math.min(cursor, treeLines.length - 1);
  drawTree();
}

function drawTree() {
  const first = Math.max(0, Math.floor(tree.scrollTop / LINE) - 8);
  const last = Math.min(treeLines.length, first + Math.ceil((tree.clientHeight || 800) / LINE) + 16);
  const drawn = [];
  for (let place = first; place < last; place += 1) drawn.push(treeLine(place));
  canvas.replaceChildren(...drawn);
  if (cursor >= first && cursor < last) tree.setAttribute("aria-activedescendant", `line-${treeLines[cursor]}`);
  else tree.removeAttribute("aria-activedescendant");
}

function treeLine(place) {
  const position = treeLines[place];
  const row = rows[position];
  const line = element("div", `line kind-${row[KIND]}`, element("span", "mark", ICONS[row[KIND]] || "·"));
  if (index.labels[position]) line.append(element("span", "label", index.labels[position]));
  line.append(element("span", "preview", row[PREVIEW] || "(empty)"));
  if (position === leafLine) line.append(element("span", "leaf", "now"));
  line.id = `line-${position}`;
  line.dataset.position = position;
  line.setAttribute("role", "treeitem");
  line.setAttribute("aria-level", treeLevels()[position] + 1);
  line.setAttribute("aria-selected", String(position === current));
  line.classList.toggle("on-path", currentPath.has(position));
  line.classList.toggle("cursor", place === cursor);
  line.style.transform = `translateY(${place * LINE}px)`;
  line.style.paddingInlineStart = `${8 + 12 * Math.min(MOST_INDENT, treeLevels()[position])}px`;
  line.title = row[PREVIEW];
  return line;
}

function markTree() {
  const place = treeLines.indexOf(current);
  if (place >= 0) {
    cursor = place;
    showCursor();
  }
  drawTree();
}

function showCursor() {
  const top = cursor * LINE;
  if (top < tree.scrollTop) tree.scrollTop = top;
  else if (top + LINE > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + LINE - tree.clientHeight;
}

function moveCursor(to) {
  if (!treeLines.length) return;
  cursor = Math.max(0, Math.min(treeLines.length - 1, to));
  showCursor();
  drawTree();
}

// The next line up or down at which the conversation was continued in several ways.
function branching(by) {
  for (let at = cursor + by; at >= 0 && at < treeLines.length; at += by) {
    if (childrenOf(rows[treeLines[at]][PARENT]).length > 1) return at;
  }
  return by < 0 ? 0 : treeLines.length - 1;
}

const TREE_KEYS = {
  ArrowDown: () => moveCursor(cursor + 1),
  ArrowUp: () => moveCursor(cursor - 1),
  ArrowLeft: () => moveCursor(branching(-1)),
  ArrowRight: () => moveCursor(branching(1)),
  PageDown: () => moveCursor(cursor + Math.floor(tree.clientHeight / LINE)),
  PageUp: () => moveCursor(cursor - Math.floor(tree.clientHeight / LINE)),
  Home: () => moveCursor(0),
  End: () => moveCursor(treeLines.length - 1),
  Enter: () => cursor >= 0 && goTo(treeLines[cursor]),
};

tree.addEventListener("keydown", (event) => {
  const action = TREE_KEYS[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  action();
});
tree.addEventListener("scroll", drawTree, { passive: true });
tree.addEventListener("click", (event) => {
  const line = event.target.closest("[data-position]");
  if (line) goTo(Number(line.dataset.position));
});
document.getElementById("tree-query").addEventListener("input", refreshTree);
document.getElementById("tree-kinds").addEventListener("change", refreshTree);
addEventListener("resize", drawTree);
