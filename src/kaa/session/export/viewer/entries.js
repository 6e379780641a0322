// One entry of the transcript as an element.

const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

// An entry that is not shown at all gives null: its place is the tree.
function renderEntry(position, isOpen, resultFor) {
  const entry = entryAt(position);
  const parts = partsOf(entry, position, isOpen, resultFor);
  if (!parts) return null;
  const made = element("article", `entry ${parts.kind}`, parts.isPlain ? null : headOf(position, parts), ...parts.body);
  made.id = `entry-${position}`;
  made.dataset.position = position;
  made.tabIndex = -1;
  made.setAttribute("aria-label", parts.name);
  return made;
}

function partsOf(entry, position, isOpen, resultFor) {
  switch (entry.type) {
    case "message":
      return messageParts(asObject(entry.message), position, isOpen, resultFor);
    case "compaction":
      return summaryParts("Compaction", entry, isOpen, entry.tokensBefore ? `${count(entry.tokensBefore, "token")} before` : "");
    case "branch_summary":
      return summaryParts("Summary of a branch that was left", entry, isOpen, "");
    case "custom_message":
      if (entry.display === false) return null;
      return extensionParts(entry, isOpen);
    case "custom":
      if (rows[position][KIND] === "agent") return agentParts(position, isOpen);
      return displayed(entry.display) ? extensionParts({ ...entry, details: entry }, isOpen) : null;
    case "model_change":
      return noteParts(`Model: ${asText(entry.provider)}/${asText(entry.modelId)}`);
    case "thinking_level_change":
      return noteParts(`Thinking: ${asText(entry.thinkingLevel)}`);
    default:
      return null;
  }
}

function noteParts(text) {
  return { kind: "setting", name: text, isPlain: true, body: [element("span", "", text)] };
}

function summaryParts(name, entry, isOpen, note) {
  const notes = [note, usageText(asObject(entry.usage))].filter(Boolean).map((text) => element("span", "note", text));
  const whole = element("details", "summary", element("summary", "", name, ...notes), markdown(asText(entry.summary)));
  whole.open = isOpen;
  return { kind: "condensed", name, isPlain: true, body: [whole] };
}

function messageParts(message, position, isOpen, resultFor) {
  switch (message.role) {
    case "user":
      return { kind: "user", name: "You", body: said(message.content, isOpen) };
    case "custom":
      if (message.display === false) return null;
      return extensionParts(message, isOpen);
    case "assistant":
      return replyParts(message, position, isOpen, resultFor);
    case "toolResult":
      return { kind: "assistant", name: "Result of a tool", body: [toolCard({ name: message.toolName }, { message, position }, position, isOpen)] };
    case "bashExecution":
      return { kind: "user command", name: "You ran", body: [ownCommand(message, isOpen)] };
    default:
      return null;
  }
}

function agentParts(position, isOpen) {
  return { kind: "custom", name: "Agent", body: agentsBegunAt(position, "").map((number) => agentView(number, isOpen)) };
}

function extensionParts(message, isOpen) {
  const shown = displayed(asObject(message.details).display);
  return { kind: "custom", name: labelOf(asText(message.customType)) || "Extension", body: shown ? [shown] : said(message.content, isOpen) };
}

// Without the hash that tells extensions of equal name apart.
function labelOf(type) {
  return type.replace(/^([^:]*)@[0-9a-f]{12}(?=:|$)/, "$1");
}

function said(content, isOpen) {
  const text = textOf(content);
  return [text ? longText(text, isOpen || text.length < 20000, markdown) : null, ...images(content)];
}

