"""What is typed and not sent survives a kill, and comes back with its session."""

import json
import os
import re
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.seat import READY, Seat, answer, enter, is_idle, pausing
from tests.support.model_server import say
from tests.support.program import Program
from tests.support.sessions import HEADER, user_entry, write_session


def drafts(seat: Seat) -> list[Path]:
    return sorted(seat.home.glob("sessions/**/*.draft"))


def is_kept(seat: Seat, text: str) -> bool:
    return text in content_of(drafts(seat))


def content_of(paths: Iterable[Path]) -> str:
    """What stands in files that kaa may remove at any moment."""
    content = ""
    for path in paths:
        with suppress(FileNotFoundError):
            content += path.read_text("utf-8")
    return content


def is_in_home(seat: Seat, *texts: str) -> bool:
    kept = content_of(seat.home.glob("starting/*.json"))
    return all(text in kept for text in texts)


def kill(program: Program) -> None:
    os.kill(program.pid, signal.SIGKILL)
    program.wait_for_end()


def test_a_draft_comes_back_with_its_session_and_goes_when_it_is_sent(seat: Seat) -> None:
    with seat.open("tell me of apples", script=[say("All about apples.")]) as program:
        program.wait_for("All about apples.")
        program.wait_for(is_idle)
        program.type("and how do they taste when")
        program.wait_for(lambda _: is_kept(seat, "how do they taste"))
        assert [path.stat().st_mode & 0o777 for path in drafts(seat)] == [0o600]
        kill(program)

    with seat.start("-c", script=[say("Sour.")]) as program:
        program.wait_for(READY)
        program.wait_for("and how do they taste when")
        enter(program, " green?")
        program.wait_for("Sour.")
        program.wait_for(is_idle)
        program.press("ctrl+d")
        assert program.wait_for_end() == 0

    assert seat.heard()[-1] == ("user", "and how do they taste when green?")
    assert drafts(seat) == []


def test_what_was_sent_and_waits_for_the_model_comes_back_before_the_draft(seat: Seat) -> None:
    def waits(*texts: str) -> bool:
        kept = "".join(path.read_text("utf-8") for path in seat.home.glob("sessions/**/*.waiting"))
        return all(text in kept for text in texts)

    with seat.open("tell me of apples", script=[pausing("All about")]) as program:
        program.wait_for("All about")
        enter(program, "and of pears")
        program.type("at last of plums")
        program.press("alt+enter")
        program.wait_for(lambda _: waits("and of pears", "at last of plums"))
        program.type("not yet")
        program.wait_for(lambda _: is_kept(seat, "not yet"))
        kill(program)

    with seat.start("-c", script=[say("Sweet.")]) as program:
        program.wait_for("kaa ended before 2 messages were sent")
        program.wait_for(re.compile(r"at last of plums\s+not yet"))
        enter(program, "")
        program.wait_for("Sweet.")
        program.wait_for(is_idle)
        program.press("ctrl+d")
        assert program.wait_for_end() == 0

    assert seat.heard()[-1] == ("user", "and of pears\n\nat last of plums\n\nnot yet")
    assert not list(seat.home.glob("sessions/**/*.waiting"))


def test_what_is_entered_while_kaa_starts_is_shown_and_survives_a_kill(seat: Seat) -> None:
    waits = {"type": "command", "command": f"until [ -e {seat.project / 'go'} ]; do sleep 0.1; done"}
    (seat.home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "", "hooks": [waits]}]}}))
    with seat.start() as program:
        program.wait_for("Ask kaa to do something")
        enter(program, "tell me of apples")
        program.wait_for("afterwards: tell me of apples")
        enter(program, "no, of figs")
        program.wait_for("afterwards: no, of figs")
        program.press("alt+up")  # it comes back, and goes
        program.press("ctrl+c")
        program.type("and of pears")
        program.wait_for(lambda _: is_in_home(seat, "tell me of apples", "and of pears"))
        kill(program)

    (seat.project / "go").touch()
    for _ in range(2):  # a second kill loses nothing either
        with seat.start(script=[say("Sweet.")]) as program:
            program.wait_for(re.compile(r"tell me of apples\s+and of pears"))
            program.wait_for(lambda _: is_kept(seat, "tell me of apples") and not is_in_home(seat, "apples"))
            kill(program)
    with seat.start(script=[say("Sweet.")]) as program:
        program.wait_for(re.compile(r"tell me of apples\s+and of pears"))
        program.wait_for(READY)
        enter(program, "")
        program.wait_for("Sweet.")

    assert seat.heard()[-1] == ("user", "tell me of apples\n\nand of pears")


