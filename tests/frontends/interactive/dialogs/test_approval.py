from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowByAuto,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Answer,
    Approval,
    Deny,
    JudgedPart,
    PutBack,
)
from kaa.ext.tools import ToolServer
from kaa.frontends.interactive.dialogs.approval import ApprovalDialog
from kaa.tui.events import Key
from kaa.workspace.blocked import Blocked
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import assert_well_formed, visible
from tests.support.tables import each

REQUEST = Approval(
    "git push",
    "1",
    "bash",
    "command",
    {"command": "git fetch && git push --force"},
    suggestion="bash: git push *",
    reasons=("no rule allows it",),
)


class Asked:
    """A dialog, and what was answered."""

    def __init__(self, *, columns: int = 100, rows: int = 60, **changes: Any) -> None:  # any: what a request has
        values = {name: getattr(REQUEST, name) for name in REQUEST.__struct_fields__} | changes
        self.answers: list[Answer] = []
        self.width = columns
        self.dialog = ApprovalDialog(
            keyboard_context({"app.clear": ("ctrl+c",)}, columns=columns, rows=rows),
            Approval(**values),
            self.answers.append,
        )
        self.dialog.render(columns)  # it is looked at before it takes answers
        self.dialog.offer()
        self.dialog.render(columns)  # as the screen does before it waits for keys

    @property
    def text(self) -> str:
        """What can be read."""
        return "\n".join(line.strip("│ ") for line in visible(self.dialog.render(self.width)))

    def letter(self, letter: str) -> None:
        """Press it, or a key that has a name."""
        self.dialog.key(Key(letter, letter if len(letter) == 1 else ""))


@pytest.mark.parametrize(
    ("letter", "answer"),
    [("y", AllowOnce()), ("s", AllowForSession("bash: git push *")), ("x", Abort()), ("Y", AllowOnce())],
)
def test_a_letter_answers_at_once(letter: str, answer: Answer) -> None:
    asked = Asked()

    asked.letter(letter)

    assert asked.answers == [answer]


WEB = ToolServer("web", "mcp.example.com", "mcp__web__*")


def of_server(server: ToolServer, *, suggestion: str | None = "mcp__web__search", **changes: Any) -> Asked:
    tool, arguments = "mcp__web__search", {"q": "kaa"}
    values = {"title": tool, "tool": tool, "arguments": arguments, "risk": "outside", "suggestion": suggestion}
    return Asked(server=server, **values | changes)


def test_a_call_of_a_server_says_which_server_where_and_with_what() -> None:
    text = of_server(WEB).text

    assert "Allow mcp__web__search at mcp.example.com?" in text
    assert "mcp__web__search calls MCP server web at mcp.example.com with the arguments below." in text
    assert "q: kaa" in text
    assert "extension" not in text


@pytest.mark.parametrize(("letter", "rule"), [("s", "mcp__web__search"), ("t", "mcp__web__*")])
def test_a_session_allows_one_tool_of_a_server_or_all(letter: str, rule: str) -> None:
    asked = of_server(WEB)

    assert "Yes, for the session: this tool (s)" in asked.text
    assert "Yes, for the session: all tools of web (t)" in asked.text
    asked.letter(letter)

    assert asked.answers == [AllowForSession(rule)]


@pytest.mark.parametrize(
    ("server", "suggestion"),
    [
        (WEB, None),
        (ToolServer("web", "mcp.example.com"), "mcp__web__search"),
        (ToolServer("other", "mcp.example.com", "mcp__other__*"), "mcp__web__search"),
    ],
)
def test_all_tools_are_not_offered_where_no_rule_is_about_them(server: ToolServer, suggestion: str | None) -> None:
    asked = of_server(server, suggestion=suggestion)

    asked.letter("t")

    assert "all tools" not in asked.text
    assert asked.answers == []


def test_a_server_that_is_a_program_is_no_extension_either() -> None:
    of_users = of_server(ToolServer("web")).text
    assert "calls MCP server web, which runs without a sandbox: whatever it loads" in of_users
    assert "has your rights" in " ".join(of_users.split())
    assert "calls MCP server web, which its own sandbox confines." in of_server(ToolServer("web"), risk="granted").text


def test_the_key_that_stops_runs_stops_this_one_too() -> None:
    asked = Asked()

    press(asked.dialog, "ctrl+c")

    assert asked.answers == [Abort()]


def test_escape_says_no() -> None:
    asked = Asked()

    press(asked.dialog, "escape")

    assert asked.answers == [Deny()]


