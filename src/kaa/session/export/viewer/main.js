// What the page says about the session, its switches and keys, and where it begins.

const body = document.body;

function toggled(id, action) {
  const control = document.getElementById(id);
  control.addEventListener("click", () => {
    const isOn = control.getAttribute("aria-pressed") !== "true";
    control.setAttribute("aria-pressed", String(isOn));
    action(isOn);
  });
  return () => control.click();
}

const toggleThinking = toggled("show-thinking", (isOn) => {
  body.classList.toggle("no-thinking", !isOn);
  search();
});
const toggleTools = toggled("show-tools", (isOn) => {
  body.classList.toggle("no-tools", !isOn);
  search();
});
const toggleOpen = toggled("expand", setAllOpen);

function toggleTree() {
  const control = document.getElementById("toggle-tree");
  const isShown = control.getAttribute("aria-expanded") !== "true";
  control.setAttribute("aria-expanded", String(isShown));
  body.classList.toggle("no-tree", !isShown);
  if (isShown) {
    drawTree();
    tree.focus();
  }
}
document.getElementById("toggle-tree").addEventListener("click", toggleTree);

// The bar takes several lines where it is narrow; what sticks below it has to know.
new ResizeObserver(([bar]) => {
  document.documentElement.style.setProperty("--bar", `${bar.target.offsetHeight}px`);
}).observe(document.querySelector(".bar"));

// There the tree lies over the transcript, and makes way for what was chosen in it.
const narrow = matchMedia("(max-width: 860px)");
function treeMakesWay() {
  if (narrow.matches && !body.classList.contains("no-tree")) toggleTree();
}
tree.addEventListener("click", treeMakesWay);
tree.addEventListener("keydown", (event) => event.key === "Enter" && treeMakesWay());

// As the system has it, until somebody chooses; kept where the browser lets a file keep something.
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function switchTheme() {
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
  try {
    localStorage.setItem("kaa-theme", isDark ? "light" : "dark");
  } catch {
    // It lasts as long as the page then.
  }
}
try {
  setTheme({ light: "light", dark: "dark" }[localStorage.getItem("kaa-theme")]);
} catch {
  setTheme(undefined);
}
document.getElementById("theme").addEventListener("click", switchTheme);

const help = document.getElementById("keys");
const KEYS = [
  ["j", "Next entry", () => step(1)],
  ["k", "Previous entry", () => step(-1)],
  ["g", "First entry", () => shown.length && goTo(shown[0])],
  ["G", "Last entry", () => shown.length && goTo(shown[shown.length - 1])],
  ["/", "Search", () => queryField.focus()],
  ["n", "Next match", () => goToHit(1)],
  ["N", "Previous match", () => goToHit(-1)],
  ["t", "Thinking on or off", toggleThinking],
  ["o", "Tools on or off", toggleTools],
  ["e", "Expand or shorten everything", toggleOpen],
  ["b", "Tree on or off; in it arrows and Enter", toggleTree],
  ["d", "Light or dark", switchTheme],
  ["?", "These keys", () => help.showModal()],
];
document.getElementById("help").addEventListener("click", () => help.showModal());
document.getElementById("key-list").append(
  ...KEYS.flatMap(([key, meaning]) => [element("dt", "", element("kbd", "", key)), element("dd", "", meaning)]),
);

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target.matches && event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const known = KEYS.find(([key]) => key === event.key);
  if (!known) return;
  event.preventDefault();
  known[2]();
});

function totalText(used) {
  return usageText({ ...used, cost: { total: used.cost } }) || "nothing measured";
}

function about() {
  const { header, totals } = index;
  const facts = [
    ["Directory", asText(header.cwd)],
    ["Started", Number.isNaN(Date.parse(header.timestamp)) ? "" : dateFormat.format(Date.parse(header.timestamp))],
    ["Session", asText(header.id)],
    ["Messages", `${count(totals.messages, "message")}, ${count(totals.toolResults, "tool result")}`],
    ["Agents", totals.agents ? `${totals.agents.toLocaleString()}, with their messages above` : ""],
    ...Object.entries(totals.models).map(([model, used]) => [
      model,
      `${count(used.replies, "reply", "replies")} · ${totalText(used)}`,
    ]),
    ["Summaries and tools", totals.aside.replies ? totalText(totals.aside) : ""],
  ];
  const list = element("dl", "");
  for (const [name, value] of facts) if (value) list.append(element("dt", "", name), element("dd", "", value));
  document.getElementById("title").textContent = index.title;
  document.getElementById("about").append(list, element("p", "note", `Exported by ${index.generator}. All counts are of this file.`));
}

function entryInAddress() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return -1;
  }
  return id ? rows.findIndex((row) => row[ID] === id) : -1;
}

if (narrow.matches) {
  body.classList.add("no-tree");
  document.getElementById("toggle-tree").setAttribute("aria-expanded", "false");
}
about();
const asked = entryInAddress();
showBranch(asked >= 0 ? tipOf(asked) : index.leaf);
refreshTree();
if (asked >= 0) goTo(asked);
body.dataset.ready = "true";