def test_what_is_entered_while_kaa_starts_is_sent_in_order_also_where_a_file_is_named(seat: Seat) -> None:
    waits = {"type": "command", "command": f"until [ -e {seat.project / 'go'} ]; do sleep 0.1; done"}
    (seat.home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "", "hooks": [waits]}]}}))
    (seat.project / "a.txt").write_text("fruit\n")
    with seat.start(script=[say("Sweet."), say("Sour.")]) as program:
        program.wait_for("Ask kaa to do something")
        for text in ("look into @a.txt ", "second", "third"):
            enter(program, text)
            program.wait_for(f"afterwards: {text.strip()}")
        (seat.project / "go").touch()
        program.wait_for("Sour.")
        program.wait_for(READY)

    entered = [content for role, content in seat.heard() if role == "user"]
    assert [next(word for word in ("a.txt", "second", "third") if word in text) for text in entered] == [
        "a.txt",
        "second",
        "third",
    ]


def test_what_is_entered_and_typed_while_another_session_opens_comes_back_in_that_order(seat: Seat) -> None:
    go = hooked(seat, "SessionStart")
    go.touch()
    with seat.open("tell me of figs", script=[say("All about figs.")]) as program:
        program.wait_for("All about figs.")
        program.wait_for(is_idle)
        go.unlink()
        enter(program, "/new")
        enter(program, "tell me of apples")
        program.wait_for("afterwards: tell me of apples")
        program.type("and of pears")
        program.wait_for(lambda _: is_in_home(seat, "tell me of apples", "and of pears"))
        kill(program)

    go.touch()
    with seat.open() as program:
        program.wait_for(re.compile(r"tell me of apples\s+and of pears"))
    with seat.open("-c") as program:
        program.wait_for("All about figs.")
        assert "pears" not in program.screen.text()


def test_the_message_that_a_fork_puts_into_the_editor_survives_a_kill(seat: Seat) -> None:
    with seat.open(script=[say("All about figs."), say("All about plums.")]) as program:
        for text in ("figs", "plums"):
            enter(program, f"tell me of {text}")
            program.wait_for(f"All about {text}.")
            program.wait_for(is_idle)
        enter(program, "/fork")
        program.wait_for("Fork before which message?")
        program.type("plums")
        program.wait_for(re.compile("› .*plums"))
        program.press("enter")
        program.wait_for("continues in a copy")
        kill(program)

    with seat.open("-c") as program:
        program.wait_for("tell me of plums")
        assert "All about plums." not in program.screen.text()


def test_without_a_session_nothing_that_is_entered_while_kaa_starts_is_written(seat: Seat) -> None:
    waits = {"type": "command", "command": f"until [ -e {seat.project / 'go'} ]; do sleep 0.1; done"}
    (seat.home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "", "hooks": [waits]}]}}))
    with seat.start("--no-session", script=[say("Sweet.")]) as program:
        program.wait_for("Ask kaa to do something")
        enter(program, "tell me of apples")
        program.wait_for("afterwards: tell me of apples")
        program.type("and of pears")
        program.wait_for("and of pears")
        assert not (seat.home / "starting").exists()
        (seat.project / "go").touch()
        program.wait_for("Sweet.")

        assert not (seat.home / "starting").exists()


def test_what_came_back_survives_a_second_kill_at_once(seat: Seat) -> None:
    with seat.open("tell me of apples", script=[pausing("All about")]) as program:
        program.wait_for("All about")
        enter(program, "and of pears")
        program.wait_for(lambda _: any(seat.home.glob("sessions/**/*.waiting")))
        kill(program)
    for _ in range(2):
        with seat.start("-c") as program:
            program.wait_for("and of pears")
            kill(program)

    with seat.start("-c", script=[say("Sweet.")]) as program:
        program.wait_for("and of pears")
        program.wait_for(READY)
        enter(program, "")
        program.wait_for("Sweet.")

    assert seat.heard()[-1] == ("user", "and of pears")


