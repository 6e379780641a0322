"""The work of agents within the transcript of a conversation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.session.agents import agent_path
from kaa.session.entries import CustomMessage
from kaa.session.nested_transcripts import NestedTranscript, nested_transcripts
from kaa.session.reopened import ReopenedSession
from kaa.session.transcript import Transcript
from tests.support.agent_sessions import LEAD, SCOUT, begun, write_with_agents
from tests.support.rich_session import user
from tests.support.sessions import write_session


def nested(path: Path) -> list[NestedTranscript]:
    def entries_of(agent: str) -> Transcript:
        session = ReopenedSession(agent_path(path, agent))
        return Transcript(session, is_torn=session.is_torn)

    store = ReopenedSession(path)
    return list(nested_transcripts(store, Transcript(store), entries_of))


def test_each_stands_behind_the_reply_that_called_for_it(tmp_path: Path) -> None:
    [lead] = nested(write_with_agents(tmp_path))
    [scout] = lead.nested

    assert (lead.at, lead.agent, lead.task, lead.problem) == (2, LEAD, "Lead the search.", "")
    assert (scout.at, scout.agent, scout.nested) == (2, SCOUT, [])
    assert isinstance(scout.entries[0], CustomMessage)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda path: path.unlink(), "No such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "the last line of its session is not whole"),
    ],
)
def test_what_is_missing_is_named_and_the_rest_is_there(
    tmp_path: Path, damage: Callable[[Path], object], named: str
) -> None:
    path = write_with_agents(tmp_path)
    damage(agent_path(path, LEAD))

    found = nested(path)

    assert named in found[0].problem
    assert {one.agent for lead in found for one in (lead, *lead.nested)} == {LEAD, SCOUT}


def test_agents_that_claim_to_have_begun_each_other_are_shown_once(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user("u", None, "hi"),
        begun("b1", "u", LEAD, "1", "a", SCOUT),
        begun("b2", "b1", SCOUT, "1", "a", LEAD),
    )

    assert sorted(each.agent for one in nested(path) for each in (one, *one.nested)) == [LEAD, SCOUT]
