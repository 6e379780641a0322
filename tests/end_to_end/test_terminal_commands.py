"""Slash commands and settings at the terminal."""

import json
import re

import pytest

from tests.end_to_end.seat import READY, Seat, enter, is_idle, pausing
from tests.support.model_server import Answer, call, say
from tests.support.screen import Screen


def test_an_unknown_command_keeps_what_was_typed(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/nonsense at all")

        program.wait_for("unknown command /nonsense; /help lists all.")
        program.wait_for("/nonsense at all")

    assert seat.model.requests == []


def test_commands_of_the_command_line_are_answered_or_refused(seat: Seat) -> None:
    with seat.open("/session", "/aprovals auto", "hi", script=[say("Hello.")]) as program:
        program.wait_for("Hello.")

        assert "model" in program.screen.text()
        assert "unknown command /aprovals; did you mean /approvals?" in program.screen.text()


def test_a_command_of_the_command_line_is_run_as_if_it_was_entered(seat: Seat) -> None:
    with seat.open("one", "/new", "two", script=[say("First."), say("Second.")]) as program:
        program.wait_for("Started a new session.")
        program.wait_for("Second.")

    assert seat.heard() == [("user", "two")]


def test_a_dialog_of_the_command_line_opens(seat: Seat) -> None:
    with seat.open("/settings") as program:
        program.wait_for("─ Settings ─")


def test_a_path_is_a_message(seat: Seat) -> None:
    with seat.open(script=[say("A folder.")]) as program:
        enter(program, "/etc/hosts is what?")
        program.wait_for("A folder.")

    assert seat.heard() == [("user", "/etc/hosts is what?")]


def test_a_new_session_forgets_and_leaves_the_screen_as_it_is(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        assert "One." in program.screen.text()
        enter(program, "second")
        program.wait_for("Two.")

        assert program.screen.wipes == 0

    assert seat.heard() == [("user", "second")]


def test_words_said_while_a_command_has_the_model_work_reach_it(seat: Seat) -> None:
    extension = seat.project / "mine.py"
    extension.write_text(
        "from kaa.ext.api import Submit\n"
        "async def greet(arguments, context):\n    return Submit('say hello')\n"
        "def extend(api):\n    api.register_command('greet', 'Greet', greet)\n"
    )

    with seat.open("-e", str(extension), script=[pausing("Hel", "lo."), say("Louder!")]) as program:
        enter(program, "/greet")
        program.wait_for("Hel")
        enter(program, "louder")
        program.wait_for("steering: louder")
        seat.model.release()
        program.wait_for("Louder!")

    assert seat.heard()[-1] == ("user", "louder")


def test_a_new_session_is_not_kept_either_where_none_is_to_be(seat: Seat) -> None:
    with seat.open("--no-session", script=[say("Fresh.")]) as program:
        enter(program, "/new")
        program.wait_for("Started a new session.")
        enter(program, "hello")
        program.wait_for("Fresh.")
        program.wait_for(is_idle)

        assert "is saved" not in program.screen.text()
    assert not list(seat.home.glob("sessions/**/*.jsonl"))


def test_clear_erases_what_was_shown_with_the_scrollback(seat: Seat) -> None:
    long_answer = "\n\n".join(f"paragraph {number}" for number in range(40))
    with seat.open(script=[say(long_answer), say("Two.")]) as program:
        enter(program, "first")
        program.wait_for("paragraph 39")
        program.wait_for(is_idle)
        assert any("paragraph 2" in line for line in program.screen.scrollback())
        assert program.screen.wipes == 0
        enter(program, "/clear")
        program.wait_for("Started a new session.")

        assert program.screen.wipes == 1
        assert not any("paragraph" in line for line in program.screen.everything())
        enter(program, "second")
        program.wait_for("Two.")

    assert seat.heard() == [("user", "second")]


def test_the_last_answer_and_its_code_can_be_copied(seat: Seat) -> None:
    answer = "Like **this**:\n\n```sh\necho one\n```\n\nor\n\n```sh\necho two\n```\n"
    with seat.open(script=[say(answer)]) as program:
        enter(program, "/copy")
        program.wait_for("there is no answer to copy yet")
        enter(program, "how?")
        program.wait_for("echo two")
        program.wait_for(is_idle)
        enter(program, "/copy")
        program.wait_for(lambda screen: screen.clipboard is not None)
        assert program.screen.clipboard == answer
        enter(program, "/copy 1")

        program.wait_for(lambda screen: screen.clipboard == "echo one")
        enter(program, "/copy 3")
        program.wait_for("has 2 code blocks")


def test_the_theme_changes_and_is_kept(seat: Seat) -> None:
    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "hi")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        before = _colours(program.screen)
        enter(program, "/theme light")
        program.wait_for(lambda _: json.loads((seat.home / "settings.json").read_text()).get("theme") == "light")

        program.wait_for(lambda screen: is_idle(screen) and _colours(screen) != before)
        assert "Hello." in program.screen.text()
        assert program.screen.wipes == 0  # nothing of ours had left the screen


def test_a_theme_can_be_tried_and_left(seat: Seat) -> None:
    with seat.open() as program:
        before = _colours(program.screen)
        enter(program, "/theme")
        program.wait_for("automatic")
        program.type("light")
        program.wait_for(lambda screen: _colours(screen) != before)
        program.press("escape")
        program.wait_for(is_idle)

        program.wait_for(lambda screen: _colours(screen) == before)

    assert "theme" not in json.loads((seat.home / "settings.json").read_text())


def test_a_light_terminal_gets_the_light_theme(seat: Seat) -> None:
    with seat.open() as dark:
        in_the_dark = _colours(dark.screen)
    with seat.open(screen=Screen(100, 30, is_dark=False)) as light:
        light.wait_for(lambda screen: _colours(screen) != in_the_dark)


def test_reloading_finds_new_keys_and_tells_mistakes(seat: Seat) -> None:
    with seat.open() as program:
        (seat.home / "keybindings.json").write_text('{"app.help": "f5", "app.nonsense": "f6"}')
        enter(program, "/reload")
        program.wait_for("app.nonsense")
        program.press("f5")

        program.wait_for("Working with the agent")


def test_settings_are_changed_in_a_list(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/settings")
        program.wait_for("quietStartup")
        program.type("quiet")
        program.wait_for(lambda screen: "ui.reflow" not in screen.text())
        program.press("enter")
        program.wait_for("yes")
        program.press("escape")
        program.wait_for(is_idle)

    assert json.loads((seat.home / "settings.json").read_text())["quietStartup"] is True


def test_what_tools_may_do_is_changed_in_the_list_for_this_project(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/settings")
        program.wait_for("approvals.policy")
        program.type("policy")
        program.wait_for(lambda screen: "ui.reflow" not in screen.text())
        program.press("enter")
        program.wait_for("step")
        program.type("step")
        program.wait_for(lambda screen: "never" not in screen.text())
        program.press("enter")
        program.wait_for("Set approvals.policy to step?")
        program.press("down", "enter")
        program.wait_for("approvals now: step")
        program.wait_for(is_idle)

    [chosen] = json.loads((seat.home / "settings.json").read_text())["projects"].values()
    assert chosen == {"approvals": {"policy": "step"}}


def test_a_value_that_a_setting_cannot_have_is_refused_before_it_is_asked_for_what(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/settings approvals.policy auot")
        program.wait_for("approvals.policy cannot be auot")

        assert "Set approvals.policy to" not in program.screen.text()


def test_a_directory_is_taken_as_it_is_typed(seat: Seat) -> None:
    (seat.project / "logs" / "old").mkdir(parents=True)

    with seat.open() as program:
        program.type("/add-dir logs/")
        program.wait_for("old")
        program.press("enter")
        program.wait_for(lambda screen: "/logs can be written already" in " ".join(screen.text().split()))


def test_vi_keys_run_commands(seat: Seat) -> None:
    seat.settings(editor={"mode": "vim"})

    with seat.open() as program:
        program.wait_for("INSERT")
        program.press("escape")
        program.wait_for("NORMAL")
        enter(program, ":hotkeys")

        program.wait_for("Working with the agent")


@pytest.mark.usefixtures("mounts")
def test_the_network_is_switched(seat: Seat) -> None:
    with seat.open("--net", "off", sandbox="workspace-write") as program:
        program.wait_for("net off")
        enter(program, "/net on")
        program.wait_for("net on")
        program.press("alt+n")

        program.wait_for("net off")


def test_the_help_is_searched_and_puts_a_command_into_the_editor(seat: Seat) -> None:
    with seat.open() as program:
        program.press("f1")
        program.wait_for("Stop the agent")
        assert "Working with the agent" in program.screen.text()
        program.type("thinking level")
        program.wait_for("Select the thinking level")
        program.press("enter")

        program.wait_for(re.compile(r"^/thinking"))


def test_the_changes_of_the_session_are_read_file_by_file(seat: Seat) -> None:
    (seat.project / "a.txt").write_text("one\n")
    script = [call("bash", command="echo two >> a.txt; echo new > b.txt"), say("Done.")]

    with seat.open("--approvals", "auto", script=script) as program:
        enter(program, "/diff")
        program.wait_for("this session has changed no files")
        enter(program, "go")
        program.wait_for("Done.")
        program.wait_for(is_idle)
        enter(program, "/diff")
        program.wait_for("n go from file to file")
        program.wait_for("2 files")
        assert "a.txt  changed +1 -0" in program.screen.text()
        assert "b.txt  created +1 -0" in program.screen.text()
        program.press("q")
        program.wait_for(is_idle)
        enter(program, "/diff b.txt")
        program.wait_for("+new")
        enter(program, "/diff absent")
        program.wait_for("this session has not changed absent")


def test_the_help_about_a_word_opens_with_it_and_closes(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/help clipboard")
        program.wait_for("Search: clipboard")
        program.press("escape")

        program.wait_for(is_idle)


def test_commands_and_paths_are_completed(seat: Seat) -> None:
    (seat.project / "readme.txt").touch()

    with seat.open(script=[say("Read.")]) as program:
        program.type("/thin")
        program.wait_for("Select the thinking level")
        program.press("tab")
        program.wait_for(re.compile(r"^/thinking$"))
        program.press("ctrl+u")
        program.type("look at @read")
        program.wait_for(lambda screen: screen.text().count("readme.txt") == 1)
        program.press("tab")
        program.wait_for("look at @readme.txt")
        program.press("enter")
        program.wait_for("Read.")


def test_arguments_are_completed_by_the_command(seat: Seat) -> None:
    extension = seat.project / "mine.py"
    extension.write_text(
        "from kaa.ext.api import Reply, Suggestion\n"
        "async def deploy(arguments, context):\n    return Reply(f'deployed to {arguments}.')\n"
        "def places(typed, context):\n"
        "    return [Suggestion(p, context.model_name) for p in ('staging', 'production') if p.startswith(typed)]\n"
        "def extend(api):\n"
        "    api.register_command('deploy_to:cloud', 'Deploy', deploy, argument_hint='PLACE', complete=places)\n"
    )

    with seat.open("-e", str(extension)) as program:
        program.type("/deploy")
        program.wait_for("PLACE Deploy")
        program.type("_to:cloud ")
        program.press("enter")
        program.wait_for("deployed to .")
        program.type("/deploy_to:cloud ")
        program.press("tab")
        program.wait_for("production")
        program.type("st")
        program.wait_for("staging")
        program.press("tab")
        program.wait_for(re.compile(r"^/deploy_to:cloud staging", re.MULTILINE))
        program.press("enter")

        program.wait_for("deployed to staging")


def test_arguments_can_be_completed_later(seat: Seat) -> None:
    extension = seat.project / "mine.py"
    extension.write_text(
        "import asyncio\n"
        "from kaa.ext.api import Reply, Suggestion\n"
        "async def deploy(arguments, context):\n    return Reply(f'deployed to {arguments}.')\n"
        "async def places(typed, context):\n"
        "    await (asyncio.Event().wait() if typed == 's' else asyncio.sleep(0))\n"
        "    return [Suggestion(p) for p in ('staging', 'production') if p.startswith(typed)]\n"
        "def extend(api):\n"
        "    api.register_command('deploy', 'Deploy', deploy, argument_hint='PLACE', complete=places)\n"
    )

    with seat.open("-e", str(extension)) as program:
        program.type("/deploy s")
        program.type("t")
        program.wait_for("staging")
        program.press("tab")
        program.wait_for(re.compile(r"^/deploy staging", re.MULTILINE))
        program.press("enter")

        program.wait_for("deployed to staging")


def test_a_command_that_cannot_run_now_stays_in_the_editor(seat: Seat) -> None:
    extension = seat.project / "mine.py"
    extension.write_text(
        "from kaa.ext.api import Reply\n"
        "async def answer(arguments, context):\n    return Reply('here I am')\n"
        "def extend(api):\n"
        "    api.register_command('later', 'Later', answer)\n"
        "    api.register_command('now', 'Now', answer, while_running=True)\n"
        "    api.register_command('never', 'Never', answer, available=lambda context: 'there is no cluster')\n"
    )

    with seat.open("-e", str(extension), script=[pausing("Hel", "lo.")]) as program:
        enter(program, "/never mind")
        program.wait_for("there is no cluster")
        program.wait_for(re.compile(r"^/never mind", re.MULTILINE))
        program.press("ctrl+u")
        enter(program, "hi")
        program.wait_for("Hel")
        enter(program, "/now")
        program.wait_for("here I am")
        enter(program, "/later please")
        program.wait_for("/later cannot run while the agent works")
        program.wait_for(re.compile(r"^/later please", re.MULTILINE))
        seat.model.release()
        program.wait_for("Hello.")


def test_what_was_typed_in_earlier_sessions_comes_back(seat: Seat) -> None:
    with seat.open(script=[say("Yes.")]) as program:
        enter(program, "remember me")
        program.wait_for("Yes.")

    with seat.open() as program:
        program.press("up")

        program.wait_for("remember me")


def test_a_message_is_written_in_an_own_editor(seat: Seat) -> None:
    writing = seat.project.with_name("writing")
    writing.write_text('#!/bin/sh\necho "written elsewhere" > "$1"\n')
    writing.chmod(0o755)
    seat.setenv(VISUAL=str(writing))

    with seat.open(script=[Answer(text=("Nice.",))]) as program:
        program.type("draft")
        program.press("ctrl+g")
        program.wait_for("written elsewhere")
        program.press("enter")
        program.wait_for("Nice.")

    assert seat.heard() == [("user", "written elsewhere")]


def test_no_model_shows_how_to_get_started_and_waits_for_one(seat: Seat) -> None:
    configured = (seat.home / "models.json").read_text()
    (seat.home / "models.json").unlink()

    with seat.start(script=[say("Here I am.")]) as program:
        program.wait_for("How to get going")
        (seat.home / "models.json").write_text(configured)
        enter(program, "is anybody there?")

        program.wait_for("Here I am.")
        program.wait_for(READY)


def test_a_message_without_a_model_repeats_the_reason_and_not_the_help(seat: Seat) -> None:
    (seat.home / "models.json").unlink()

    with seat.start() as program:
        program.wait_for("How to get going")
        enter(program, "is anybody there?")

        program.wait_for(lambda screen: screen.text().count("there is no model to talk to") == 2)
        assert program.screen.text().count("How to get going") == 1
        assert "starting" not in program.screen.text()


@pytest.mark.parametrize("typed", ["/model\r", "\x0c"], ids=["command", "key"])
def test_the_list_of_models_says_how_to_get_one_where_there_is_none(seat: Seat, typed: str) -> None:
    (seat.home / "models.json").unlink()

    with seat.start() as program:
        program.wait_for("How to get going")
        program.type(typed)

        program.wait_for("/model has nothing to list: there is no model to talk to")
        program.wait_for("/login saves a key")


def _colours(screen: Screen) -> set[str]:
    """The colours of everything that is shown."""
    return {str(cell.style) for row in range(screen.rows) for cell in screen.cells(row)}
