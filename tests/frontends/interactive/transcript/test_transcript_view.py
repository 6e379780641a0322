from kaa.core.events import (
    AgentEnd,
    AutoRetryEnd,
    AutoRetryStart,
    BudgetUpdate,
    MessageStart,
    MessageUpdate,
    ModelFallback,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallStart,
    UserCommandEnd,
    UserCommandStart,
    UserCommandUpdate,
)
from kaa.core.messages import TextContent, ThinkingContent, ToolCall
from kaa.shell.approvals import wording
from tests.frontends.interactive.transcript.conversations import (
    Session,
    begins,
    ends,
    prints,
    reply,
    result,
    run_of,
    runs,
    says,
    streams,
)

LIST = ToolCall("1", "bash", {"command": "ls"})
READ = ToolCall("2", "read", {"path": "a.py"})


def test_a_conversation_reads_from_top_to_bottom() -> None:
    session = Session()
    answer = reply(ThinkingContent("What is there?"), TextContent("I look."), LIST, stop="toolUse")

    session.show(*says("list\nthem"), *streams(answer), *runs(LIST, result(LIST, "a\nb")))
    session.show(*streams(reply(TextContent("Two files."))))

    assert session.text() == ("› list\n  them\n\nWhat is there?\n\nI look.\n\n✓ $ ls\n  a\n  b\n\nTwo files.")


def test_long_lines_are_broken_at_the_width() -> None:
    session = Session().show(*says("one two three"))

    assert session.text(9) == "› one two\n  three"


def test_text_appears_as_it_streams() -> None:
    session = Session().show(MessageStart(reply()), MessageUpdate(TextStart(0)), MessageUpdate(TextDelta(0, "Hel")))
    assert session.text() == "Hel"

    session.show(MessageUpdate(TextDelta(0, "lo")))

    assert session.text() == "Hello"


def test_blank_text_makes_no_block() -> None:
    answer = reply(ThinkingContent("", "signature"), TextContent("\n\n"), LIST, stop="toolUse")

    session = Session().show(*streams(answer))

    assert session.text() == "▸ $ ls"


def test_a_card_is_there_as_soon_as_the_name_of_the_tool_is_known() -> None:
    session = Session().show(MessageStart(reply()), MessageUpdate(ToolCallStart(0, "1", "bash")))
    assert session.text() == "▸ $ …"

    session.show(MessageUpdate(ToolCallDelta(0, '{"command": "make te')))

    assert session.text() == "▸ $ make te"


def test_cards_of_parallel_calls_stay_in_the_order_of_the_calls() -> None:
    session = Session().show(*streams(reply(LIST, READ, stop="toolUse")), begins(LIST), begins(READ))
    session.show(*ends(READ, result(READ, "x\ny")), prints(LIST, "a\n"))
    assert session.text() == "• $ ls\n  a\n\n✓ read a.py  2 lines"

    session.show(*ends(LIST, result(LIST, "a\nb")))

    assert session.text() == "✓ $ ls\n  a\n  b\n\n✓ read a.py  2 lines"


def test_a_later_reply_may_number_its_calls_alike() -> None:
    first = [*streams(reply(LIST, stop="toolUse")), *runs(LIST, result(LIST, "a"))]
    again = ToolCall("1", "bash", {"command": "pwd"})

    session = Session().show(*first, *streams(reply(again, stop="toolUse")), *runs(again, result(again, "/p")))

    assert session.text() == "✓ $ ls\n  a\n\n✓ $ pwd\n  /p"


def test_a_reply_that_did_not_stream_is_shown_at_its_end() -> None:
    answer = reply(TextContent("Hello"), LIST, stop="toolUse")

    session = Session().show(streams(answer)[0], streams(answer)[-1])

    assert session.text() == "Hello\n\n▸ $ ls"


def test_a_call_that_nobody_announced_gets_a_card() -> None:
    session = Session().show(*runs(LIST, result(LIST, "a")))

    assert session.text() == "✓ $ ls\n  a"


