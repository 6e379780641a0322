"""The check before a run ends, in whole conversations with scripted models and commands."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence

import pytest

from kaa.builtin.completion_check.written_code import asks_for_change
from kaa.core.events import AgentEnd, Event
from kaa.core.messages import Json, UserMessage
from kaa.ext.api import events
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_server import ScriptItem, call, say
from tests.support.stage import Stage

_EDIT = call("write", path="a.py", content="x = 1\n")
_PASSED = CommandResult(0, None, b"ok\n", 3, 1)


class Played:
    """A conversation that was played.

    Attributes:
        ends: of its runs.
        told: what hooks told the model.
        verdicts: what the check kept in the session.
        ran: the commands, in their order.
        effects: what commands do to files, by command: the new content by path, None for a file that they remove.
        endless: commands that do not end.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.ends: list[AgentEnd] = []
        self.told: list[str] = []
        self.verdicts: list[dict[str, Json]] = []
        self.ran: list[str] = []
        self.results: dict[str, list[CommandResult]] = {}
        self.observe: Callable[[CommandRequest], None] = lambda _command: None
        self.effects: dict[str, dict[str, bytes | None]] = {}
        self.endless: set[str] = set()

    @property
    def requests(self) -> int:
        return len([one for one in self.stage.server.requests if one.method == "POST"])

    def play(self, script: Sequence[ScriptItem], *messages: str) -> "Played":
        self.stage.server.begin(script)
        self.stage.commands = self._run

        async def scene(conversation: Conversation) -> None:
            conversation.subscribe(self._observe)
            conversation.on_entries(self._entry)
            for message in messages or ("do it",):
                await conversation.submit(message)

        self.stage.play(scene, ConversationOptions(model="m", approvals="auto"))
        return self

    async def _run(self, command: CommandRequest) -> CommandResult:
        if len(command.argv) == 3:  # a call of bash; what kaa wants to know has other forms
            self.ran.append(command.argv[-1])
            self.observe(command)
        for path, content in self.effects.get(command.argv[-1], {}).items():
            if content is None:
                self.stage.workspace.erase(path)
            else:
                await self.stage.workspace.write(path, content)
        if command.argv[-1] in self.endless:
            await asyncio.Event().wait()
        results = self.results.get(command.argv[-1], [])
        return results.pop(0) if len(results) > 1 else (*results, _PASSED)[0]

    def _observe(self, event: Event) -> None:
        match event:
            case AgentEnd():
                self.ends.append(event)
            case events.MessageEnd(message=UserMessage(origin="hook") as message):
                self.told.append("".join(getattr(part, "text", "") for part in message.content))
            case _:
                pass

    def _entry(self, line: bytes) -> None:
        entry = json.loads(line)
        if str(entry.get("customType", "")).endswith(":verification"):
            self.verdicts.append(entry["data"])


@pytest.fixture
def played(stage: Stage) -> Played:
    stage.files["pytest.ini"] = b""
    return Played(stage)


def settings(stage: Stage, **values: Json) -> None:
    stage.home.mkdir(exist_ok=True)
    (stage.home / "settings.json").write_text(json.dumps(values))


def failing(output: str = "E assert 1 == 2") -> CommandResult:
    return CommandResult(1, None, output.encode(), len(output), 1)


