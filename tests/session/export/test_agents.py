"""The work of agents in exports: under the calls that began them, with the same things left out."""

import io
from pathlib import Path
from typing import Any

import pytest

from kaa.llm.redaction import Redactor
from kaa.session.export.markdown import write_markdown
from kaa.session.export.page import write_page
from kaa.session.export.request import Exported, ExportError, ExportRequest, Format
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from kaa.session.library.importing import import_session
from kaa.shell.exporting import export_session
from kaa.shell.exporting import write_session as export
from tests.session.export.test_page import embedded
from tests.support.agent_sessions import LEAD, SCOUT, begun, ended, told, write_agent, write_with_agents
from tests.support.rich_session import call, reply, result, text, user
from tests.support.sessions import write_session

_ALL = ExportSelection(all_branches=True)
_READABLE: tuple[Format, ...] = ("html", "markdown")


def exported(path: Path, wanted: Format, selection: ExportSelection = _ALL) -> str:
    out = io.BytesIO()
    with SnapshotFile.open(path) as source:
        export(source, selection, wanted, out)
    return out.getvalue().decode()


def markdown(path: Path) -> str:
    return exported(path, "markdown")


def agents_on_page(path: Path) -> tuple[list[dict[str, Any]], list[list[Any]]]:
    index, entries = embedded(exported(path, "html"))
    assert [entry["id"] for entry in entries] == [row[0] for row in index["rows"]]
    return index["agents"], index["rows"]


def test_markdown_has_an_agent_within_the_call_that_began_it_and_its_agent_within_its_own_call(tmp_path: Path) -> None:
    shown = markdown(write_with_agents(tmp_path))

    order = [
        "## You",
        "The report of the lead.",
        f"<summary>Agent {LEAD}: Lead the search. (done, 2 turns, 1,200 tokens, $0.25",
        "The whole task of the lead.",
        f"<summary>Agent {SCOUT}: Look around.",
        "oak  iron",
        "The scout saw two doors.",
        "The lead is done.",
        "It is found.",
    ]
    assert [shown.count(one) for one in order] == [1] * len(order)
    assert sorted(order, key=shown.index) == order
    assert shown.count("<details>") == shown.count("</details>")


def test_the_page_says_at_which_call_of_which_entry_each_agent_began(tmp_path: Path) -> None:
    agents, rows = agents_on_page(write_with_agents(tmp_path))

    began = {agent["id"]: [(rows[position][0], call_id) for position, call_id in agent["begun"]] for agent in agents}
    assert began == {LEAD: [("r", "1")], SCOUT: [("l2", "1")]}
    assert [rows[agent["leaf"]][0] for agent in agents] == ["l4", "s4"]
    assert [rows[agent["first"]][1] for agent in agents] == [-2, -3]


def test_their_messages_count_and_what_they_used_counts_once(tmp_path: Path) -> None:
    path = write_with_agents(tmp_path)

    with SnapshotFile.open(path) as source:
        by_page, by_text = write_page(source, _ALL, io.BytesIO()), write_markdown(source, _ALL, io.BytesIO())

    assert (by_page.agents, by_page.messages, by_page.tool_results, by_page.thinking_blocks) == (2, 7, 3, 1)
    assert by_page == by_text
    assert by_page.models["anthropic/claude-sonnet"].replies == 2


@pytest.mark.parametrize("wanted", _READABLE)
def test_without_tools_nothing_of_them_is_there(tmp_path: Path, wanted: Format) -> None:
    shown = exported(write_with_agents(tmp_path), wanted, ExportSelection(all_branches=True, tools=False))

    for one in ("Lead the search", "whole task", "two doors", "The lead is done"):
        assert one not in shown


@pytest.mark.parametrize("wanted", _READABLE)
def test_their_thoughts_and_secrets_are_left_out_too(tmp_path: Path, wanted: Format) -> None:
    redactor = Redactor(["two doors", "Look around"])

    shown = exported(
        write_with_agents(tmp_path), wanted, ExportSelection(all_branches=True, thinking=False, redactor=redactor)
    )

    assert "a lead thinks" not in shown
    assert "two doors" not in shown
    assert "Look around" not in shown
    assert "The scout saw" in shown


@pytest.mark.parametrize("wanted", _READABLE)
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda path: path.unlink(), f"The session of {SCOUT} is missing: {SCOUT}.jsonl: No such file"),
        (lambda path: path.write_text("nonsense\n"), f"cannot be read: {SCOUT}.jsonl is not a session file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), f"The end of {SCOUT}.jsonl is missing"),
    ],
)
def test_what_is_missing_of_one_is_named(tmp_path: Path, wanted: Format, damage: Any, named: str) -> None:
    path = write_with_agents(tmp_path)
    damage(path.with_name(f"{path.name}.agents") / f"{SCOUT}.jsonl")

    shown = exported(path, wanted)

    assert named in shown
    assert "The lead is done." in shown


