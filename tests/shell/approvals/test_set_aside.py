"""Files that the guard moved away: what the question shows is what kaa writes, and nothing else."""

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kaa.core.messages import ToolCall
from kaa.ext.questions import Approval
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.judgement import Allowed, Denied
from kaa.shell.approvals.set_aside import FileAnswers, Outcome, SetAside
from kaa.shell.containment import NoSandbox
from kaa.workspace.blocked import Blocked
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.tables import each

_CALL = ToolCall("c", "bash", {"command": "make"})
_KEPT = ".kaa-blocked"


class Scene:
    """A project in memory, and a person who answers with a yes unless `answer` says something else."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.workspace = MemoryWorkspace(files)
        self.questions: list[Approval] = []
        self.answer: Allowed | Denied = Allowed()
        self.notices: list[str] = []
        self.forbidden: str | None = None
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.offers = SetAside(NoSandbox(self.workspace), self._ask, lambda _call: self.forbidden, self.notices.append)

    async def _ask(self, _call: JudgedCall, question: Approval) -> Allowed | Denied:
        self.questions.append(question)
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.answer

    def path(self, name: str) -> str:
        return posixpath.join(self.workspace.root, name)

    def moved(self, *names: str) -> tuple[Blocked, ...]:
        return tuple(Blocked("protected", self.path(name), self.path(name) + _KEPT) for name in names)

    def offer(self, *names: str) -> Outcome:
        outcome = run(self.offers.offer(_CALL, self.moved(*names)))
        assert outcome is not None
        return outcome

    def content(self, name: str) -> bytes | None:
        return run(self.workspace.read_existing([name], 1_000_000)).get(name)

    def mode(self, name: str) -> int:
        info = run(self.workspace.stat(name))
        assert info is not None
        return info.mode


def shown(question: Approval) -> dict[str, Any]:
    return {posixpath.basename(path): change for path, change in question.arguments.items()}


def test_the_question_shows_the_content_and_a_yes_writes_it() -> None:
    scene = Scene({f".envrc{_KEPT}": b"use flake\nexport A=1\n"})

    outcome = scene.offer(".envrc")

    [question] = scene.questions
    assert shown(question) == {".envrc": "+1 use flake\n+2 export A=1"}
    assert question.permits == ("A yes writes exactly what is shown below, once.",)
    assert (question.suggestion, question.leaves_sandbox) == (None, True)
    assert scene.content(".envrc") == b"use flake\nexport A=1\n"
    assert outcome.settled == scene.moved(".envrc")
    assert "the user allowed it" in outcome.told


@pytest.mark.parametrize(
    ("before", "now"), [({}, "this is not there"), ({".envrc": b"mine"}, "all is as it was before")]
)
def test_the_question_says_what_is_there_now_and_that_a_no_loses_nothing(before: dict[str, bytes], now: str) -> None:
    scene = Scene({f".envrc{_KEPT}": b"theirs"} | before)
    scene.answer = Denied("no")

    scene.offer(".envrc")

    [question] = scene.questions
    assert question.reasons[0].endswith(f"so kaa moved the change away: until you answer, {now}.")
    assert question.reasons[1].startswith("A no loses nothing: this puts the change back later: mv ")
    assert scene.content(".envrc") == before.get(".envrc")
    assert scene.content(f".envrc{_KEPT}") == b"theirs"


def test_beside_background_processes_the_question_says_to_stop_them_first() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})

    run(scene.offers.offer(ToolCall("", "bash", {}), scene.moved(".envrc")))

    [question] = scene.questions
    assert not question.is_of_call
    assert "stop the background processes" in question.reasons[1]


def test_what_somebody_has_put_back_meanwhile_is_not_asked_about() -> None:
    scene = Scene({".envrc": b"a"})

    outcome = run(scene.offers.offer(ToolCall("", "bash", {}), scene.moved(".envrc")))

    assert outcome == Outcome("", scene.moved(".envrc"))
    assert scene.questions == []


def test_answers_hold_for_all_who_share_them() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.answer = Denied("no")
    answers = FileAnswers()
    sandbox = NoSandbox(scene.workspace)
    some, others = (SetAside(sandbox, scene._ask, lambda _call: None, print, answers) for _ in range(2))

    for offers in (some, others):
        run(offers.offer(_CALL, scene.moved(".envrc")))

    assert len(scene.questions) == 1


def test_after_a_yes_no_copy_stays() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a", f".vscode{_KEPT}/a.json": b"1", f".vscode{_KEPT}/sub/b.json": b"2"})

    scene.offer(".envrc", ".vscode")

    assert [entry.name for entry in run(scene.workspace.list("."))] == [".envrc", ".vscode"]


def test_a_copy_that_changed_during_the_question_stays() -> None:
    scene = Scene({f".envrc{_KEPT}": b"shown"})
    scene.meanwhile = lambda: scene.workspace.write(f".envrc{_KEPT}", b"exchanged")

    scene.offer(".envrc")

    assert (scene.content(".envrc"), scene.content(f".envrc{_KEPT}")) == (b"shown", b"exchanged")


def test_what_the_person_made_is_put_back_and_only_the_person_told() -> None:
    scene = Scene({f".envrc{_KEPT}": b"mine", f".vscode{_KEPT}/a.json": b"1"})
    scene.answer = Allowed(puts_back=True)
    run(scene.workspace.put_back(f".envrc{_KEPT}", b"mine", None, 0o700))

    outcome = scene.offer(".envrc", ".vscode")

    assert outcome == Outcome("", scene.moved(".envrc", ".vscode"))
    assert (scene.content(".envrc"), scene.mode(".envrc")) == (b"mine", 0o700)
    assert scene.content(".vscode/a.json") == b"1"
    [notice] = scene.notices
    assert scene.path(".envrc") in notice


@pytest.mark.parametrize("answer", [Allowed(), Allowed(puts_back=True), Denied("no")])
def test_calls_that_ran_at_the_same_time_have_one_question(answer: Allowed | Denied) -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.answer = answer
    scene.meanwhile = lambda: asyncio.sleep(0)

    async def offer_twice() -> list[Outcome | None]:
        return await asyncio.gather(*(scene.offers.offer(_CALL, scene.moved(".envrc")) for _ in range(2)))

    first, second = run(offer_twice())

    assert first is not None
    assert second is not None
    assert (len(scene.questions), first.settled) == (1, second.settled)
    assert scene.content(".envrc") == (None if isinstance(answer, Denied) else b"a")


def test_the_question_has_the_command_that_puts_back_what_is_not_written() -> None:
    scene = Scene({f"sub/.envrc{_KEPT}": b"a", f"my files/mise.toml{_KEPT}": b"b"})

    scene.offer("sub/.envrc", "my files/mise.toml")

    command = f"mv -T sub/.envrc{_KEPT} sub/.envrc && mv -T 'my files/mise.toml{_KEPT}' 'my files/mise.toml'"
    assert any(reason.endswith(command) for reason in scene.questions[0].reasons)


def test_a_no_writes_nothing_and_the_same_content_is_not_asked_again() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.answer = Denied("no")

    outcomes = [scene.offer(".envrc"), scene.offer(".envrc")]

    assert len(scene.questions) == 1
    assert (scene.content(".envrc"), scene.content(f".envrc{_KEPT}")) == (None, b"a")
    assert [outcome.settled for outcome in outcomes] == [(), ()]
    assert outcomes[0].told.startswith("no If this command made it, do not make it another way.")


def test_other_content_is_asked_again_after_a_no() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.answer = Denied("no")
    scene.offer(".envrc")

    run(scene.workspace.write(f".envrc{_KEPT}", b"b"))
    scene.offer(".envrc")

    assert len(scene.questions) == 2


def test_a_file_that_appears_during_the_question_is_not_overwritten() -> None:
    scene = Scene({f".envrc{_KEPT}": b"shown"})
    scene.meanwhile = lambda: scene.workspace.write(".envrc", b"of the user")

    outcome = scene.offer(".envrc")

    assert (outcome.settled, "could not write" in outcome.told) == ((), True)
    assert scene.content(".envrc") == b"of the user"


def test_a_change_is_shown_as_a_diff() -> None:
    scene = Scene({".envrc": b"a\nb\n", f".envrc{_KEPT}": b"a\nc\n"})

    scene.offer(".envrc")

    assert shown(scene.questions[0]) == {".envrc": " 1 a\n-2 b\n+2 c"}
    assert scene.content(".envrc") == b"a\nc\n"


def test_all_files_of_a_call_are_one_question() -> None:
    scene = Scene({f".vscode{_KEPT}/a.json": b"1", f".vscode{_KEPT}/sub/b.json": b"2", f"mise.toml{_KEPT}": b"3"})

    scene.offer(".vscode", "mise.toml")

    assert shown(scene.questions[0]) == {"a.json": "+1 1", "b.json": "+1 2", "mise.toml": "+1 3"}
    assert [scene.content(name) for name in (".vscode/a.json", ".vscode/sub/b.json", "mise.toml")] == [b"1", b"2", b"3"]


def test_a_hook_can_be_executed_and_the_question_says_so() -> None:
    scene = Scene({f".git/hooks/pre-commit{_KEPT}": b"#!/bin/sh\n"})

    scene.offer(".git/hooks/pre-commit")

    [question] = scene.questions
    assert question.warning == "git runs pre-commit with your rights"
    assert "permission to be executed" in question.reasons[-1]
    assert scene.mode(".git/hooks/pre-commit") & 0o111 == 0o111


def test_of_git_s_configuration_the_settings_are_shown_that_change() -> None:
    before, after = b"[core]\n\tbare = false\n", b'[core]\n\tbare = false\n[alias]\n\tx = "!true"\n[user]\n\tname = A\n'
    scene = Scene({".git/config": before, f".git/config{_KEPT}": after})

    scene.offer(".git/config")

    [question] = scene.questions
    assert shown(question) == {"config": "+alias.x = !true\n+user.name = A"}
    assert question.warning == "git or another tool may execute what alias.x says"
    assert scene.content(".git/config") == after


def test_control_characters_and_marks_of_direction_are_shown_as_escapes() -> None:
    scene = Scene({f".envrc{_KEPT}": "a\x1b[2K\r\u202eb".encode()})

    scene.offer(".envrc")

    assert shown(scene.questions[0]) == {".envrc": "+1 a\\x1b[2K\\r\\u202eb"}


@each("letter", "\u3164\u115f\u1160\uffa0\u2800\u034f\ufe0f\U000e0100\u180b\u17b4\u200d")
def test_letters_that_are_not_to_be_seen_are_shown_as_escapes(letter: str) -> None:
    scene = Scene({f".envrc{_KEPT}": f"PATH_add bin\u00fc{letter}".encode()})

    scene.offer(".envrc")

    assert shown(scene.questions[0]) == {".envrc": f"+1 PATH_add bin\u00fc{ascii(letter)[1:-1]}"}


def test_text_that_looks_like_an_escape_is_shown_as_another_one() -> None:
    scene = Scene({".envrc": b"\\x1b", f".envrc{_KEPT}": b"\x1b"})

    scene.offer(".envrc")

    assert shown(scene.questions[0]) == {".envrc": "-1 \\\\x1b\n+1 \\x1b"}


def test_values_of_git_s_settings_hide_no_letter() -> None:
    scene = Scene({f".git/config{_KEPT}": "[core]\n\tpager = le\u3164ss\\n\n".encode()})

    scene.offer(".git/config")

    assert shown(scene.questions[0]) == {"config": "+core.pager = le\\u3164ss\\n"}


def test_settings_of_git_in_another_order_are_shown() -> None:
    before = b"[credential]\n\thelper = \n\thelper = store\n"
    after = b"[credential]\n\thelper = store\n\thelper = \n[user]\n\tname = A\n"
    scene = Scene({".git/config": before, f".git/config{_KEPT}": after})

    scene.offer(".git/config")

    assert shown(scene.questions[0])["config"].splitlines() == [
        "-credential.helper = ",
        "-credential.helper = store",
        "+credential.helper = store",
        "+credential.helper = ",
        "+user.name = A",
    ]


@each(
    ("files", "name", "reason"),
    [
        ({f".envrc{_KEPT}": b"x" * 200_000}, ".envrc", "more than 128 KiB"),
        ({f".vscode{_KEPT}/{number}": b"x" for number in range(30)}, ".vscode", "more than 20 files"),
        ({f".vscode{_KEPT}/{a}/{b}": b"x" for a in "abcde" for b in "abcde"}, ".vscode", "more than 20 files"),
        ({f".envrc{_KEPT}": b"\xff\xfe"}, ".envrc", "not UTF-8"),
        ({}, ".envrc", "is gone"),
        ({f".git/hooks/x.kaa-blocked{_KEPT}": b"a"}, ".git/hooks/x.kaa-blocked", "moved away before"),
        ({f"x\ny/.envrc{_KEPT}": b"a"}, "x\ny/.envrc", "characters that cannot be shown"),
        ({f"x\u3164/.envrc{_KEPT}": b"a"}, "x\u3164/.envrc", "characters that cannot be shown"),
        ({f".git/objects/info/alternates{_KEPT}": b"/x"}, ".git/objects/info/alternates", "only the configuration"),
        ({f".git/config{_KEPT}": b"[broken"}, ".git/config", "cannot read its configuration"),
        ({".envrc/a": b"x", f".envrc{_KEPT}": b"x"}, ".envrc", "a directory"),
    ],
)
def test_what_cannot_be_shown_is_not_asked_about(files: dict[str, bytes], name: str, reason: str) -> None:
    scene = Scene(files)

    assert reason in scene.offer(name).told
    assert scene.questions == []


def test_a_file_that_was_moved_away_in_pieces_is_one_question_about_the_last_that_names_the_others() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a", f".envrc{_KEPT}-2": b"b"})
    path = scene.path(".envrc")

    pieces = [Blocked("protected", path, f"{path}{_KEPT}"), Blocked("protected", path, f"{path}{_KEPT}-2")]
    outcome = run(scene.offers.offer(_CALL, pieces))

    assert outcome is not None
    assert outcome.settled == (pieces[1], pieces[0])
    assert outcome.told.endswith(
        f"An earlier version of {path} is in {path}{_KEPT}. If a command wrote it in parts, only the last part was"
        " written again."
    )
    [question] = scene.questions
    assert f"An earlier version of {path} is in {path}{_KEPT}." in question.reasons
    assert scene.workspace.files == {path: b"b", f"{path}{_KEPT}": b"a"}


def test_of_what_was_refused_before_the_person_reads_that_it_was_moved_away_again() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.answer = Denied("no")
    scene.offer(".envrc")

    outcome = scene.offer(".envrc")

    assert "is not asked again" in outcome.told
    assert len(scene.questions) == 1
    [notice] = scene.notices
    assert f"moved {scene.path('.envrc')} away again" in notice
    assert "mv -T .envrc.kaa-blocked .envrc" in notice


def test_a_rule_that_forbids_a_file_holds() -> None:
    scene = Scene({f".envrc{_KEPT}": b"a"})
    scene.forbidden = "the rule forbids it"

    assert scene.offer(".envrc").told.startswith("the rule forbids it")
    assert scene.questions == []


def test_other_findings_of_the_guard_are_not_asked_about() -> None:
    scene = Scene({f".git{_KEPT}/config": b"a"})

    found = [Blocked("git", scene.path(".git"), scene.path(".git") + _KEPT), Blocked("flood")]

    assert run(scene.offers.offer(_CALL, found)) is None
    assert scene.questions == []


def test_for_a_directory_without_a_file_the_tools_are_named(tmp_path: Path) -> None:
    path = str(tmp_path / ".vscode")
    Path(path + _KEPT).mkdir()

    async def ask(_call: JudgedCall, _question: Approval) -> Allowed:
        raise AssertionError("there is nothing to show")

    async def offer() -> Outcome | None:
        workspace = LocalWorkspace.start(str(tmp_path), env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
        try:
            offers = SetAside(NoSandbox(workspace.unconfined()), ask, lambda _call: None, print)
            return await offers.offer(_CALL, [Blocked("protected", path, path + _KEPT)])
        finally:
            await workspace.close()

    outcome = run(offer())

    assert outcome is not None
    assert "there is no file in it. Write all of it with the write tool" in outcome.told


@pytest.mark.parametrize("puts_back", [False, True])
@pytest.mark.parametrize("link", ["the directory", "the file"])
def test_a_link_that_appears_during_the_question_leads_nowhere(tmp_path: Path, link: str, puts_back: bool) -> None:
    project, canary = tmp_path / "project", tmp_path / "elsewhere"
    (project / "sub").mkdir(parents=True)
    canary.mkdir()
    (project / "sub" / f".envrc{_KEPT}").write_text("a")

    async def exchange(_call: JudgedCall, _question: Approval) -> Allowed:
        if link == "the file":
            (project / "sub" / ".envrc").symlink_to(canary / ".envrc")
        else:
            (project / "sub").rename(project / "former")
            (project / "sub").symlink_to(canary)
        return Allowed(puts_back=puts_back)

    async def offer() -> Outcome | None:
        workspace = LocalWorkspace.start(str(project), env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
        try:
            offers = SetAside(NoSandbox(workspace.unconfined()), exchange, lambda _call: None, print)
            path = str(project / "sub" / ".envrc")
            return await offers.offer(_CALL, [Blocked("protected", path, path + _KEPT)])
        finally:
            await workspace.close()

    outcome = run(offer())

    assert outcome is not None
    assert outcome.settled == ()
    assert list(canary.iterdir()) == []