class TestReminder:
    def test_an_untested_edit_is_followed_by_one_reminder(self, played: Played) -> None:
        played.play([_EDIT, say("Done."), call("bash", command="pytest -q"), say("Tested.")])

        assert len(played.told) == 1
        assert "a.py" in played.told[0]
        assert "`pytest`" in played.told[0]
        assert played.ends[0].reason == "done"
        assert played.verdicts == [
            {"state": "nothingToVerify", "commands": [], "changed": ["a.py"], "executed": True},
        ]

    def test_a_model_that_argues_is_not_asked_again(self, played: Played) -> None:
        played.play([_EDIT, say("Done."), say("Tests are useless here."), say("never")])

        assert (len(played.told), played.requests) == (1, 3)
        assert played.ends[0].reason == "done"
        assert played.verdicts[0]["executed"] is False

    def test_one_that_edits_again_instead_is_not_reminded_again(self, played: Played) -> None:
        played.play([_EDIT, say("Done."), call("write", path="b.py", content=""), say("Done."), say("never")])

        assert (len(played.told), played.requests) == (1, 4)

    def test_each_message_of_the_user_has_its_own(self, played: Played) -> None:
        other = call("write", path="a.py", content="x = 2\n")

        played.play([_EDIT, say("Done."), say("No."), other, say("Done."), say("No.")], "one", "two")

        assert len(played.told) == 2

    @pytest.mark.parametrize(
        "script",
        [
            [say("It is 42.")],
            [call("read", path="notes.txt"), call("bash", command="cat notes.txt"), say("Milk.")],
            [_EDIT, call("bash", command="pytest -q"), say("Done.")],
            [call("bash", command="sed -i s/a/b/ a.py && pytest"), say("Done.")],
            [call("write", path="/tmp/a.py", content=""), say("Done.")],
            [call("write", path="README.md", content="x"), say("Done.")],
            [call("write", path="sub/.envrc", content="x"), say("Done.")],
            [call("edit", path="none.py", edits=[{"oldText": "a", "newText": "b"}]), say("It is not there.")],
            [call("bash", command="git checkout -- . && git restore b.py; git status"), say("Done.")],
        ],
        ids=[
            "answer",
            "looked",
            "tested",
            "by a command",
            "elsewhere",
            "prose",
            "environment",
            "failed edit",
            "undone",
        ],
    )
    def test_a_run_with_nothing_to_prove_ends_at_once(self, played: Played, script: list[ScriptItem]) -> None:
        played.play(script)

        assert (played.told, played.requests) == ([], len(script))

    @pytest.mark.parametrize(
        "commands",
        [
            ["git stash -u && git stash pop"],
            ["git switch main; git merge topic && git commit -m x"],
            ["git rebase main", "git reset --hard HEAD~1"],
            ["ls; git checkout topic -- b.py"],
            ["git clean -fdq && git revert HEAD"],
        ],
    )
    def test_what_git_exchanges_is_no_work_of_the_run(self, played: Played, commands: list[str]) -> None:
        played.effects[commands[-1]] = {"b.py": b"theirs"}

        played.play([*(call("bash", command=command) for command in commands), say("Done."), say("No.")])

        assert (played.told, played.requests) == ([], len(commands) + 1)

    def test_a_merge_of_what_was_tested_asks_for_no_other_test(self, played: Played) -> None:
        merge = "git commit -qam x && git switch main && git merge topic"
        played.effects[merge] = {"b.py": b"theirs"}

        played.play([_EDIT, call("bash", command="pytest"), call("bash", command=merge), say("Done."), say("No.")])

        assert played.told == []

    @pytest.mark.parametrize(
        "command", ["sed -i s/milk/tea/ notes.txt", "cat > b.py <<'E'\nx\nE", "git merge x; git apply x.diff"]
    )
    def test_files_that_commands_change_count(self, played: Played, command: str) -> None:
        played.effects[command] = {"b.py": b"x", "notes.txt": b"tea"}

        played.play([call("bash", command="pytest"), call("bash", command=command), say("Done."), say("No.")])

        assert len(played.told) == 1

    @pytest.mark.parametrize(
        ("command", "background"), [("while sleep 1; do date > state; done", True), ("date >> sub.log", False)]
    )
    def test_logs_and_what_a_background_command_writes_do_not_count(
        self, played: Played, command: str, background: bool
    ) -> None:
        played.play([call("bash", command=command, background=background), say("It runs.")])

        assert played.told == []

    def test_a_command_that_changes_nothing_does_not_count(self, played: Played) -> None:
        played.play([call("bash", command="rm -rf build *.py"), say("There was nothing.")])

        assert played.told == []

    def test_a_file_that_a_later_command_removes_does_not_count(self, played: Played) -> None:
        played.effects["git clean -fdq"] = {"a.py": None}

        played.play([_EDIT, call("bash", command="git clean -fdq"), say("It is clean.")])

        assert played.told == []

    def test_a_file_that_is_as_before_the_message_does_not_count(self, played: Played) -> None:
        played.effects["cp old.py a.py"] = {"a.py": b"x = 1\n"}
        first = [_EDIT, call("bash", command="pytest"), say("Done.")]
        other = call("write", path="a.py", content="x = 2\n")

        played.play([*first, other, call("bash", command="cp old.py a.py"), say("As it was.")], "one", "two")

        assert played.told == []

    def test_what_remains_is_named(self, played: Played) -> None:
        played.effects["rm b.py"] = {"b.py": None}
        other = call("write", path="b.py", content="x")

        played.play([_EDIT, other, call("bash", command="rm b.py"), say("Done."), say("No.")])

        assert [text.partition(" and have")[0] for text in played.told] == ["You changed a.py"]

    @pytest.mark.parametrize(
        "command",
        ["git commit -qam x && rm -rf assets", "git rm -q assets/x.py", "git clean -fdq", "/bin/rm -r assets; rmdir b"],
    )
    def test_a_deletion_asks_for_no_other_test(self, played: Played, command: str) -> None:
        played.effects["make assets"] = {"assets/x.py": b""}
        played.effects[command] = {"assets/x.py": None}
        commands = [call("bash", command=one) for one in ("make assets", "pytest", command)]

        played.play([_EDIT, *commands, say("Done."), say("No.")])

        assert played.told == []

    def test_only_files_changed_since_the_last_execution_are_named(self, played: Played) -> None:
        other = call("write", path="b.py", content="x")
        after = [call("bash", command="rm -f build.log"), other]

        played.play([_EDIT, call("bash", command="pytest"), *after, say("Done."), say("No.")])

        assert [text.partition(" and have")[0] for text in played.told] == ["You changed b.py"]

    def test_what_a_running_command_appends_to_does_not_count(self, played: Played) -> None:
        serve = "python3 serve.py >> served.json"
        played.endless.add(serve)
        played.effects["git clean -fdq"] = {"served.json": b"{}"}  # meanwhile
        begin = call("bash", command=serve, background=True)

        played.play([begin, call("bash", command="git clean -fdq"), say("It runs.")])

        assert played.told == []

    def test_taking_back_a_part_of_what_was_tested_counts(self, played: Played) -> None:
        commands = [call("bash", command=command) for command in ("pytest", "git checkout -- a.py")]

        played.play([_EDIT, *commands, say("Done."), say("No.")])

        assert len(played.told) == 1

    def test_a_command_that_is_not_there_proves_nothing(self, played: Played) -> None:
        played.results["pytest -q"] = [CommandResult(127, None, b"not found", 9, 1)]

        played.play([_EDIT, call("bash", command="pytest -q"), say("Done."), say("No.")])

        assert len(played.told) == 1

    def test_what_an_agent_changed_counts(self, played: Played) -> None:
        task = call("agent", agent="general", task="write it")

        played.play([task, _EDIT, say("Written."), say("Done."), say("No.")])

        assert len(played.told) == 1
        assert "You changed a.py and have executed nothing since" in played.told[0]

    def test_what_an_agent_executed_counts(self, played: Played) -> None:
        task = call("agent", agent="general", task="write it")

        played.play([task, _EDIT, call("bash", command="pytest"), say("Tested."), say("Done.")])

        assert (played.told, played.requests) == ([], 5)
        assert [(one["changed"], one["executed"]) for one in played.verdicts] == [(["a.py"], True)]

    def test_the_task_is_restated_as_far_as_800_characters(self, played: Played) -> None:
        played.play([_EDIT, say("Done, it works."), say("Done.")], "Write a.py. " + "x" * 200_000)

        assert f"The task was:\n\nWrite a.py. {'x' * 788} …\n\nCompare" in played.told[0]

    def test_where_nothing_can_be_run_there_is_none(self, played: Played) -> None:
        del played.stage.files["pytest.ini"]

        played.play([_EDIT, say("Done."), say("never")])

        assert (played.told, played.requests) == ([], 2)

    def test_auto_of_older_settings_is_the_full_form(self, played: Played) -> None:
        settings(played.stage, features={"completionCheck": "auto"})

        played.play([_EDIT, say("Done, it works."), say("Done.")])

        assert (len(played.told), played.requests) == (1, 3)

    @pytest.mark.parametrize("form", ["light", "off"])
    def test_other_forms_have_none(self, played: Played, form: str) -> None:
        settings(played.stage, features={"completionCheck": form})

        played.play([_EDIT, say("Done."), say("never")])

        assert (played.told, played.requests) == ([], 2)
        assert len(played.verdicts) == (1 if form == "light" else 0)


