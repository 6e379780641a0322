from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.tui.context import Context
from kaa.tui.events import Key
from tests.support.keyboard import keyboard_context, press
from tests.support.painted import assert_well_formed, visible
from tests.support.tables import each


def dialog(context: Context, lines: int = 100, title: str = "A question") -> DialogFrame:
    choices = [DialogChoice(letter, f"answer {letter}", lambda: None) for letter in "ynx"]
    return DialogFrame(
        context,
        title,
        lambda _: [f"line {number}" for number in range(lines)],
        DialogChoices(context, choices, lambda: None),
    )


def shown(frame: DialogFrame, width: int = 60) -> list[int]:
    """The numbers of the lines of the body that are shown."""
    words = [line.strip(" │|").split() for line in visible(frame.render(width))]
    return [int(word[1]) for word in words if word[:1] == ["line"]]


def test_what_fits_is_shown_with_title_and_answers() -> None:
    frame = dialog(keyboard_context(), lines=2)

    assert visible(frame.render(30)) == [
        "╭─ A question ───────────────╮",
        "│ line 0                     │",
        "│ line 1                     │",
        "│                            │",
        "│ › answer y (y)             │",
        "│   answer n (n)             │",
        "│   answer x (x)             │",
        "╰────────────────────────────╯",
    ]
    assert frame.cursor() == (4, 2)


def test_ascii_is_enough() -> None:
    frame = dialog(keyboard_context(ascii_only=True), lines=1)

    assert all(line.isascii() for line in visible(frame.render(30)))


@each("rows", range(6, 40))
def test_every_line_of_the_body_can_be_read_on_any_screen(rows: int) -> None:
    frame = dialog(keyboard_context(rows=rows))
    read = shown(frame)
    while press(frame, "pagedown") and shown(frame)[-1] != read[-1]:
        page = shown(frame)
        assert page[0] <= read[-1] + 1  # no line is passed over
        read += [number for number in page if number > read[-1]]

    assert read == list(range(100))
    press(frame, *["pageup"] * 100)
    assert shown(frame)[0] == 0


@each("rows", range(8, 40))
def test_the_dialog_leaves_room_for_the_footer(rows: int) -> None:
    frame = dialog(keyboard_context(rows=rows))

    assert len(frame.render(60)) <= rows - 2
    assert any("answer y (y)" in line for line in visible(frame.render(60)))


def test_how_much_more_there_is_is_said_with_the_keys_in_force() -> None:
    context = keyboard_context()
    frame = dialog(context)

    assert any("0 lines above, 87 below (PageUp / PageDown)" in line for line in visible(frame.render(60)))


@each("lines", range(1, 40))
def test_no_row_says_that_one_line_alone_is_hidden(lines: int) -> None:
    frame = dialog(keyboard_context(rows=24), lines=lines)

    assert not any("0 lines above, 1 below" in line for line in visible(frame.render(60)))


@each("width", range(1, 20))
def test_narrow_screens_are_kept_to(width: int) -> None:
    frame = dialog(keyboard_context(columns=width), lines=3)

    assert_well_formed(frame.render(width), width)


def test_the_same_lines_come_back_until_something_changes() -> None:
    context = keyboard_context()
    frame = dialog(context)
    lines = frame.render(60)

    assert frame.render(60) is lines
    press(frame, "down")
    assert frame.render(60) is not lines
    lines = frame.render(60)
    context.palette.change(context.palette.theme)
    assert frame.render(60) is not lines


def test_a_title_cannot_act_on_the_terminal() -> None:
    frame = dialog(keyboard_context(), lines=1, title="\x1b]0;owned\x07two\nlines")

    assert_well_formed(frame.render(60), 60)
    assert "two lines" in visible(frame.render(60))[0]


def test_letters_choose_at_once_and_enter_the_selected() -> None:
    context = keyboard_context()
    chosen: list[str] = []
    cancelled: list[str] = []
    choices = DialogChoices(
        context,
        [DialogChoice(letter, letter, lambda letter=letter: chosen.append(letter)) for letter in "ynx"],  # type: ignore[misc]  # a default argument
        lambda: cancelled.append("esc"),
    )

    choices.key(Key("n", "n"))
    choices.key(Key("shift+x", "X"))
    press(choices, "enter")
    press(choices, "down", "enter", "up", "up", "enter")
    assert not choices.key(Key("q", "q"))
    press(choices, "escape")

    assert chosen == ["n", "x", "y", "n", "x"]
    assert cancelled == ["esc"]


def test_releasing_a_key_chooses_nothing() -> None:
    chosen: list[str] = []
    choices = DialogChoices(keyboard_context(), [DialogChoice("y", "Yes", lambda: chosen.append("y"))], lambda: None)

    choices.key(Key("y", "y", "release"))

    assert chosen == []


def test_few_rows_show_one_answer_and_the_letters_of_the_others() -> None:
    context = keyboard_context(rows=9)
    choices = DialogChoices(
        context, [DialogChoice(letter, f"answer {letter}", lambda: None) for letter in "ynx"], lambda: None
    )

    assert visible(choices.render(30)) == ["› answer y (y)  n x"]
    press(choices, "down")
    assert visible(choices.render(30)) == ["› answer n (n)  y x"]
    assert choices.cursor() == (0, 0)
    context.size.rows = 24
    assert len(choices.render(30)) == 3


def test_line_by_line_all_is_written_whatever_the_height() -> None:
    frame = dialog(keyboard_context(rows=8), lines=30)

    written = visible(frame.written(60))

    assert len(written) == 1 + 30 + 1 + 3
    assert written[0] == written[31]  # the title again, where the answers are
    assert written[-1].strip() == "answer x (x)"


def test_of_a_hint_whole_parts_are_left_where_there_is_little_room() -> None:
    context = keyboard_context()
    choices = DialogChoices(context, [DialogChoice("y", "yes", lambda: None)], lambda: None)
    frame = DialogFrame(context, "A question", lambda _: [], choices, "Enter keeps it, Ctrl+R renames, Esc goes back")

    below = [visible(frame.render(width))[-1].strip("╰─╯ ") for width in (60, 40, 24, 12)]

    assert below == [
        "Enter keeps it, Ctrl+R renames, Esc goes back",
        "Enter keeps it, Ctrl+R renames",
        "Enter keeps it",
        "Enter k",
    ]


def test_a_title_without_room_says_that_it_goes_on() -> None:
    context = keyboard_context()
    choices = DialogChoices(context, [DialogChoice("y", "yes", lambda: None)], lambda: None)
    frame = DialogFrame(context, "May the server ask your model?", lambda _: [], choices)

    assert visible(frame.render(60))[0].startswith("╭─ May the server ask your model? ─")
    assert visible(frame.render(24))[0] == "╭─ May the server as… ─╮"
