"""`/mcp` shows people their servers, and lets them connect, log in, read the log and accept changes."""

import pytest

from kaa.shell.host import HostedConversation
from tests.support.mcp_host import MemoryMcpHost, server, tool_info
from tests.support.mcp_stage import play_with
from tests.support.person import yes_or_no
from tests.support.stage import Stage


def _said(stage: Stage, host: MemoryMcpHost, command: str) -> str:
    """What a command answers."""

    async def scene(hosted: HostedConversation) -> str:
        outcome = await hosted.conversation.submit(command)
        return getattr(outcome, "text", "") or str(outcome)

    return play_with(stage, host, scene)


def test_it_shows_states_offers_files_and_reasons(stage: Stage) -> None:
    host = MemoryMcpHost(
        [
            server("git", tool_info("log"), tool_info("diff"), source="/home/u/mcp.json", description="The repository"),
            server("broken", state="failed", reason="it exited with code 3", source="/home/u/mcp.json"),
        ]
    )

    assert _said(stage, host, "/mcp").splitlines() == [
        "git: known, 2 tools (/home/u/mcp.json)",
        "  The repository",
        "broken: failed (/home/u/mcp.json)",
        "  it exited with code 3",
    ]
    assert host.started == []


def test_connect_starts_a_server_and_says_what_it_is(stage: Stage) -> None:
    host = MemoryMcpHost([server("git", tool_info("log"), state="configured")])

    assert _said(stage, host, "/mcp connect git") == "Connected to memory (MCP 2025-11-25, 1 tool)."
    assert host.started == ["git"]


def test_a_server_that_does_not_start_is_an_error_with_its_reason(stage: Stage) -> None:
    broken = server("git", state="configured")
    broken.problem = "MCP server git did not start: it exited with code 3"

    assert "did not start: it exited with code 3" in _said(stage, MemoryMcpHost([broken]), "/mcp connect git")


def test_login_logs_in(stage: Stage) -> None:
    host = MemoryMcpHost([server("git")])

    assert _said(stage, host, "/mcp login git") == "Logged in to git."
    assert host.logins == ["git"]


def test_an_empty_log_is_said(stage: Stage) -> None:
    assert _said(stage, MemoryMcpHost([server("git")]), "/mcp log git") == "git has logged nothing since kaa started."


@pytest.mark.parametrize(("yes", "held"), [(True, []), (False, ["log"])])
def test_a_change_is_shown_and_accepted(stage: Stage, yes: bool, held: list[str]) -> None:
    host = MemoryMcpHost([server("git", tool_info("log"), held={"log": "it changed"})])
    stage.asker = person = yes_or_no(yes)

    _said(stage, host, "/mcp changes git")

    assert person.questions[0].details == "log:\nlog was changed"
    assert list(host.servers()[0].held) == held


def test_without_a_person_a_change_is_shown_and_stays_held_back(stage: Stage) -> None:
    host = MemoryMcpHost([server("git", tool_info("log"), held={"log": "it changed"})])

    assert _said(stage, host, "/mcp changes git") == "log:\nlog was changed"
    assert list(host.servers()[0].held) == ["log"]


@pytest.mark.parametrize("words", ["connect", "start git", "log git now"])
def test_what_it_does_not_know_is_refused_with_its_forms(stage: Stage, words: str) -> None:
    assert "/mcp connect SERVER" in _said(stage, MemoryMcpHost([server("git")]), f"/mcp {words}")


def test_an_unknown_server_is_refused_with_the_names_of_all(stage: Stage) -> None:
    assert "Servers: git" in _said(stage, MemoryMcpHost([server("git")]), "/mcp log svn")


@pytest.mark.parametrize(
    ("typed", "completed"), [("", ["connect ", "login ", "log ", "changes "]), ("log g", ["log git"]), ("log x", [])]
)
def test_words_and_servers_are_completed(stage: Stage, typed: str, completed: list[str]) -> None:
    async def scene(hosted: HostedConversation) -> list[str]:
        return [one.text for one in await hosted.conversation.complete_command("mcp", typed)]

    assert play_with(stage, MemoryMcpHost([server("git")]), scene) == completed