def test_an_answer_is_given_once() -> None:
    asked = Asked()

    asked.letter("y")
    asked.letter("x")

    assert asked.answers == [AllowOnce()]


def test_nothing_is_answered_before_the_answers_are_there() -> None:
    answers: list[Answer] = []
    dialog = ApprovalDialog(keyboard_context(), REQUEST, answers.append)

    for key in (Key("y", "y"), Key("enter"), Key("escape")):
        dialog.key(key)

    assert answers == []
    assert not dialog.takes_keys


def test_always_takes_the_rule_as_it_was_changed() -> None:
    asked = Asked()

    asked.letter("a")
    assert "bash: git push *" in asked.text
    press(asked.dialog, *["backspace"] * 6)
    type_text(asked.dialog, "pull")
    press(asked.dialog, "enter")

    assert asked.answers == [AllowAlways("bash: git pull")]


def test_always_says_where() -> None:
    assert "Yes, always, in all projects: edit the rule" in Asked().text

    asked = Asked(suggestion=None, escalations=(Escalation("directory", "/data"),))
    assert "Yes, always, in this project" in asked.text
    asked.letter("a")

    assert asked.answers == [AllowInProject()]


def test_what_was_moved_away_can_be_put_back_as_my_own() -> None:
    asked = Asked(suggestion=None, escalations=(Escalation("file", "/p/.envrc"),))

    assert "I made this: put it back" in asked.text
    asked.letter("p")

    assert asked.answers == [PutBack()]


def test_about_files_without_a_call_there_is_no_run_to_stop_and_no_model_to_tell() -> None:
    asked = Asked(suggestion=None, call_id="", escalations=(Escalation("file", "/p/.envrc"),))

    assert "kaa moved this away: put it back?" in asked.text
    assert "No, leave it moved away" in asked.text
    assert ("stop the run" in asked.text, "tell the model" in asked.text) == (False, False)
    asked.letter("n")

    assert asked.answers == [Deny()]


def test_the_answer_that_stops_says_what() -> None:
    assert "No, and stop the run" in Asked().text


@pytest.mark.parametrize(
    ("escalation", "is_yes"),
    [(Escalation("directory", "/data"), False), (Escalation("port", "80"), False), (Escalation("network", "x"), True)],
)
def test_enter_does_not_open_more_of_the_machine(escalation: Escalation, is_yes: bool) -> None:
    asked = Asked(suggestion=None, escalations=(escalation,))

    press(asked.dialog, "enter")

    assert bool(asked.answers) is is_yes


def test_what_is_more_than_directories_cannot_be_kept_for_the_project() -> None:
    asked = Asked(suggestion=None, escalations=(Escalation("directory", "/data"), Escalation("port", "80")))

    assert "Yes, always" not in asked.text


def test_always_can_be_left_for_another_answer() -> None:
    asked = Asked()

    asked.letter("a")
    press(asked.dialog, "escape")
    assert asked.answers == []
    asked.letter("n")
    press(asked.dialog, "escape")
    asked.letter("s")

    assert asked.answers == [AllowForSession("bash: git push *")]


def test_an_answer_for_the_session_is_for_exactly_this_call_if_no_rule_could_allow_it() -> None:
    asked = Asked(suggestion=None)

    assert "for the session: exactly this call" in asked.text
    asked.letter("s")

    assert asked.answers == [AllowForSession()]


def test_what_lasts_is_not_offered_for_once() -> None:
    asked = Asked(suggestion=None, was_run=True, lasting=True, escalations=(Escalation("port", "5432"),))

    assert "Yes, for this session (y)" in asked.text
    assert "this time" not in asked.text
    assert "exactly this call" not in asked.text
    asked.letter("y")

    assert asked.answers == [AllowForSession()]


def test_a_step_that_permits_more_than_itself_says_so() -> None:
    asked = Asked(suggestion=None, stepping=True, lasting=True, escalations=(Escalation("whole network"),))

    assert "Run it, with this permission for the session (y)" in asked.text
    asked.letter("y")

    assert asked.answers == [AllowOnce()]