def test_calls_of_a_reply_that_broke_off_are_marked_as_not_run() -> None:
    broken = reply(TextContent("I look"), LIST, stop="error", error="The server is gone.")

    session = Session().show(*run_of(*streams(broken), reason="error", error="The server is gone."))

    assert session.text() == "I look\n\n✗ $ ls  not run\n\n✗ The server is gone."


def test_a_run_that_is_stopped_leaves_nothing_running() -> None:
    session = Session().show(*run_of(*streams(reply(LIST, stop="toolUse")), reason="aborted", error="by the user"))

    assert session.text() == "✗ $ ls  not run\n\n! Stopped."


def test_what_was_not_permitted_is_named_again_without_its_reason() -> None:
    denials = ("bash: the user said no", "edit: a rule denies it", "bash: it is hidden")

    session = Session().show(AgentEnd("denied", (), None, denials, ("bash: 2 tests failed",)))

    assert session.text(80) == (
        "! Not everything was permitted: bash (2 times), edit. The reasons are above.\n"
        "  Failed last: bash: 2 tests failed"
    )


def test_a_command_that_only_the_user_can_run_is_named_at_the_end() -> None:
    denial = f"bash: {wording.not_offered('make install', wording.runs_writable('make', '/p'))}"

    session = Session().show(AgentEnd("denied", (), None, (denial,)))

    assert session.text(80) == (
        "! Not everything was permitted: bash. The reasons are above.\n  To run it with your rights, type !make install"
    )


def test_the_end_of_a_run_says_which_limit_was_reached() -> None:
    session = Session().show(*run_of(reason="max_turns", error="stopped after 3 turns"))

    assert session.text() == "! Stopped after 3 turns."


def test_retries_are_told_in_one_place_until_something_comes_between() -> None:
    session = Session().show(AutoRetryStart(1, 3, 2000, "Overloaded."))
    assert session.text() == "! Overloaded.\n  retrying in 2 s, 1 of 3"

    session.show(AutoRetryStart(2, 3, 4000, "Overloaded."))
    assert session.text() == "! Overloaded.\n  retrying in 4 s, 2 of 3"

    session.show(*streams(reply(TextContent("Hel"), stop="error")), AutoRetryStart(3, 3, 8000, "Cut."))
    assert session.text() == "! Overloaded.\n\nHel\n\n! Cut.\n  retrying in 8 s, 3 of 3"

    session.show(AutoRetryEnd(success=True, attempt=3))
    assert session.text() == "! Overloaded.\n\nHel\n\n! Cut.\n  worked after 3 retries"


def test_who_goes_on_in_whose_place_is_told() -> None:
    session = Session().show(ModelFallback("a/one", "b/two", "No credit."))

    assert session.text() == "! No credit. a/one was abandoned; b/two continues."


def test_limits_are_told_of_but_not_twice_when_they_end_the_run() -> None:
    session = Session().show(BudgetUpdate("warning", "run", "turns", 8, 10, "8 of 10 requests are used"))
    assert session.text() == "! Budget: 8 of 10 requests are used."

    session.show(BudgetUpdate("reached", "run", "turns", 10, 10, "all are used"))
    session.show(*run_of(reason="budget", error="the budget is used up: all are used."))
    assert session.text().splitlines()[-1] == "! The budget is used up: all are used."
    assert "Budget: all" not in session.text()


def test_a_command_of_the_user_shows_what_it_prints_and_how_it_ends() -> None:
    session = Session().show(UserCommandStart("make", in_context=True), UserCommandUpdate("cc a.c\n"))
    assert session.text() == "• ! make\n  cc a.c"

    session.show(UserCommandEnd("make", True, "cc a.c\nfailed", 2, False, True, "/tmp/log", 3200))

    assert session.text() == (
        "✗ ! make\n  cc a.c\n  failed\n  Command exited with code 2\n  Full output: /tmp/log\n  3.2 s"
    )