def test_one_that_goes_on_is_shown_at_both_calls_of_the_page_and_once_as_text(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        reply("r1", None, call("1", "agent", task="a")),
        begun("b1", "r1", LEAD, "1", "a"),
        result("t1", "b1", "1", "agent", "report"),
        reply("r2", "t1", call("1", "agent", task="b")),
        begun("b2", "r2", LEAD, "1", "b"),
        result("t2", "b2", "1", "agent", "report"),
    )
    write_agent(path, LEAD, told("x", "the work"))

    [agent], rows = agents_on_page(path)

    assert [(rows[position][0], call_id) for position, call_id in agent["begun"]] == [("r1", "1"), ("r2", "1")]
    assert markdown(path).count("the work") == 1


def test_one_without_a_call_is_shown_where_it_began(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user("u", None, "/bg"), begun("b", "u", LEAD, "", "a"), reply("r", "b", text("after"))
    )
    write_agent(path, LEAD, told("x", "the work"))

    [agent], rows = agents_on_page(path)
    shown = markdown(path)

    assert [(rows[position][0], call_id) for position, call_id in agent["begun"]] == [("b", "")]
    assert shown.index("the work") < shown.index("after")


def test_agents_that_claim_to_have_begun_each_other_end(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user("u", None, "hi"),
        begun("b1", "u", LEAD, "1", "a", SCOUT),
        begun("b2", "b1", SCOUT, "1", "a", LEAD),
    )
    for agent in (LEAD, SCOUT):
        write_agent(path, agent, reply("x", None, text(f"work of {agent}"), call("1", "agent")))

    shown = markdown(path)

    assert [shown.count(f"work of {agent}") for agent in (LEAD, SCOUT)] == [1, 1]
    assert len(agents_on_page(path)[0]) == 2


def lines_exported(path: Path, folder: Path, **wanted: Any) -> Exported:
    request = ExportRequest(target=str(folder / "out.jsonl"), **wanted)
    with SnapshotFile.open(path) as source:
        return export_session(source, request, folder, lambda: Redactor([]))


def test_lines_have_agents_in_a_folder_beside_them_and_are_imported_with_them(tmp_path: Path) -> None:
    session = write_with_agents(tmp_path)
    (tmp_path / "out").mkdir()

    done = lines_exported(session, tmp_path / "out")
    imported = import_session(done.path, lambda _: tmp_path / "library", str(tmp_path))

    assert "with those of 2 agents" in done.report
    assert "out.jsonl.agents" in done.report
    assert imported.missing_agents == 0
    assert markdown(imported.path) == markdown(session)


def test_lines_without_tools_have_no_agents(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    done = lines_exported(write_with_agents(tmp_path), tmp_path / "out", tools=False)

    assert [path.name for path in (tmp_path / "out").iterdir()] == ["out.jsonl"]
    assert "Lead the search" not in done.path.read_text()


def test_a_folder_of_agents_that_is_there_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "out" / "out.jsonl.agents").mkdir(parents=True)

    with pytest.raises(ExportError, match="exists already"):
        lines_exported(write_with_agents(tmp_path), tmp_path / "out")

    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["out.jsonl.agents"]


def test_the_report_names_what_is_missing(tmp_path: Path) -> None:
    session = write_with_agents(tmp_path)
    (session.with_name(f"{session.name}.agents") / f"{SCOUT}.jsonl").unlink()
    (tmp_path / "out").mkdir()

    assert f"The session of {SCOUT} is missing" in lines_exported(session, tmp_path / "out").report


def test_names_lead_to_no_other_files(tmp_path: Path) -> None:
    write_session(tmp_path / "other.jsonl", user("u", None, "not for you"))
    path = write_session(
        tmp_path / "s.jsonl", user("u", None, "hi"), begun("b", "u", "../other", "", "a"), begun("c", "b", "/", "", "a")
    )

    assert "not for you" not in markdown(path) + exported(path, "html")


@pytest.mark.parametrize("wanted", _READABLE)
def test_secrets_in_how_it_ended_are_left_out(tmp_path: Path, wanted: Format) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user("u", None, "Go."),
        begun("b", "u", LEAD, "", "Lead."),
        ended("e", "b", LEAD, "correct-horse"),
    )

    shown = exported(path, wanted, ExportSelection(all_branches=True, redactor=Redactor(["correct-horse"])))

    assert "correct-horse" not in shown
    assert "0.25" in shown


@pytest.mark.parametrize("of_folder", [False, True])
def test_no_link_leads_to_a_session_elsewhere(tmp_path: Path, of_folder: bool) -> None:
    (tmp_path / "mine").mkdir()
    mine = write_with_agents(tmp_path / "mine")
    sent = tmp_path / "sent.jsonl"
    sent.write_bytes(mine.read_bytes())
    folder, agents = tmp_path / "sent.jsonl.agents", tmp_path / "mine/s.jsonl.agents"
    if of_folder:
        folder.symlink_to(agents)
    else:
        folder.mkdir()
        (folder / f"{SCOUT}.jsonl").symlink_to(agents / f"{SCOUT}.jsonl")

    shown = markdown(sent)
    imported = import_session(sent, lambda _: tmp_path / "library", str(tmp_path))

    assert "two doors" not in shown
    assert f"The session of {SCOUT} is not used" in shown
    assert imported.missing_agents == 2
