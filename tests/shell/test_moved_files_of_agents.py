"""Files that the user makes while a command of an agent runs: the agent is not asked, the user is, once."""

import asyncio
import contextlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kaa.ext.asking import NOBODY, Asker
from kaa.ext.questions import Answer, Approval, Deny, PutBack
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.safety import SandboxFlags
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_script import Answer as Reply
from tests.support.model_script import ScriptItem, call, say
from tests.support.model_server import ModelServer
from tests.support.person import Person

pytestmark = pytest.mark.usefixtures("mounts")

_STARTING = """
import msgspec
from kaa.ext.api import TypedTool, text_result

class Start(msgspec.Struct):
    isolated: bool = False
    narrowed: bool = False

async def start(task, context):
    rights = {"writable": ["."], "hosts": ()} if task.narrowed else {"writable": None, "hosts": None}
    result = await context.run_agent(
        "Try it.", name="helper", tools=["bash"], asks=False, isolated=task.isolated, **rights
    )
    return text_result(result.text)

def extend(api):
    api.register_tool(TypedTool("start", "Start an agent.", Start, start), risk="read")
"""
_WAITING = "touch sub/running; until test -e sub/over; do sleep 0.05; done"


class _Played(NamedTuple):
    """What happened: where the agent worked, what is at `sub/.envrc` there, and what was told."""

    content: str | None
    copies: Sequence[str]
    notices: Sequence[str]
    requests: str


def _play(
    script: Sequence[ScriptItem],
    asker: Asker,
    approvals: Any = "auto",  # any: one of the modes
    *,
    saves: Sequence[str] = ("mine\n",),
) -> _Played:
    with folder_elsewhere() as folder:
        project, home = folder / "project", folder / "home" / ".kaa"
        (home / "extensions").mkdir(parents=True)
        (home / "extensions" / "starting.py").write_text(_STARTING)
        (project / "sub").mkdir(parents=True)
        (project / "sub" / "a.txt").touch()
        environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(folder)}
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=project, env=environ, check=True)
        notices: list[str] = []

        async def save(work: "asyncio.Task[object]") -> Path:
            """Save a file when the command of the agent runs, and let it end when the guard has moved that away."""
            while (directory := _where_it_waits(folder)) is None:
                assert not work.done(), (work, notices)
                await asyncio.sleep(0.02)
            for text in saves:
                (directory / ".envrc").write_text(text)
                while (directory / ".envrc").exists():
                    await asyncio.sleep(0.02)
            (directory / "over").touch()
            return directory

        async def scene(server: ModelServer) -> Path:
            served = {**environ, "OPENAI_BASE_URL": f"{server.url}/v1", "KAA_LOCAL_SERVERS": "none"}
            served["OPENAI_API_KEY"] = "k"
            host = Host(HostOptions(), Home(home), served, lambda notice: notices.append(notice.text), asker)
            try:
                workspace = host.workspaces.open(str(project), SandboxFlags())
                options = ConversationOptions(model="m", approvals=approvals)
                conversation = (await host.open(options, workspace)).conversation
                work = asyncio.ensure_future(conversation.submit("work"))
                directory = await save(work)
                await work
                return directory
            finally:
                await host.close()

        with ModelServer([*script, say("Done.")]) as server:
            directory = run(scene(server))
            requests = str([request.json["messages"] for request in server.requests])
        content = None
        with contextlib.suppress(FileNotFoundError):
            content = (directory / ".envrc").read_text()
        return _Played(content, sorted(one.name for one in directory.glob("*kaa-blocked*")), notices, requests)


def _where_it_waits(folder: Path) -> Path | None:
    """Where `_WAITING` has made its file. Other directories come and go meanwhile."""
    return next((Path(at) for at, _, files in os.walk(folder) if at.endswith("/sub") and "running" in files), None)


def _agent(**how: bool) -> list[ScriptItem]:
    return [call("start", **how), call("bash", command=_WAITING), say("Done.")]


@pytest.mark.parametrize("how", [{}, {"isolated": True}], ids=str)
def test_what_the_user_saved_beside_an_agent_is_one_question_and_comes_back(how: dict[str, bool]) -> None:
    person = Person(PutBack())

    played = _play(_agent(**how), person)

    [question] = person.questions
    assert isinstance(question, Approval)
    assert question.agent is not None
    assert question.agent.startswith("helper-")
    assert (played.content, played.copies) == ("mine\n", [])
    assert "kaa-blocked" not in played.requests


def test_what_the_user_saved_twice_is_one_question_about_the_newer_version() -> None:
    person = Person(PutBack())

    played = _play(_agent(), person, saves=("older\n", "mine\n"))

    assert len(person.questions) == 1
    assert (played.content, played.copies) == ("mine\n", [])
    [_, notice] = [one for one in played.notices if ".envrc" in one]
    assert re.search(r"An earlier version of \S+ is in \S+/moved-files/\S+\.envrc\.", notice)


@pytest.mark.parametrize(
    ("answers", "approvals", "how"),
    [([Deny()], "auto", {}), ([], "never", {}), ([], "auto", {"narrowed": True})],
    ids=["refused", "never", "narrowed"],
)
def test_where_it_stays_away_the_user_reads_where_it_is(
    answers: list[Answer], approvals: str, how: dict[str, bool]
) -> None:
    played = _play(_agent(**how), Person(*answers), approvals)

    assert (played.content, played.copies) == (None, [".envrc.kaa-blocked"])
    [notice] = [one for one in played.notices if ".envrc" in one]
    assert re.search(r"restore it when no command runs: (?:cp|mv -T) ", notice)


def test_where_nobody_can_be_asked_the_user_reads_where_it_is() -> None:
    played = _play(_agent(), NOBODY)

    [notice] = [one for one in played.notices if ".envrc" in one]
    assert ".envrc.kaa-blocked" in notice


def test_two_calls_that_ran_at_the_same_time_are_one_question() -> None:
    person = Person(PutBack())
    both = Reply(calls=call("start").calls * 2)
    script = [both, call("bash", command=_WAITING), call("bash", command=_WAITING), say("Done."), say("Done.")]

    played = _play(script, person)

    assert len(person.questions) == 1
    assert played.content == "mine\n"
