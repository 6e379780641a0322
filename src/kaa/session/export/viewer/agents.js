// What an agent was told, said and did, under the call that began it: folded, and made when somebody opens it.

const agentsBeingDrawn = new Set(); // a damaged file may say that an agent began itself

function agentView(number, isOpen) {
  const agent = agents[number];
  const title = element("summary", "", element("b", "", `Agent ${agent.id}`), " ", element("span", "subject", agent.task), " ", element("span", "note", agent.outcome));
  const view = element("details", "agent", title, agent.problem ? element("p", "problem", agent.problem) : null);
  view.dataset.agent = number;
  let isFilled = false;
  const isWithinItself = () => agentsBeingDrawn.has(number) || view.parentElement?.closest(`details[data-agent="${number}"]`);
  const fillAgent = () => {
    if (isFilled || isWithinItself()) return;
    isFilled = true;
    agentsBeingDrawn.add(number);
    view.append(...agentEntries(agent, isOpen));
    agentsBeingDrawn.delete(number);
    highlight();
  };
  view.addEventListener("toggle", () => view.open && fillAgent());
  if (isOpen) {
    view.open = true;
    fillAgent();
  }
  return view;
}

function agentEntries(agent, isOpen) {
  if (agent.leaf < 0) return agent.problem ? [] : [element("p", "note", "It has said nothing.")];
  const positions = pathTo(agent.leaf);
  const own = button("more", "Show it on its own", "", () => goTo(agent.leaf));
  const drawn = positions.filter(isShown);
  if (drawn.length > SMALL) return [element("p", "note", `It has ${count(drawn.length, "entry", "entries")}. `, own)];
  noteResults(positions);
  return [...drawn.map((position) => renderEntry(position, isOpen, resultFor)).filter(Boolean), own];
}
