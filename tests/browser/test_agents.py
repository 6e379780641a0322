"""The work of agents on the page: folded under the call that began it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.agent_sessions import LEAD, SCOUT, begun, write_agent, write_with_agents
from tests.support.browser import Page
from tests.support.rich_session import call, reply, text, user
from tests.support.sessions import write_session

Export = Callable[[Path], Path]

_OPEN = "document.querySelectorAll('.agent[open]').length"


@pytest.fixture
def agents(tmp_path: Path, page: Page, exported: Export) -> Page:
    page.open(exported(write_with_agents(tmp_path)))
    return page


def test_it_is_folded_in_its_call_and_its_own_agent_in_the_call_of_that(agents: Page) -> None:
    assert agents.evaluate("document.querySelectorAll('.agent').length") == 1
    assert "The whole task" not in agents.text("#entries")
    assert f"Agent {LEAD}" in agents.text(".tool > .agent > summary")
    assert "2 turns, 1,200 tokens, $0.25" in agents.text(".tool > .agent > summary")

    agents.click(".agent > summary")
    agents.wait_for("document.querySelectorAll('.agent .agent').length == 1")

    assert "The whole task of the lead." in agents.text(".agent")
    assert "The scout saw" not in agents.text(".agent")

    agents.click(".agent .agent > summary")
    agents.wait_for("document.querySelector('.agent .agent').innerText.includes('The scout saw two doors.')")

    assert f"Agent {SCOUT}" in agents.text(".agent .tool > .agent > summary")
    assert "oak  iron" in agents.text(".agent .agent .tool")
    assert agents.evaluate("document.querySelectorAll('.siblings').length") == 0
    assert agents.problems() == []


def test_expanding_everything_expands_them(agents: Page) -> None:
    agents.press("e")
    assert agents.evaluate(_OPEN) == 2
    assert "The scout saw two doors." in agents.text("#entries")

    agents.press("e")
    assert agents.evaluate(_OPEN) == 0


def test_one_can_be_read_on_its_own_and_leads_back(agents: Page) -> None:
    agents.click(".agent > summary")
    agents.wait_for("document.querySelector('.agent > .more') !== null")
    agents.click(".agent > .more")

    assert "Find the door." not in agents.text("#entries")
    assert "The lead is done." in agents.text("#entries")
    assert f"This is the work of {LEAD}." in agents.text("#end")

    agents.click("#end .more")

    assert "Find the door." in agents.text("#entries")


def test_they_are_found_and_listed_apart(agents: Page) -> None:
    lines = "[...document.querySelectorAll('#tree .preview')].map((e) => e.textContent)"
    assert agents.evaluate(lines) == [
        "Find the door.",
        "I ask.",
        f"{LEAD}: Lead the search.",
        f"{SCOUT}: Look around.",
        "It is found.",
    ]

    agents.evaluate(
        "(() => { const kinds = document.getElementById('tree-kinds'); kinds.value = 'agents';"
        " kinds.dispatchEvent(new Event('change')); })()"
    )

    assert "The scout saw two doors." in agents.evaluate(lines)
    assert "It is found." not in agents.evaluate(lines)


def test_with_tools_hidden_nothing_of_them_is_seen(agents: Page) -> None:
    agents.press("e", "o")

    assert "The scout saw" not in agents.text("#entries")


def test_a_missing_session_is_named_and_agents_that_began_each_other_end(
    tmp_path: Path, page: Page, exported: Export
) -> None:
    session = write_session(
        tmp_path / "s.jsonl",
        user("u", None, "hi"),
        begun("b1", "u", LEAD, "", "a"),
        begun("b2", "b1", SCOUT, "", "lost"),
        begun("b3", "b2", LEAD, "1", "a", LEAD),
    )
    write_agent(session, LEAD, reply("x", None, text("mine"), call("1", "agent")))

    page.open(exported(session))
    page.press("e")

    assert f"The session of {SCOUT} is missing" in page.text("#entries")
    assert page.text("#entries").count("mine") == 1
    assert page.problems() == []