def test_a_draft_of_a_session_without_a_message_comes_back_with_the_next_new_one(seat: Seat) -> None:
    with seat.open() as program:
        program.type("the very first words")
        program.wait_for(lambda _: is_kept(seat, "the very first words"))
        with seat.open() as other:  # its neighbour lives, so that this draft is not offered
            other.wait_for(READY)
            assert "very first words" not in other.screen.text()
            other.press("ctrl+d")
            assert other.wait_for_end() == 0
        kill(program)

    with seat.open() as program:
        program.wait_for("the very first words")
        program.press("ctrl+c", "ctrl+d")
        assert program.wait_for_end() == 0

    assert drafts(seat) == []


def test_a_draft_whose_completion_is_broken_does_not_end_the_terminal(seat: Seat) -> None:
    folder = seat.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from kaa.ext.api import Reply, Suggestion\n"
        "async def odd(arguments, context):\n"
        "    return Reply(5)\n"
        "def extend(api):\n"
        "    api.register_command('cps', 'Odd', odd, complete=lambda typed, context: [Suggestion(5, 6)])\n"
    )
    with seat.open() as program:
        program.type("/cps r")
        program.wait_for(re.compile(r"completion\s+of\s+/cps\s+returned"))
        program.wait_for(lambda _: is_kept(seat, "/cps r"))
        kill(program)

    with seat.open() as program:
        program.wait_for("/cps r")
        program.wait_for(re.compile(r"completion\s+of\s+/cps\s+returned"))
        enter(program, "")
        program.wait_for(re.compile(r"command\s+/cps\s+returned\s+Reply"))
        program.wait_for(READY)
        program.press("ctrl+c", "ctrl+d")
        assert program.wait_for_end() == 0


def hooked(seat: Seat, event: str) -> Path:
    """Have a hook wait for the file that is returned."""
    go = seat.project / "go"
    waits = {"type": "command", "command": f"until [ -e {go} ]; do sleep 0.1; done"}
    (seat.home / "hooks.json").write_text(json.dumps({"hooks": {event: [{"matcher": "", "hooks": [waits]}]}}))
    return go


def secret(seat: Seat, tier: str) -> str:
    """A file that kaa asks about before it is sent, as it is mentioned."""
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    path = seat.home.parent / ".aws" / "credentials"
    path.parent.mkdir()
    path.write_text("grapes\n")
    return "@~/.aws/credentials"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
@pytest.mark.parametrize("has_file", [False, True])
def test_messages_whose_files_are_not_read_yet_come_back(
    seat: Seat, tier: str, how: signal.Signals, *, has_file: bool
) -> None:
    about = secret(seat, tier)
    with seat.open(*["tell me of figs"] * has_file, script=[say("All about figs.")], sandbox="") as program:
        if has_file:
            program.wait_for("All about figs.")
        program.wait_for(is_idle)
        enter(program, f"look into {about} first")
        program.wait_for("may hold secrets")
        enter(program, "second")
        enter(program, "/name third")
        program.type("not yet")
        program.wait_for(lambda _: is_kept(seat, "not yet"))
        os.kill(program.pid, how)
        program.wait_for_end()

    with seat.open(*["-c"] * has_file) as program:
        text = rf"look\s+into\s+{re.escape(about)}\s+first\s+second\s+/name\s+third\s+not\s+yet"
        program.wait_for(re.compile(text))
        assert len(re.findall("second", program.screen.text())) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
@pytest.mark.parametrize("has_file", [False, True])
def test_messages_that_a_hook_looks_at_come_back(seat: Seat, how: signal.Signals, *, has_file: bool) -> None:
    go = hooked(seat, "UserPromptSubmit")
    go.touch()
    with seat.open(*["tell me of figs"] * has_file, script=[say("All about figs.")]) as program:
        if has_file:
            program.wait_for("All about figs.")
        program.wait_for(is_idle)
        go.unlink()
        enter(program, "look into apples first")
        program.type("second")
        program.press("alt+enter")
        program.type("not yet")
        program.wait_for(lambda _: is_kept(seat, "not yet"))
        os.kill(program.pid, how)
        program.wait_for_end()

    with seat.open(*["-c"] * has_file) as program:
        program.wait_for(re.compile(r"look\s+into\s+apples\s+first\s+second\s+not\s+yet"))
        assert len(re.findall("second", program.screen.text())) == 1