class TestDeclaredCommands:
    @pytest.fixture(autouse=True)
    def _declared(self, played: Played) -> None:
        settings(played.stage, verify=["make test"])

    def test_they_are_run_by_kaa_and_the_run_is_verified(self, played: Played) -> None:
        played.play([_EDIT, say("Done.")])

        assert played.ran == ["make test"]
        assert (played.told, played.ends[0].reason) == ([], "done")
        assert [one["state"] for one in played.verdicts] == ["verified"]
        assert played.verdicts[0]["commands"][0]["result"] == "passed"

    @pytest.mark.parametrize("command", ["git merge topic", "git status; git stash pop"])
    def test_they_are_run_after_git_exchanged_files(self, played: Played, command: str) -> None:
        played.play([call("bash", command=command), say("Done.")])

        assert played.ran == [command, "make test"]
        assert [one["state"] for one in played.verdicts] == ["verified"]

    def test_a_failure_goes_to_the_model_which_corrects_it(self, played: Played) -> None:
        played.results["make test"] = [failing(), _PASSED]

        played.play([_EDIT, say("Done."), _EDIT, say("Corrected.")])

        assert len(played.told) == 1
        assert "`make test` fails:\nE assert 1 == 2" in played.told[0]
        assert played.ends[0].reason == "done"
        assert [one["state"] for one in played.verdicts] == ["notVerified", "verified"]

    def test_after_two_failures_the_third_ends_the_run(self, played: Played) -> None:
        played.results["make test"] = [failing()]

        played.play([item for _ in range(5) for item in (_EDIT, say("Done."))])

        assert (len(played.told), len(played.ran)) == (2, 3)
        assert played.ends[0].reason == "unverified"
        assert (played.ends[0].error or "").startswith("not verified: `make test` fails")  # and how long it took

    def test_a_model_that_argues_ends_the_run_without_another_check(self, played: Played) -> None:
        played.results["make test"] = [failing()]

        played.play([_EDIT, say("Done."), say("The test is wrong."), say("never")])

        assert (len(played.ran), played.requests) == (1, 3)
        assert played.ends[0].reason == "unverified"

    def test_one_that_hangs_is_told_to_the_model(self, played: Played) -> None:
        played.results["make test"] = [CommandResult(None, 9, b"...", 3, 1, timed_out=True), _PASSED]

        played.play([_EDIT, say("Done."), _EDIT, say("Now it ends.")])

        assert "`make test` does not end:" in played.told[0]
        assert played.ends[0].reason == "done"

    def test_the_time_of_the_run_bounds_it(self, played: Played) -> None:
        settings(played.stage, verify=["make test"], budget={"run": {"minutes": 1}})
        limits: list[float | None] = []
        played.observe = lambda command: limits.append(command.timeout)

        played.play([_EDIT, say("Done.")])

        [limit] = limits
        assert limit is not None
        assert 0 < limit <= 60

    def test_without_time_it_is_not_run_and_the_budget_ends_the_run(self, played: Played) -> None:
        settings(played.stage, verify=["make first", "make second"], budget={"run": {"minutes": 0.004}})
        played.observe = lambda _command: time.sleep(0.25)  # longer than the run may take

        played.play([_EDIT, say("Done."), say("More.")])

        assert "make second" not in played.ran
        assert played.ends[0].reason == "budget"

    def test_what_the_model_ran_itself_since_is_not_run_again(self, played: Played) -> None:
        played.play([_EDIT, call("bash", command="make test"), call("bash", command="ls"), say("Done.")])

        assert played.ran == ["make test", "ls"]
        assert [one["state"] for one in played.verdicts] == ["verified"]

    def test_what_ran_before_the_last_change_is(self, played: Played) -> None:
        played.play([_EDIT, call("bash", command="make test"), _EDIT, say("Done.")])

        assert played.ran == ["make test", "make test"]

    @pytest.mark.parametrize("between", ["python3 generate.py", "make test"])
    def test_what_may_have_changed_something_since_counts(self, played: Played, between: str) -> None:
        played.results["make test"] = [_PASSED, failing(), _PASSED]

        played.play([_EDIT, call("bash", command="make test"), call("bash", command=between), say("."), say(".")])

        assert played.ran.count("make test") == 2 + (between == "make test")

    def test_a_run_that_only_looked_is_not_verified(self, played: Played) -> None:
        played.play([call("bash", command="git log"), say("Done.")])

        assert (played.ran, played.verdicts) == (["git log"], [])

    def test_the_check_of_a_goal_is_not_run_twice(self, played: Played) -> None:
        played.play([_EDIT, say("Done.")], "/goal Do it --check make test")

        assert played.ran == ["make test"]
        assert [one["state"] for one in played.verdicts] == ["verified"]

    def test_one_that_needs_an_approval_says_so_and_is_not_the_models_business(self, played: Played) -> None:
        settings(played.stage, verify=["git push --force"])

        played.play([_EDIT, say("Done."), say("never")])

        assert (played.ran, played.told) == ([], [])
        assert played.ends[0].reason == "unverified"
        assert "`git push --force` needs what is not permitted" in (played.ends[0].error or "")

    def test_without_bash_it_says_so(self, played: Played) -> None:
        played.stage.server.begin([_EDIT, say("Done.")])

        end = played.stage.play(
            lambda conversation: conversation.submit("do it"),
            ConversationOptions(model="m", approvals="auto", exclude_tools=("bash",)),
        )

        assert isinstance(end, AgentEnd)
        assert (end.reason, "switched off" in (end.error or "")) == ("unverified", True)

    def test_off_it_does_nothing(self, played: Played) -> None:
        settings(played.stage, verify=["make test"], features={"completionCheck": "off"})

        played.play([_EDIT, say("Done.")])

        assert (played.ran, played.verdicts) == ([], [])

    def test_the_user_can_skip_it_while_it_runs(self, played: Played) -> None:
        played.stage.server.begin([_EDIT, say("Done.")])

        async def scene(conversation: Conversation) -> tuple[object, str]:
            begun = asyncio.Event()

            async def hang(_: CommandRequest) -> CommandResult:
                begun.set()
                await asyncio.Event().wait()
                raise AssertionError

            played.stage.commands = hang
            running = asyncio.ensure_future(conversation.submit("do it"))
            await begun.wait()
            await conversation.submit("/verify skip")
            return await running, await told(conversation, "/verify")

        end, last = played.stage.play(scene, ConversationOptions(model="m", approvals="auto"))

        assert isinstance(end, AgentEnd)
        assert (end.reason, last) == ("done", "`make test` was not run yet")

    def test_stopping_stops_the_commands(self, played: Played) -> None:
        played.stage.server.begin([_EDIT, say("Done.")])

        async def scene(conversation: Conversation) -> object:
            begun = asyncio.Event()

            async def hang(_: CommandRequest) -> CommandResult:
                begun.set()
                await asyncio.Event().wait()
                raise AssertionError

            played.stage.commands = hang
            running = asyncio.ensure_future(conversation.submit("do it"))
            await begun.wait()
            conversation.abort()
            return await running

        end = played.stage.play(scene, ConversationOptions(model="m", approvals="auto"))

        assert isinstance(end, AgentEnd)
        assert end.reason == "aborted"