def test_hosts_are_named_once() -> None:
    hosts = ("pypi.org", "files.pythonhosted.org")
    asked = Asked(only_connects=True, escalations=tuple(Escalation("network", host) for host in hosts), suggestion=None)

    assert "Allow network access for bash?" in asked.text
    assert asked.text.count("A yes ") == 1
    assert "A yes allows network access to pypi.org, files.pythonhosted.org." in asked.text


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (80, 24)])
def test_what_is_allowed_for_the_session_is_read_in_full_before_it_is_allowed(columns: int, rows: int) -> None:
    rules = "\n".join(f"bash: program-{number} *" for number in range(30))
    asked = Asked(suggestion=rules, columns=columns, rows=rows)
    seen = asked.text

    while not asked.dialog.is_read:
        asked.letter("s")
        assert asked.answers == []
        press(asked.dialog, "pagedown")
        seen += asked.text

    assert all(f"program-{number} *" in seen.replace("\n", " ") for number in range(30))


def test_all_edits_have_a_name() -> None:
    assert "for the session: all edits in the project" in Asked(suggestion="write: **").text


def test_what_the_mode_auto_allows_can_be_allowed_from_now_on() -> None:
    asked = Asked(auto=True)

    assert "do not ask again in the sandbox (auto)" in asked.text
    asked.letter("d")

    assert asked.answers == [AllowByAuto()]


def test_what_the_mode_auto_asks_too_offers_no_such_answer() -> None:
    asked = Asked()

    assert "auto" not in asked.text
    asked.letter("d")
    assert asked.answers == []


def test_what_no_rule_could_allow_offers_none() -> None:
    asked = Asked(suggestion=None)

    assert "always" not in asked.text
    asked.letter("a")
    assert asked.answers == []


@pytest.mark.parametrize(("reason", "given"), [("use a branch", "use a branch"), ("", ""), ("  x ", "x")])
def test_no_may_have_a_reason(reason: str, given: str) -> None:
    asked = Asked()

    asked.letter("n")
    type_text(asked.dialog, reason)
    press(asked.dialog, "enter")

    assert asked.answers == [Deny(given)]


def test_what_would_be_run_and_why_it_is_asked_is_shown() -> None:
    asked = Asked(
        parts=(JudgedPart("git fetch", None), JudgedPart("git push --force", "no rule allows it")),
        reasons=("it reaches the network",),
        warning="the history of the remote branch would be lost",
        escalations=(OUTSIDE, Escalation("network", "example.com")),
    )

    for words in (
        "Outside the sandbox: allow bash?",
        "$ git fetch && git push --force",
        "Warning: the history of the remote branch would be lost",
        "it reaches the network",
        "A yes runs this call outside the sandbox.",
        "A yes allows network access to example.com.",
        "✓ git fetch",
        "✗ git push --force  no rule allows it",
    ):
        assert words in asked.text


def test_what_would_be_lost_is_said_once() -> None:
    asked = Asked(
        warning="deletes data; deletes logs", reasons=("it deletes data", "it deletes logs", "no rule allows it")
    )

    assert asked.text.count("deletes data") == 1
    assert "no rule allows it" in asked.text


def test_a_permission_that_the_model_asks_for_is_said_once() -> None:
    asked = Asked(
        title="allows writing in /mono/p8 for this session",
        tool="request_permission",
        risk="read",
        arguments={"value": "/mono/p8"},
        suggestion=None,
        reasons=('The model gives this reason: "the task needs it"',),
        escalations=(Escalation("directory", "/mono/p8"),),
        lasting=True,
    )

    assert "Permit what the model asks for?" in asked.text
    assert asked.text.count("/mono/p8") == 1
    assert "the task needs it" in asked.text
    assert "reads files" not in asked.text


def test_rules_that_no_button_has_room_for_stand_above_it() -> None:
    asked = Asked(suggestion="bash: git branch -D main\nbash: git branch\nbash: git log")

    assert "For the session, s allows: bash: git branch -D main; bash: git branch; bash: git log" in asked.text
    assert "Yes, for the session: these rules (s)" in asked.text


def test_commands_that_differ_in_nothing_are_not_listed() -> None:
    asked = Asked(parts=(JudgedPart("git fetch", "no rule allows it"), JudgedPart("git push", "no rule allows it")))

    assert "Commands:" not in asked.text
    assert asked.text.count("no rule allows it") == 1


def test_a_question_about_a_blocked_command_fits_a_small_terminal() -> None:
    add, show = "git remote add origin https://git.example/group/project.git", "git remote -v"
    asked = Asked(
        columns=80,
        rows=24,
        arguments={"command": f"{add} && {show}"},
        parts=(JudgedPart(add, "no rule allows it"), JudgedPart(show, "no rule allows it")),
        reasons=(Blocked("protected", "/home/someone/project/.git/config").told,),
        warning="all of it runs again, also the parts that have run already",
        escalations=(OUTSIDE,),
        was_run=True,
        suggestion=f"outside bash: {add}\noutside bash: {show}",
    )

    asked.letter("y")

    assert asked.answers == [AllowOnce()]