function replyParts(message, position, isOpen, resultFor) {
  const body = [];
  const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : asList(message.content);
  for (const block of blocks.map(asObject)) {
    if (block.type === "text" && asText(block.text).trim()) body.push(markdown(block.text));
    else if (block.type === "thinking") body.push(thinking(block, isOpen));
    else if (block.type === "toolCall") body.push(toolCard(block, resultFor(asText(block.id), position), position, isOpen));
  }
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    const reason = asText(message.errorMessage) || (message.stopReason === "aborted" ? "Stopped" : "The request failed");
    body.push(element("p", "problem", reason));
  } else if (message.stopReason === "length") body.push(element("p", "problem", "Ended by the limit of its length"));
  return { kind: "assistant", name: asText(message.model) || "Assistant", body, foot: usageText(asObject(message.usage)) };
}

function thinking(block, isOpen) {
  const text = asText(block.thinking).trim();
  const made = element("details", "thinking", element("summary", "", text ? "Thinking" : "Thinking (encrypted)"));
  if (text) made.append(markdown(text));
  made.open = isOpen && Boolean(text);
  return made;
}

function ownCommand(message, isOpen) {
  const code = message.exitCode;
  const state = message.cancelled ? "stopped" : code ? `exit code ${code}` : "";
  const title = element("div", "tool-title", element("span", "subject", `$ ${asText(message.command)}`), element("span", state ? "state failed" : "state", state));
  const card = element("div", "tool", title);
  const output = terminalText(asText(message.output)).trimEnd();
  title.append(copyButton(() => asText(message.command)));
  if (output) card.append(copiable(plainText(output), longText(output, isOpen, terminalBlock)));
  if (message.excludeFromContext) card.append(element("p", "note", "The model did not see this."));
  return card;
}

function headOf(position, parts) {
  const head = element("header", "entry-head", element("h2", "", parts.name));
  if (index.labels[position]) head.append(element("span", "label", index.labels[position]));
  head.append(siblingSwitch(position), element("span", "space"), element("span", "usage", parts.foot), timeOf(position));
  return head;
}

function timeOf(position) {
  const milliseconds = rows[position][TIME];
  if (!milliseconds) return "";
  const made = element("time", "", dateFormat.format(milliseconds));
  made.dateTime = new Date(milliseconds).toISOString();
  return made;
}

// Where the conversation was continued in several ways: which of them this is, and the way to the others.
function siblingSwitch(position) {
  const siblings = branchSiblings(position);
  if (siblings.length < 2) return "";
  const here = siblings.findIndex((sibling) => currentPath.has(sibling));
  const step = (by) => button("icon", by < 0 ? "‹" : "›", by < 0 ? "Branch before" : "Branch after", () =>
    goTo(siblings[(here + by + siblings.length) % siblings.length]),
  );
  const made = element("span", "siblings", step(-1), `${here + 1}/${siblings.length}`, step(1));
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", `Branch ${here + 1} of ${siblings.length}`);
  return made;
}

// Settings, labels and the like between a branching and the message belong to the branch, so look above them.
function branchSiblings(position) {
  let at = position;
  for (;;) {
    const siblings = childrenOf(rows[at][PARENT]);
    if (siblings.length > 1) return siblings;
    const parent = rows[at][PARENT];
    if (parent < 0 || !["setting", "remark", "other", "branch"].includes(rows[parent][KIND])) return siblings;
    at = parent;
  }
}

function usageText(usage) {
  const sent = (usage.input || 0) + (usage.cacheRead || 0) + (usage.cacheWrite || 0);
  if (!sent && !usage.output) return "";
  const cached = usage.cacheRead ? ` (${Math.round((100 * usage.cacheRead) / sent)} % cached)` : "";
  return `${short(sent)} in${cached} · ${short(usage.output || 0)} out${money(asObject(usage.cost).total)}`;
}

function short(tokens) {
  return tokens < 10000 ? tokens.toLocaleString() : tokens < 1e6 ? `${Math.round(tokens / 1000)}k` : `${(tokens / 1e6).toFixed(1)}M`;
}

function money(dollars) {
  return typeof dollars === "number" && dollars > 0 ? ` · $${dollars < 0.1 ? dollars.toFixed(4) : dollars.toFixed(2)}` : "";
}