async def told(conversation: Conversation, command: str) -> str:
    return str(getattr(await conversation.submit(command), "text", ""))


def test_verify_shows_the_commands_and_their_last_result(played: Played) -> None:
    settings(played.stage, verify=["make test", "make lint"])
    played.results["make lint"] = [failing()]
    played.stage.server.begin([_EDIT, say("Done."), say("It is wrong.")])
    played.stage.commands = played._run

    async def scene(conversation: Conversation) -> str:
        await conversation.submit("do it")
        return await told(conversation, "/verify")

    shown = played.stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert shown.splitlines()[0].startswith("`make test` succeeds")
    assert shown.splitlines()[1].startswith("`make lint` fails")


_CODE = say("Here it is:\n\n```python\nx = 1\n```\nThat is all.")


class TestCodeInTheReply:
    def test_it_is_no_change(self, played: Played) -> None:
        played.play([_CODE, _EDIT, call("bash", command="pytest"), say("Done.")], "Write a.py with x = 1")

        assert len(played.told) == 1
        assert "you changed no file" in played.told[0]
        assert "(edit, write, bash)" in played.told[0]
        assert played.requests == 4

    def test_the_model_is_reminded_once_whatever_it_answers(self, played: Played) -> None:
        played.play([_CODE, _CODE, say("never")], "Fix a.py")

        assert (len(played.told), played.requests) == (1, 2)

    @pytest.mark.parametrize("task", ["How do I write a decorator?", "Show me an example", "What does a.py create?"])
    def test_a_question_needs_no_change(self, played: Played, task: str) -> None:
        played.play([_CODE, say("never")], task)

        assert (played.told, played.requests) == ([], 1)

    def test_words_and_output_are_no_code(self, played: Played) -> None:
        played.play([say("Fixed:\n```\n3 passed\n```\n```text\nok\n```"), say("never")], "Fix a.py")

        assert (played.told, played.requests) == ([], 1)

    @pytest.mark.parametrize("form", ["light", "off"])
    def test_it_can_be_switched_off(self, played: Played, form: str) -> None:
        settings(played.stage, features={"completionCheck": form})

        played.play([_CODE, say("never")], "Write a.py")

        assert (played.told, played.requests) == ([], 1)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Add a test for parse()", True),
        ("please fix the bug in a.py", True),
        ("Could you rename x to y?", True),
        ("The parser fails on empty input. Fix it.", True),
        ("Why does the parser fail?", False),
        ("Explain how to write a parser", False),
        ("Can the parser create files?", False),
        ("Is there a way to add options?", False),
        ("hello", False),
    ],
)
def test_it_is_known_what_asks_for_a_change(task: str, expected: bool) -> None:
    assert asks_for_change(task) == expected
