// The branch that is read, drawn only near what is on the screen: a session may have tens of thousands of entries.

const SECTION_ENTRIES = 16;
const GUESSED_HEIGHT = 180; // pixels of an entry that was never drawn
const NEAR = "2500px";
const SMALL = 500; // entries; so many are drawn at once and stay, so that the browser can search and print them

const holder = document.getElementById("entries");
let currentTip = -1;
let path = []; // positions from the root to the tip
let currentPath = new Set();
let shown = []; // those that are drawn as entries of their own
let sections = [];
let sectionOf = new Map(); // position to section
let resultsOf = new Map(); // position of a reply to those of the results of its calls
let allOpen = false;
const opened = new Set(); // positions that are shown unshortened
let current = -1; // where j and k are

const watcher = new IntersectionObserver((seen) => {
  keepInPlace(() => {
    for (const { target, isIntersecting } of seen) {
      if (isIntersecting) fill(target.section);
      else if (shown.length > SMALL) empty(target.section);
    }
  });
}, { rootMargin: `${NEAR} 0px` });

// What is read stays where it is on the screen, whatever is drawn above it.
function keepInPlace(draw) {
  const anchor = entryOnScreen();
  const before = anchor ? anchor.getBoundingClientRect().top : 0;
  draw();
  if (anchor && anchor.isConnected) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
}

function entryOnScreen() {
  const now = document.getElementById(`entry-${current}`);
  if (now && now.getBoundingClientRect().bottom > 0 && now.getBoundingClientRect().top < innerHeight) return now;
  for (const y of [0.25, 0.5, 0.75]) {
    const there = document.elementFromPoint(holder.getBoundingClientRect().left + 40, innerHeight * y);
    const entry = there && there.closest(".entry");
    if (entry) return entry;
  }
  return null;
}

function showBranch(tip) {
  currentTip = tip;
  path = pathTo(tip);
  currentPath = new Set(path);
  resultsOf = new Map();
  noteResults(path);
  shown = path.filter(isShown);
  watcher.disconnect();
  sectionOf = new Map();
  sections = [];
  for (let at = 0; at < shown.length; at += SECTION_ENTRIES) addSection(shown.slice(at, at + SECTION_ENTRIES));
  holder.replaceChildren(...sections.map((section) => section.element));
  document.getElementById("end").replaceChildren(...ending());
  current = -1;
  if (shown.length <= SMALL) sections.forEach(fill);
}

function noteResults(positions) {
  for (const position of positions) {
    const owner = rows[position][OWNER];
    if (owner < 0) continue;
    if (resultsOf.has(owner)) resultsOf.get(owner).add(position);
    else resultsOf.set(owner, new Set([position]));
  }
}

function addSection(positions) {
  const section = { positions, element: element("section", "part"), isFilled: false };
  section.element.section = section;
  section.element.style.height = `${positions.length * GUESSED_HEIGHT}px`;
  for (const position of positions) sectionOf.set(position, section);
  sections.push(section);
  watcher.observe(section.element);
}

function fill(section) {
  if (section.isFilled) return;
  section.isFilled = true;
  section.element.style.height = "";
  const drawn = section.positions.map((position) => renderEntry(position, allOpen || opened.has(position), resultFor));
  section.element.replaceChildren(...drawn.filter(Boolean));
  markCurrent();
  highlight();
}

function empty(section) {
  if (!section.isFilled || section.element.contains(document.activeElement)) return;
  section.element.style.height = `${section.element.offsetHeight}px`;
  section.element.replaceChildren();
  section.isFilled = false;
}

function redraw(section) {
  section.isFilled = false;
  fill(section);
}

// Results of tools are shown with their calls, unless they have lost them.
function isShown(position) {
  const row = rows[position];
  if (row[KIND] === "agent") return agentsBegunAt(position, "").length > 0;
  return row[KIND] !== "other" && row[KIND] !== "remark" && (row[KIND] !== "tool" || row[OWNER] < 0);
}

function resultFor(callId, position) {
  for (const candidate of resultsOf.get(position) || []) {
    const message = asObject(entryAt(candidate).message);
    if (asText(message.toolCallId) === callId) return { message, position: candidate };
  }
  return null;
}

// Show an entry, on whatever branch it is.
function goTo(position, { open = false } = {}) {
  if (!currentPath.has(position)) {
    showBranch(tipOf(position));
    refreshTree();
  }
  const owner = nearestShown(position);
  if (owner < 0) return;
  const section = sectionOf.get(owner);
  if (open && !opened.has(owner) && !allOpen) {
    opened.add(owner);
    redraw(section);
  } else fill(section);
  setCurrent(owner);
  const target = document.querySelector(`#entry-${owner} [data-position="${position}"]`) || document.getElementById(`entry-${owner}`);
  // What is drawn meanwhile above may move it once more.
  reveal(target);
  requestAnimationFrame(() => requestAnimationFrame(() => target.isConnected && reveal(target)));
}

function reveal(target) {
  target.scrollIntoView({ block: target.offsetHeight > innerHeight / 2 ? "start" : "center" });
}

function nearestShown(position) {
  let at = position;
  while (at >= 0 && !sectionOf.has(at)) at = rows[at][PARENT];
  return at >= 0 ? at : shown.length ? shown[0] : -1;
}

function setCurrent(position) {
  current = position;
  markCurrent();
  markTree();
  try {
    history.replaceState(null, "", `#${encodeURIComponent(rows[position][ID])}`);
  } catch {
    // Some browsers refuse that for local files; the address is a comfort only.
  }
}

function markCurrent() {
  for (const marked of holder.querySelectorAll(".entry.current")) marked.classList.remove("current");
  const now = document.getElementById(`entry-${current}`);
  if (now) now.classList.add("current");
}

// The next or previous entry that is visible with the filters as they are.
function step(by) {
  let at = current < 0 ? firstOnScreen() - by : shown.indexOf(current);
  for (at += by; at >= 0 && at < shown.length; at += by) {
    if (rows[shown[at]][KIND] !== "setting") return goTo(shown[at]);
  }
}

function firstOnScreen() {
  const there = sections.findIndex((section) => section.element.getBoundingClientRect().bottom > 80);
  return Math.max(0, there) * SECTION_ENTRIES;
}

function setAllOpen(isOpen) {
  allOpen = isOpen;
  opened.clear();
  for (const section of sections) if (section.isFilled) redraw(section);
}

function ending() {
  if (!shown.length) return ["This session has no messages."];
  if (currentTip === index.leaf) return ["The conversation goes on from here."];
  if (currentTip < agentsFirst) return ["This branch was left here."];
  const agent = agents[agentOf(currentTip)];
  return [`This is the work of ${agent.id}. `, button("more", "Where it began", "", () => goTo(agent.begun[0][0]))];
}

addEventListener("beforeprint", () => sections.forEach(fill));