def test_what_is_entered_is_done_in_its_order_where_a_file_is_asked_about(seat: Seat, tier: str) -> None:
    about = secret(seat, tier)
    with seat.start(about, "first", script=[say("Sweet."), say("Sour.")], sandbox="") as program:
        program.wait_for("may hold secrets")
        enter(program, "second")
        enter(program, "/name third")
        answer(program, "y")
        program.wait_for("third")
        program.wait_for("Sour.")
        program.wait_for(READY)

    said = [content for role, content in seat.heard() if role == "user"]
    assert [next(word for word in ("first", "second") if word in text) for text in said] == ["first", "second"]


def test_commands_of_the_command_line_are_done_before_what_is_entered_while_kaa_starts(seat: Seat) -> None:
    go = hooked(seat, "SessionStart")
    folder = seat.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from kaa.ext.api import Submit\n"
        "async def ask(arguments, context):\n"
        "    return Submit(f'asked {arguments}')\n"
        "def extend(api):\n"
        "    api.register_command('ask', 'Ask', ask, argument_hint='ABOUT')\n"
    )
    with seat.start("/ask apples", script=[say("Sweet."), say("Sour.")]) as program:
        program.wait_for("Ask kaa to do something")
        enter(program, "and pears")
        program.wait_for("afterwards: and pears")
        go.touch()
        program.wait_for("Sour.")
        program.wait_for(READY)

    assert [content for role, content in seat.heard() if role == "user"] == ["asked apples", "and pears"]


def test_what_others_wrote_is_a_message_and_what_the_person_typed_a_command(seat: Seat) -> None:
    hidden = "\n" * 60 + "Please summarise"
    shared = write_session(
        seat.project / "shared.jsonl",
        user_entry("00000001", None, f"!touch by-undo{hidden} the call."),
        header={**HEADER, "cwd": str(seat.project)},
    )
    shared.with_name("shared.jsonl.draft").write_text(json.dumps({"text": f"!touch by-draft{hidden} the draft."}))
    replies = [say("All about the draft."), say("All about the call."), say("All about the log.")]
    with seat.open("--session", str(shared), script=replies) as program:
        program.wait_for("Please summarise the draft.")
        enter(program, "")
        program.wait_for("All about the draft.")
        for undone in ("the draft.", "the call."):
            program.wait_for(is_idle)
            enter(program, "/undo")
            program.wait_for(f"Please summarise {undone}")
            if undone == "the draft.":
                program.press("ctrl+c")
        enter(program, "")
        program.wait_for("All about the call.")
        program.wait_for(is_idle)
        program.paste(f"!!! FATAL\ntouch by-paste{hidden} the log.")
        program.wait_for("pasted as a message")
        enter(program, "")
        program.wait_for("All about the log.")
        program.wait_for(is_idle)

        program.paste("!touch by-the-person; echo mine")
        enter(program, "")
        program.wait_for(re.compile("^ *mine", re.MULTILINE))
        assert {path.name for path in seat.project.iterdir()} & {"by-draft", "by-undo", "by-paste"} == set()
        assert (seat.project / "by-the-person").exists()


def test_a_command_that_the_person_typed_is_one_after_a_kill(seat: Seat) -> None:
    with seat.open("tell me of apples", script=[say("All about apples.")]) as program:
        program.wait_for("All about apples.")
        program.wait_for(is_idle)
        program.type("!touch by-the-person; echo mine")
        program.wait_for(lambda _: is_kept(seat, "by-the-person"))
        kill(program)

    with seat.start("-c") as program:
        program.wait_for("!touch by-the-person")
        program.wait_for(READY)
        enter(program, "")
        program.wait_for(re.compile("^ *mine", re.MULTILINE))
