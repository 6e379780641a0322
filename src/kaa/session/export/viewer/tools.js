// Calls of tools and what came back: commands with their output, diffs, files, images.

const SHOWN_LINES = 14;
const SHOWN_CHARACTERS = 6000;
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

// A text of which the rest is shown when asked for. `make` turns a text into an element.
function longText(text, isOpen, make) {
  const lines = text.split("\n");
  if (isOpen || (lines.length <= SHOWN_LINES + 4 && text.length <= SHOWN_CHARACTERS)) return make(text);
  const beginning = lines.slice(0, SHOWN_LINES).join("\n").slice(0, SHOWN_CHARACTERS);
  const holder = element("div", "shortened", make(beginning));
  const label = lines.length > SHOWN_LINES ? `Show all ${count(lines.length, "line")}` : `Show all ${count(text.length, "character")}`;
  holder.append(button("more", label, "", () => holder.replaceWith(make(text))));
  return holder;
}

function codeIn(language) {
  return (text) => scrollable(element("pre", "", ...colouredCode(text, language)));
}

// pi's diffs and unified ones: what a line is, its first character tells.
function diffLines(text) {
  const made = scrollable(element("pre", "diff"));
  for (const line of text.split("\n")) {
    const header = /^(?:@@|diff |index |--- |\+\+\+ )/.test(line);
    const kind = header ? "hunk" : line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
    made.append(element("span", `line ${kind}`, line || " "), "\n");
  }
  return made;
}

function toolCard(call, result, position, isOpen) {
  const args = asObject(call.arguments);
  const failed = Boolean(result && result.message.isError);
  const name = asText(call.name) || "tool";
  const title = element("div", "tool-title", element("b", "", name), " ", element("span", "subject", subjectOf(name, args)));
  title.append(element("span", failed ? "state failed" : "state", !result ? "no result" : failed ? "failed" : ""));
  const language = languageOfPath(asText(args.path || args.file_path));
  if (typeof args.command === "string") title.append(copyButton(() => args.command));
  const card = element("article", failed ? "tool failed" : "tool", title);
  card.setAttribute("aria-label", `Tool ${name}`);
  const shown = resultText(result);
  const diff = diffOf(name, args, result);
  if (diff) card.append(longText(diff, isOpen, diffLines));
  else if (typeof args.content === "string") card.append(copiable(args.content, longText(args.content, isOpen, codeIn(language))));
  else if (!isKnown(name, args) && Object.keys(args).length) {
    card.append(longText(JSON.stringify(args, null, 2), isOpen, codeIn("javascript")));
  }
  if (call.argumentsError) card.append(element("p", "problem", asText(call.argumentsError)));
  const outcome = element("div", "result");
  const values = failed ? null : displayed(asObject(result && result.message.details).display);
  if (values) outcome.append(values);
  const isFile = name === "read" && !failed && language;
  if (shown && !values && (!diff || failed)) {
    outcome.append(copiable(plainText(shown), longText(shown, isOpen, isFile ? (text) => codeIn(language)(plainText(text)) : terminalBlock)));
  }
  outcome.append(...images(result ? result.message.content : []));
  if (outcome.childNodes.length) card.append(outcome);
  if (result) outcome.dataset.position = result.position;
  card.append(...agentsBegunAt(position, asText(call.id)).map((number) => agentView(number, isOpen)));
  return card;
}

// A block with a button that copies all of it, also where it is shortened.
function copiable(text, block) {
  return element("div", "copiable", block, copyButton(() => text));
}

function isKnown(name, args) {
  return typeof args.command === "string" || typeof args.path === "string" || typeof args.pattern === "string";
}

// What a call is about, in a line.
function subjectOf(name, args) {
  if (typeof args.command === "string") return `$ ${args.command}`;
  const place = asText(args.path || args.file_path);
  const range = args.offset ? `:${args.offset}${args.limit ? `-${Number(args.offset) + Number(args.limit) - 1}` : ""}` : "";
  return [asText(args.pattern), place + range].filter(Boolean).join(" in ");
}

function diffOf(name, args, result) {
  const details = asObject(result && result.message.details);
  if (typeof details.diff === "string" && details.diff) return details.diff;
  if (typeof details.patch === "string" && details.patch) return details.patch;
  const edits = asList(args.edits).length ? asList(args.edits) : [args];
  return edits.map(asObject).filter((edit) => typeof edit.newText === "string").map(editLines).join("\n");
}

function editLines(edit) {
  const marked = (text, mark) => asText(text).split("\n").map((line) => mark + line);
  return [...marked(edit.oldText, "-"), ...marked(edit.newText, "+")].join("\n");
}

function resultText(result) {
  if (!result) return "";
  return terminalText(textOf(result.message.content)).trimEnd();
}

function textOf(content) {
  if (typeof content === "string") return content;
  return asList(content).filter((block) => asObject(block).type === "text").map((block) => asText(block.text)).join("\n");
}

function images(content) {
  return asList(content).map(asObject).filter((block) => block.type === "image").map(image);
}

function image(block) {
  const type = asText(block.mimeType).toLowerCase();
  const data = asText(block.data).replace(/\s/g, "");
  if (!IMAGE_TYPES.has(type) || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return element("p", "note", `[image of type ${type || "unknown"}, not shown]`);
  const made = element("img");
  made.alt = "Image in the session";
  made.src = `data:${type};base64,${data}`;
  const frame = button("image", made, "Show in full size", () => frame.classList.toggle("full"));
  return frame;
}