def test_a_yes_before_all_was_read_says_what_to_do() -> None:
    asked = Asked(columns=80, rows=24, arguments={"command": _LONG}, suggestion=None)
    assert "Scroll to the end to allow" in asked.text

    asked.letter("y")

    assert asked.answers == []
    assert "No answer yet, read to the end: 0 lines above" in asked.text
    assert "(PageUp / PageDown)" in asked.text
    press(asked.dialog, "pagedown")
    assert "Scroll to the end to allow" in asked.text


def test_enter_alone_is_no_yes_where_something_would_be_lost() -> None:
    harmless, careful = Asked(), Asked(warning="deletes build for good")

    press(harmless.dialog, "enter")
    press(careful.dialog, "enter", "enter")

    assert harmless.answers == [AllowOnce()]
    assert careful.answers == [Deny("")]


def test_what_was_run_already_says_so() -> None:
    asked = Asked(was_run=True)

    assert "Run bash again with more allowed?" in asked.text
    assert "Outside the sandbox: run bash again?" in Asked(was_run=True, escalations=(OUTSIDE,)).text
    assert "from the start" in asked.text
    edit = Asked(was_run=True, risk="write", tool="edit", escalations=(OUTSIDE,)).text
    assert "Outside the sandbox: allow edit?" in edit
    assert "The sandbox blocked it." in edit
    assert "again" not in edit


def test_why_the_answer_before_was_none_is_said() -> None:
    assert "'x(' is no rule" in Asked(problem="'x(' is no rule").text


def test_a_change_is_shown_as_a_diff() -> None:
    asked = Asked(
        tool="edit",
        risk="write",
        arguments={"path": "a.py", "edits": [{"oldText": "a = 1\nb = 2\n", "newText": "a = 1\nb = 3\n"}]},
    )

    assert "a.py" in asked.text
    assert "b = 2" in asked.text
    assert "b = 3" in asked.text


def test_a_new_file_is_shown_with_its_content() -> None:
    asked = Asked(tool="write", risk="write", arguments={"path": "new.txt", "content": "one\ntwo\n"})

    assert "new.txt (2 lines)" in asked.text
    assert "two" in asked.text


@each(
    "arguments",
    [
        {},
        {"path": 1, "edits": "no"},
        {"path": "a", "edits": [1, None, {"oldText": 3}]},
        {"content": {"deep": [1, 2]}},
        {"command": None},
    ],
)
@each("risk", ["read", "write", "command", "outside"])
def test_whatever_the_model_sent_can_be_shown(risk: str, arguments: dict[str, object]) -> None:
    asked = Asked(risk=risk, arguments=arguments)

    assert_well_formed(asked.dialog.render(80), 80)
    asked.letter("y")
    assert asked.answers == [AllowOnce()]


def test_all_of_a_long_command_can_be_read() -> None:
    command = "\n".join(f"echo {number}" for number in range(300))
    asked = Asked(rows=24, arguments={"command": command})

    read = asked.text
    for _ in range(60):
        press(asked.dialog, "pagedown")
        read += asked.text

    assert all(f"echo {number}\n" in read for number in range(300))


_LONG = "\n".join(f"echo {number}" for number in range(100))
_YESES = ("y", "s", "a", "d", "enter")


def test_a_short_file_is_on_the_first_page_of_a_small_terminal() -> None:
    path = "/home/somebody/project/.vscode/settings.json"

    asked = Asked(
        columns=80,
        rows=24,
        tool="write",
        risk="write",
        arguments={"path": ".vscode/settings.json", "content": '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n'},
        suggestion=f"outside write: {path}",
        escalations=(OUTSIDE,),
        reasons=(
            "it writes what VS Code executes or obeys (.vscode: tasks that run when a folder opens, settings that name"
            " programs)",
        ),
    )

    assert "+5 }" in asked.text
    assert "Scroll" not in asked.text
    assert len(asked.text.splitlines()) <= 24 - len(("status", "project", "model"))
    assert asked.dialog.is_read