def test_a_command_that_the_model_is_not_told_of_has_two_marks() -> None:
    session = Session().show(UserCommandStart("ls", in_context=False))
    session.show(UserCommandEnd("ls", False, "", None, True, False, None, 10))

    assert session.text() == "✗ !! ls\n  Stopped."


def test_thinking_can_be_hidden_also_while_it_streams() -> None:
    session = Session().show(*streams(reply(ThinkingContent("Why?\n\nBecause."), TextContent("So."))))
    assert session.text() == "Why?\n\nBecause.\n\nSo."

    session.view.toggle_thinking()

    assert session.text() == "thinking… (Ctrl+T shows it)\n\nSo."


def test_cards_can_be_expanded_and_later_ones_then_are_too() -> None:
    output = "\n".join(map(str, range(8)))
    session = Session().show(*runs(LIST, result(LIST, output)))
    assert session.text() == "✓ $ ls\n  … lines 1 to 3 of 8 hidden (Ctrl+O shows all)\n  3\n  4\n  5\n  6\n  7"

    session.view.toggle_tools()
    session.show(*runs(READ, result(READ, "x")))

    assert session.text() == "✓ $ ls\n  0\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n\n✓ read a.py\n  x\n  1 line"


def test_notices_tell_their_kind_without_colour() -> None:
    session = Session()
    session.transcript.notice("Saved.")
    session.transcript.notice("Careful.", "warning")
    session.transcript.notice("Broken.", "error")

    assert session.text() == "• Saved.\n\n! Careful.\n\n✗ Broken."


def test_the_last_answer_is_what_the_model_wrote() -> None:
    session = Session().show(*streams(reply(TextContent("Use *this*:\n\n```py\nx = 1\n```"), LIST, stop="toolUse")))
    session.show(*streams(reply(LIST, stop="toolUse")))

    assert session.transcript.last_answer() == "Use *this*:\n\n```py\nx = 1\n```"
    assert session.transcript.code_blocks() == [("py", "x = 1")]


def test_there_is_no_last_answer_at_the_beginning() -> None:
    assert Session().transcript.last_answer() == ""


def test_clearing_empties_the_document_and_forgets_what_was_open() -> None:
    session = Session().show(*streams(reply(TextContent("Hello"), LIST, stop="toolUse")), begins(LIST))

    session.transcript.clear()
    session.show(prints(LIST, "late"))

    assert session.text() == ""
    assert session.transcript.last_answer() == ""


def test_nothing_is_laid_out_before_it_is_asked_for_and_only_once() -> None:
    session = Session().show(*streams(reply(TextContent("Hello"), LIST, stop="toolUse")), *says("x"))

    first = [block.render(40) for block in session.document.blocks]
    second = [block.render(40) for block in session.document.blocks]

    assert all(one is other for one, other in zip(first, second, strict=True))


def test_every_glyph_has_an_ascii_form() -> None:
    session = Session(ascii_only=True).show(*says("hi"), *streams(reply(LIST, READ, stop="toolUse")), begins(LIST))
    session.show(prints(LIST, "\n".join(map(str, range(9)))), *ends(READ, result(READ, "no", error=True)))

    text = session.text()

    assert text.isascii()
    assert text.startswith("> hi\n\n*  $ ls\n   ... lines 1 to 4 of 9 hidden (Ctrl+O shows all)\n   4\n")
    assert "\n\nx  read a.py\n   no" in text


def test_only_cards_and_the_users_words_have_a_background_as_wide_as_the_screen() -> None:
    session = Session(styles={"userMessageBg": "48;5;1", "toolSuccessBg": "48;5;2"})
    session.show(*says("hi"), *runs(LIST, result(LIST, "a")))

    lines = session.painted(20)

    assert [line for line in lines if line] == [
        "\x1b[48;5;1m\x1b[1m› \x1b[0m\x1b[48;5;1mhi" + " " * 16 + "\x1b[0m",
        "\x1b[48;5;2m✓ $ ls" + " " * 14 + "\x1b[0m",
        "\x1b[48;5;2m  a" + " " * 17 + "\x1b[0m",
    ]
