"""Hooks of other agents in a conversation: what they ask the user, and what they hold up."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from kaa.builtin.agent_hooks import agent_hooks_extension
from kaa.builtin.briefing import HEADING
from kaa.components.hooks import Handler, HookDefinition, HookEvent
from kaa.components.hooks.reading import hooks_in
from kaa.core.events import CompactionEnd
from kaa.core.messages import user_message
from kaa.ext.errors import MessageBlockedError
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.blocked import Blocked
from kaa.workspace.memory import CommandHandler, MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult, FedResult, FedStreams, FileInfo
from tests.end_to_end.kaa_process import conversation
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.model_server import WRONG_KEY, Answer, Fault, ScriptItem, call, say
from tests.support.notices import Notices
from tests.support.person import yes_or_no
from tests.support.stage import Stage

T = TypeVar("T")


def hook(event: HookEvent, command: str, matcher: str = "") -> HookDefinition:
    return HookDefinition(event, event, "claude", "command", "mine", of_project=True, matcher=matcher, command=command)


HookHandler = Callable[[CommandRequest, FedStreams], Awaitable[FedResult] | FedResult]


class HookedWorkspace(MemoryWorkspace):
    """A workspace whose commands of hooks are answered by a function."""

    def __init__(self, files: Mapping[str, bytes], hooks: HookHandler, commands: CommandHandler | None) -> None:
        super().__init__(files, commands=commands)
        self._hooks = hooks

    async def run_fed(self, command: CommandRequest, streams: FedStreams) -> FedResult:
        answer = self._hooks(command, streams)
        return answer if isinstance(answer, FedResult) else await answer


def ran(code: int, out: str = "", errors: str = "") -> FedResult:
    return FedResult(code, out.encode(), errors.encode())


def play(
    stage: Stage,
    scene: Callable[[HostedConversation], Awaitable[T]],
    command: HookHandler,
    *hooks: HookDefinition,
    tools: CommandHandler | None = None,
    workspace: type[HookedWorkspace] = HookedWorkspace,
) -> T:
    async def whole() -> T:
        stage.home.mkdir(exist_ok=True)
        (stage.home / "settings.json").write_text('{"compaction": {"keepRecentTokens": 1}}')
        host = stage.host()
        extend = agent_hooks_extension(hooks, (), lambda workspace: workspace)
        host.extensions.load(named("/extensions/hooks.py"), extend)
        stage.workspace = workspace(stage.files, command, tools)
        try:
            hosted = await host.open(ConversationOptions(model="m", approvals="auto"), stage.workspace)
            await hosted.begin()
            return await scene(hosted)
        finally:
            await host.close()

    return run(whole())


@pytest.mark.parametrize("answer", [True, False])
def test_a_hook_that_asks_gets_the_users_answer(stage: Stage, answer: bool) -> None:
    stage.asker = person = yes_or_no(answer)
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])
    output = '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "Really?"}}'

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("go")

    play(stage, scene, lambda _command, _streams: ran(0, output), hook("PreToolUse", "check", "Read"))

    assert [question.title for question in person.questions] == ["A hook asks: run read?"]
    assert person.questions[0].details.startswith("Really?")
    assert ("remember the milk" in str(stage.server.requests[-1].json)) is answer


def test_a_hook_can_refuse_compaction(stage: Stage) -> None:
    stage.server.begin([say("One."), say("Two.")])

    async def scene(hosted: HostedConversation) -> CompactionEnd:
        await hosted.conversation.submit("first")
        await hosted.conversation.submit("second")
        return await hosted.conversation.compaction.compact()

    end = play(stage, scene, lambda _command, _streams: ran(2, "", "Not now."), hook("PreCompact", "check", "manual"))

    assert end.error is not None
    assert end.error.startswith("Not now.")


def test_the_model_gets_the_context_of_the_start_again_after_a_compaction(stage: Stage) -> None:
    stage.server.begin([say("One."), say("Two."), say("summary"), say("Three.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("first")
        await hosted.conversation.submit("second")
        await hosted.conversation.compaction.compact()
        await hosted.conversation.submit("third")

    play(stage, scene, lambda _command, _streams: ran(0, "Speak Latin."), hook("SessionStart", "check", "compact"))

    assert "Speak Latin." not in str(stage.server.requests[0].json)
    assert "Speak Latin." in str(stage.server.requests[-1].json["messages"])


def test_stopping_the_agent_ends_its_hooks(stage: Stage) -> None:
    ended: list[str] = []
    began = asyncio.Event()
    stage.server.begin([call("read", path="notes.txt"), say("Never.")])

    async def hang(_request: CommandRequest, _streams: FedStreams) -> FedResult:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hook")
        raise AssertionError

    async def scene(hosted: HostedConversation) -> None:
        turn = asyncio.ensure_future(hosted.conversation.submit("go"))
        await began.wait()
        hosted.conversation.abort()
        await turn

    play(stage, scene, hang, hook("PreToolUse", "check"))

    assert ended == ["hook"]


def test_a_hook_gets_its_input_from_kaa_and_no_programs_of_the_models(stage: Stage) -> None:
    given: list[tuple[CommandRequest, FedStreams]] = []

    def command(request: CommandRequest, streams: FedStreams) -> FedResult:
        given.append((request, streams))
        return ran(0)

    stage.server.begin([say("Done.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("é" * 100_000)

    play(stage, scene, command, hook("UserPromptSubmit", "check"))

    [(request, streams)] = given
    assert not request.finds_installed  # a missing program of the user's must not be one of the model's
    assert msgspec.json.decode(streams.given)["prompt"] == "é" * 100_000


def test_a_guard_in_the_sandbox_finds_no_program_that_commands_can_write(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/.venv/bin:/usr/bin")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    given: dict[str, Mapping[str, str | None]] = {}

    def command(request: CommandRequest, _streams: FedStreams) -> FedResult:
        given[request.argv[-1]] = request.env
        return ran(0)

    stage.server.begin([call("read", path="notes.txt"), say("Done.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("go")

    line = "python3 -c 'import json'"
    play(stage, scene, command, hook("PreToolUse", "guard"), hook("PreToolUse", line), hook("PostToolUse", "format"))

    assert (given["guard"]["PYTHONSAFEPATH"], given[line]["PYTHONSAFEPATH"]) == (None, "1")
    assert (given["guard"]["PATH"], given["guard"]["PYTHONPATH"]) == ("/usr/bin", None)
    assert "PATH" not in given["format"]  # tools of the project, such as formatters


def answered(stage: Stage, hook: HookDefinition, answer: FedResult, *script: ScriptItem) -> list[str]:
    """Play a run in which each command of a hook has this answer. Returns the results of the calls."""
    stage.server.begin(script)

    def tool(request: CommandRequest) -> CommandResult:
        line = request.argv[-1]
        return CommandResult(0, None, line.encode(), len(line), 1)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, lambda _command, _streams: answer, hook, tools=tool)
    return [text for who, text in conversation(stage.server.requests[-1]) if who == "tool"]


def asking(handler: Handler, prompt: str, event: HookEvent = "PreToolUse", **fields: Any) -> HookDefinition:
    """A hook that asks a model, about commands if it is about calls."""
    groups = [{"matcher": "Bash", "hooks": [{"type": handler, "prompt": prompt, **fields}]}]
    return hooks_in({event: groups}, "claude", "mine", of_project=False).hooks[0]


def test_a_new_input_replaces_the_whole_one(stage: Stage) -> None:
    output = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "echo changed"}}}

    [result] = answered(
        stage,
        hook("PreToolUse", "check", "Bash"),
        ran(0, json.dumps(output)),
        call("bash", command="echo original"),
        say("Done."),
    )

    assert "changed" in result
    assert "original" not in result


def test_hooks_keep_the_agent_from_its_end_eight_times(stage: Stage) -> None:
    stage.display = notices = Notices()

    answered(stage, hook("Stop", "check"), ran(2, "", "Again."), *(say(f"{number}") for number in range(9)))

    assert len(stage.server.requests) == 9
    assert conversation(stage.server.requests[-1])[-1][1].startswith("Again.")
    assert "Hooks kept the agent from its end 8 times" in notices


def test_the_same_failure_of_a_hook_is_shown_once(stage: Stage) -> None:
    stage.display = notices = Notices()
    reads = [call("read", path="notes.txt"), call("read", path="notes.txt"), say("Done.")]
    stage.server.begin([*reads, *reads])

    async def scene(hosted: HostedConversation) -> list[int]:
        counts: list[int] = []
        for message in ("first", "second"):
            await hosted.conversation.submit(message)
            counts.append(sum("exit code 127" in text for text in notices.texts))
        return counts

    counts = play(
        stage, scene, lambda _command, _streams: ran(127, "", "eslint: not found"), hook("PostToolUse", "check")
    )

    assert counts == [1, 1]


def test_hooks_that_begin_alike_and_fail_alike_are_shown_once(stage: Stage) -> None:
    stage.display = notices = Notices()
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("go")

    begin = "check " + "x" * 100
    hooks = (hook("PostToolUse", f"{begin} one"), hook("PostToolUse", f"{begin} two"))
    play(stage, scene, lambda _command, _streams: ran(127, "", "eslint: not found"), *hooks)

    assert sum("exit code 127" in text for text in notices.texts) == 1


def test_a_hook_that_stops_the_agent_keeps_it_from_all_tools(stage: Stage) -> None:
    output = json.dumps({"continue": False, "stopReason": "enough"})

    results = answered(
        stage,
        hook("PostToolUse", "check", "Read"),
        ran(0, output),
        call("read", path="notes.txt"),
        call("write", path="b.txt", content="x"),
        say("Stopped."),
    )

    assert "A hook has stopped the agent: enough" in results[1]
    assert "/project/b.txt" not in stage.workspace.files


def test_no_output_hides_from_hooks_by_words_of_kaa(stage: Stage) -> None:
    stage.server.begin([call("bash", command="echo"), say("Done.")])
    seen: list[str] = []

    def tool(_request: CommandRequest) -> CommandResult:
        text = f"{HEADING}\nhidden".encode()
        return CommandResult(0, None, text, len(text), 2)

    def look(_command: CommandRequest, streams: FedStreams) -> FedResult:
        seen.append(streams.given.decode())
        return ran(0)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, look, hook("PostToolUse", "scan", "Bash"), tools=tool)

    assert "hidden" in seen[0]


def test_an_input_that_is_too_long_for_hooks_passes_none(stage: Stage) -> None:
    sizes = {"small.txt": 100_000, "large.txt": 1_100_000}

    results = answered(
        stage,
        hook("PreToolUse", "check", "Write"),
        ran(0),
        *(call("write", path=path, content="x" * size) for path, size in sizes.items()),
        say("Done."),
    )

    assert [f"/project/{path}" in stage.workspace.files for path in sizes] == [True, False]
    assert "its input is longer than" in results[1]


def test_the_model_answers_for_prompts(stage: Stage) -> None:
    no = say(json.dumps({"ok": False, "reason": "the model refuses"}))

    [result] = answered(
        stage,
        asking("prompt", "Is it safe? $ARGUMENTS"),
        ran(0),
        call("bash", command="echo secret"),
        no,
        say("Done."),
    )

    assert "the model refuses" in result
    assert "echo secret" in str(stage.server.requests[1].json["messages"])


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ('Tests fail.\n{"ok": false, "reason": "tests fail"}', True),
        ('{"ok": true}', False),
        ("I am not sure.", True),
    ],
)
def test_agents_answer_for_hooks(stage: Stage, answer: str, refused: bool) -> None:
    stage.display = notices = Notices()

    [result] = answered(
        stage,
        asking("agent", "Do the tests pass? $ARGUMENTS"),
        ran(0),
        call("bash", command="echo push"),
        call("read", path="notes.txt"),
        say(answer),
        say("Done."),
    )

    assert "echo push" in str(stage.server.requests[1].json["messages"])
    assert "remember the milk" in conversation(stage.server.requests[2])[-1][1]
    assert ("A hook refused bash: " in result) == refused
    assert ("tests fail" in result) == ("Tests" in answer)
    assert ("gave no verdict" in notices) == ("sure" in answer)


_UNANSWERED: dict[str, tuple[ScriptItem, ...]] = {
    "no JSON": (say("Maybe."), say("Who knows?")),
    "too long for hooks": (),
    "too slow": (Answer(("Wait.",), fault=Fault("stall")),),
    "wrong key": (WRONG_KEY,),
}


_CONTINUES: tuple[dict[str, Any], dict[str, Any]] = ({}, {"onFailure": "continue"})


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("problem", _UNANSWERED)
@pytest.mark.parametrize("kind", ["prompt", "agent"])
def test_a_hook_whose_model_does_not_judge_refuses(stage: Stage, kind: Handler, problem: str, passes: bool) -> None:
    """Unless its entry says otherwise. What is too long for hooks passes none, whatever its entry says."""
    entry: dict[str, Any] = {"timeout": 0.5 if problem == "too slow" else 60, **_CONTINUES[passes]}
    script = _UNANSWERED[problem][:1] if kind == "agent" else _UNANSWERED[problem]
    command = "echo " + "x" * (1_100_000 if "long" in problem else 1)

    [result] = answered(
        stage,
        asking(kind, "Safe? $ARGUMENTS", "PreToolUse", **entry),
        ran(0),
        call("bash", command=command),
        *script,
        say("Done."),
    )

    assert ("A hook refused bash: it " in result) == (not passes or "long" in problem)
    assert ('"onFailure": "continue"' in result) == (not passes and "long" not in problem)


def test_a_hook_that_no_model_judges_says_so_in_one_sentence(stage: Stage) -> None:
    guard = asking("prompt", "Safe? $ARGUMENTS", "PreToolUse")

    [result] = answered(stage, guard, ran(0), call("bash", command="echo x"), WRONG_KEY, say("Done."))

    assert "A hook refused bash: it did not judge (No model answered: " in result
    assert ".." not in result
    assert "  " not in result.replace("\n", " ").strip()


def test_what_helps_a_hook_that_the_sandbox_stops_is_said_once(stage: Stage) -> None:
    stage.display = notices = Notices()
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])
    blocked = Blocked("write", "/home/me/log")

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("go")

    hooks = [hook("PostToolUse", f"echo {number} >> ~/log; false") for number in range(3)]
    play(stage, scene, lambda _command, _streams: FedResult(1, b"", b"", blocked=(blocked,)), *hooks)

    told = "\n".join(notices.texts)
    assert told.count("was blocked by the sandbox") == 3
    assert told.count("can log to $TMPDIR") == 1


@pytest.mark.parametrize("passes", [False, True])
def test_a_message_that_no_model_judges_is_refused(stage: Stage, passes: bool) -> None:
    async def scene(hosted: HostedConversation) -> bool:
        try:
            await hosted.work.submit(user_message("go"))
        except MessageBlockedError as error:
            return "did not judge" not in str(error)
        return True

    stage.server.begin([WRONG_KEY, say("Done.")])
    guard = asking("prompt", "Safe?", "UserPromptSubmit", **_CONTINUES[passes])

    assert play(stage, scene, lambda _command, _streams: ran(0), guard) == passes


@pytest.mark.parametrize("kind", ["prompt", "agent"])
def test_a_hook_that_only_informs_refuses_nothing_when_its_model_fails(stage: Stage, kind: Handler) -> None:
    [result] = answered(
        stage,
        asking(kind, "Tidy?", "PostToolUse"),
        ran(0),
        call("bash", command="echo done"),
        WRONG_KEY,
        say("Done."),
    )

    assert "echo done" in result
    assert "objects" not in result


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": "@gone", "content": "new"}),
        ("write", {"file_path": "it's gone", "content": "new"}),
        ("edit", {"path": "@gone", "edits": [{"oldText": "old", "newText": "new"}]}),
        ("read", {"path": "@gone"}),
    ],
)
def test_a_guard_sees_the_name_of_the_file_that_the_tool_uses(
    stage: Stage, tool: str, arguments: dict[str, object]
) -> None:
    stage.files = {"gone": b"old\n", "it\u2019s gone": b"old\n"}

    def guard(_command: CommandRequest, streams: FedStreams) -> FedResult:
        given = msgspec.json.decode(streams.given)["tool_input"]
        path = given.get("file_path") or given["path"]
        return ran(2, "", "protected") if path in ("/project/gone", "/project/it\u2019s gone") else ran(0)

    stage.server.begin([call(tool, **arguments), say("Done.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, guard, hook("PreToolUse", "guard"))

    [result] = [text for who, text in conversation(stage.server.requests[-1]) if who == "tool"]
    assert f"A hook refused {tool}: protected" in result
    assert set(stage.workspace.files.values()) == {b"old\n"}


class LinkedWorkspace(HookedWorkspace):
    """One in which `link` leads to `notes.txt`."""

    async def stat(self, path: str) -> FileInfo | None:
        info = await super().stat("notes.txt" if path == "link" else path)
        return info and msgspec.structs.replace(info, path=f"/project/{path}")


@pytest.mark.parametrize("protected", ["/project/link", "/project/notes.txt"])
def test_a_guard_decides_about_a_link_and_where_it_leads(stage: Stage, protected: str) -> None:
    seen: list[str] = []

    def guard(_command: CommandRequest, streams: FedStreams) -> FedResult:
        seen.append(msgspec.json.decode(streams.given)["tool_input"]["file_path"])
        return ran(2, "", "protected") if seen[-1] == protected else ran(0)

    stage.server.begin([call("read", path="link"), say("Done.")])

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, guard, hook("PreToolUse", "guard"), workspace=LinkedWorkspace)

    [result] = [text for who, text in conversation(stage.server.requests[-1]) if who == "tool"]
    assert "A hook refused read: protected" in result
    assert sorted(seen) == ["/project/link", "/project/notes.txt"]


def test_what_a_formatter_makes_of_a_file_is_told_and_not_taken_for_the_users_save(stage: Stage) -> None:
    """As `black` does after each `write`."""
    stage.server.begin(
        [
            call("write", path="a.py", content="x=1\n"),
            call("write", path="a.py", content="x=2\n"),
            say("Done."),
        ]
    )

    async def formatted(_command: CommandRequest, _streams: FedStreams) -> FedResult:
        data = stage.workspace.files["/project/a.py"]
        await stage.workspace.write("a.py", data.replace(b"=", b" = "))
        return ran(0)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, formatted, hook("PostToolUse", "black", "Write"))

    first, second = [text for role, text in conversation(stage.server.requests[-1]) if role == "tool"]
    assert "a.py changed while hooks ran after this call:" in first
    assert "+x = 1" in first
    assert "was not written" not in second
    assert "+x = 2" in second


def test_what_the_user_saves_while_a_hook_runs_is_not_replaced(stage: Stage) -> None:
    stage.server.begin(
        [
            call("write", path="a.py", content="x=1\n"),
            call("write", path="a.py", content="x=2\n"),
            say("Done."),
        ]
    )

    async def slow(_command: CommandRequest, _streams: FedStreams) -> FedResult:
        data = stage.workspace.files["/project/a.py"]
        if b"mine" not in data:
            await stage.workspace.write("a.py", data + b"mine=1\n")
        return ran(0)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.submit(user_message("go"))

    play(stage, scene, slow, hook("PostToolUse", "tests", "Write"))

    first, second = [text for role, text in conversation(stage.server.requests[-1]) if role == "tool"]
    assert "+mine=1" in first
    assert "was not written" in second
    assert b"mine=1" in stage.workspace.files["/project/a.py"]