@pytest.mark.parametrize("rows", [10, 24, 40])
def test_what_a_yes_does_and_why_it_is_asked_is_on_the_first_page(rows: int) -> None:
    asked = Asked(
        columns=80, rows=rows, arguments={"command": _LONG}, escalations=(OUTSIDE,), reasons=("no rule allows it",)
    )

    first_page = asked.text

    assert "Outside the sandbox: allow bash?" in first_page
    assert "A yes runs this call outside the sandbox." in first_page
    assert "no rule allows it" in first_page or rows == 10
    assert "Scroll to the end to allow" in first_page


def test_commands_that_a_command_consists_of_come_before_it() -> None:
    text = Asked(parts=(JudgedPart("git fetch", None), JudgedPart("git push", "no rule allows it")), rows=60).text

    assert text.index("Commands:") < text.index("$ git fetch && git push --force")


@each("key", _YESES)
@each("rows", [10, 24, 40])
def test_a_yes_is_taken_only_when_all_was_on_the_screen(rows: int, key: str) -> None:
    asked = Asked(columns=80, rows=rows, arguments={"command": _LONG}, auto=True)
    pages = 0

    while not asked.dialog.is_read:
        asked.letter(key)
        assert asked.answers == []
        assert "Rules, one per line" not in asked.text
        press(asked.dialog, "pagedown")
        assert asked.text  # shows the page
        pages += 1

    assert pages >= 100 // rows
    press(asked.dialog, "pageup")
    asked.letter(key)
    assert asked.answers or "Rules, one per line" in asked.text


def test_keys_typed_before_the_screen_shows_the_end_are_no_yes() -> None:
    asked = Asked(rows=24, arguments={"command": _LONG})

    for _ in range(20):
        press(asked.dialog, "pagedown")  # nothing is drawn in between
    asked.letter("y")

    assert asked.answers == []


@pytest.mark.parametrize(("key", "answer"), [("x", Abort()), ("escape", Deny())])
def test_a_no_is_taken_at_once(key: str, answer: Answer) -> None:
    asked = Asked(rows=24, arguments={"command": _LONG})

    asked.letter(key)

    assert asked.answers == [answer]


def test_another_width_begins_again_unless_all_was_read() -> None:
    read, begun = (Asked(columns=80, rows=24, arguments={"command": "echo " + "x" * 8000}) for _ in range(2))
    while "Scroll to the end to allow" in read.text:
        press(read.dialog, "pagedown")
    press(begun.dialog, "pagedown")
    begun.dialog.render(80)

    for asked in (read, begun):
        asked.width = 60
        asked.dialog.render(60)
        asked.letter("y")

    assert read.answers == [AllowOnce()]
    assert begun.answers == []
    assert "no rule allows it" in begun.text


def test_what_is_written_line_by_line_is_read_when_it_is_written() -> None:
    answers: list[Answer] = []
    request = structs.replace(REQUEST, arguments={"command": _LONG})
    dialog = ApprovalDialog(keyboard_context(columns=80, rows=24), request, answers.append)
    dialog.offer()
    dialog.render(80)

    dialog.key(Key("y", "y"))
    assert answers == []
    written = "\n".join(dialog.written(80))
    dialog.key(Key("y", "y"))

    assert "echo 99" in written
    assert answers == [AllowOnce()]


_FOREIGN = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["\x1b]0;x\x07", "\x9b2J", "a\tb\r\n\x08", "\u202e", "界" * 30]
)


@given(_FOREIGN, _FOREIGN, _FOREIGN, st.integers(1, 100), st.integers(1, 40))
def test_hostile_text_stays_within_its_lines(one: str, other: str, third: str, width: int, rows: int) -> None:
    asked = Asked(
        columns=width,
        rows=rows,
        tool=one,
        arguments={"command": other, one: third},
        parts=(JudgedPart(one, other), JudgedPart(third, None)),
        reasons=(third,),
        warning=one,
        problem=other,
        escalations=(Escalation("network", third),),
        suggestion=one,
    )

    assert_well_formed(asked.dialog.render(width), width)
    asked.letter("a")
    assert_well_formed(asked.dialog.render(width), width)


@pytest.mark.parametrize(("key", "answer"), [("y", AllowOnce()), ("d", AllowByAuto()), ("x", Abort())])
def test_in_the_mode_step_a_call_is_run_or_skipped_or_the_run_stops(key: str, answer: Answer) -> None:
    asked = Asked(stepping=True, auto=True, suggestion=None)

    asked.letter(key)

    assert asked.answers == [answer]
    assert "Step: run bash?" in asked.text
    for words in ("Run it (y)", "without waiting (auto) (d)", "Skip it, and tell the model why", "Stop the run (x)"):
        assert words in asked.text
    assert "for the session" not in asked.text
