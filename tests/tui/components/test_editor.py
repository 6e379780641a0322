import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.editor import Editor
from kaa.tui.editing.history import InputHistory
from kaa.tui.events import Key, Paste
from kaa.tui.width import cells, plain
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import assert_well_formed, visible
from tests.support.strategies import foreign_text


def _editor(text: str = "", *, columns: int = 40, rows: int = 24, history: tuple[str, ...] = ()) -> Editor:
    editor = Editor(keyboard_context(columns=columns, rows=rows), InputHistory(history))
    if text:
        editor.insert(text)
    return editor


def _rows(editor: Editor, width: int = 40) -> list[str]:
    """The rows between the rules."""
    return visible(editor.render(width))[1:-1]


def _copied(editor: Editor) -> list[str]:
    copied: list[str] = []
    editor.commands.on_copy = copied.append
    return copied


class TestWhatIsShown:
    def test_text_stands_between_rules(self) -> None:
        editor = _editor("hello")

        assert visible(editor.render(10)) == ["─" * 10, "hello", "─" * 10]
        assert editor.cursor() == (1, 5)

    def test_rules_are_plain_where_there_is_no_unicode(self) -> None:
        editor = Editor(keyboard_context(ascii_only=True))

        assert editor.render(5)[0] == "\x1b[34m-----\x1b[0m"

    def test_title_and_hint_stand_in_the_rules(self) -> None:
        editor = _editor("x")
        editor.title, editor.hint = "review", "enter sends"

        lines = visible(editor.render(20))

        assert lines[0] == "── review ──────────"
        assert lines[2] == "── enter sends ─────"

    def test_long_titles_are_cut(self) -> None:
        editor = _editor("x")
        editor.title = "a title that is too long"

        assert cells(plain(editor.render(12)[0])) == 12

    def test_placeholder_gives_way_to_text(self) -> None:
        editor = _editor()
        editor.placeholder = "Ask anything"

        assert _rows(editor) == ["Ask anything"]
        assert editor.cursor() == (1, 0)
        type_text(editor, "x")
        assert _rows(editor) == ["x"]

    def test_padding_moves_text_and_caret(self) -> None:
        editor = _editor("ab")
        editor.padding = 2

        assert _rows(editor) == ["  ab"]
        assert editor.cursor() == (1, 4)

    def test_only_a_third_of_the_terminal_is_taken_and_the_caret_stays_in_view(self) -> None:
        editor = _editor("\n".join(map(str, range(30))), rows=24)

        assert _rows(editor) == list(map(str, range(22, 30)))
        assert "22 more above" in plain(editor.render(40)[0])
        press(editor, *["up"] * 10)
        assert _rows(editor)[0] == "19"
        assert editor.cursor()[0] == 1
        assert "3 more below" in plain(editor.render(40)[-1])

    def test_a_low_terminal_still_shows_five_rows(self) -> None:
        editor = _editor("\n" * 20, rows=6)

        assert len(_rows(editor)) == 5

    def test_the_selection_is_marked_without_colours_too(self) -> None:
        editor = _editor("ab cd")

        press(editor, "shift+left")

        assert editor.render(20)[1] == "ab c\x1b[7md\x1b[0m"

    def test_a_selected_line_feed_is_a_cell(self) -> None:
        editor = _editor("a\n\nb")

        press(editor, "alt+a")

        assert editor.render(20)[1:4] == ["\x1b[7ma \x1b[0m", "\x1b[7m \x1b[0m", "\x1b[7mb\x1b[0m"]

    def test_nothing_is_painted_again_as_long_as_nothing_changes(self) -> None:
        editor = _editor("text")
        lines = editor.render(40)

        assert editor.render(40) is lines
        press(editor, "left")
        assert editor.render(40) is not lines

    @given(foreign_text(), st.integers(2, 50), st.integers(0, 3), st.data())
    def test_lines_keep_to_the_width_and_the_cursor_to_the_lines(
        self, text: str, width: int, padding: int, data: st.DataObject
    ) -> None:
        editor = _editor(text)
        editor.padding = padding
        editor.buffer.move(data.draw(st.integers(0, len(editor.buffer.text))))
        editor.buffer.move(data.draw(st.integers(0, len(editor.buffer.text))), selecting=True)

        lines = editor.render(width)

        assert_well_formed(lines, width)
        row, column = editor.cursor()
        assert 0 < row < len(lines) - 1
        assert 0 <= column < width

    @given(foreign_text(), st.integers(6, 30), st.data())
    def test_the_cursor_is_behind_what_is_before_it(self, text: str, width: int, data: st.DataObject) -> None:
        editor = _editor(text.replace("\ud800", "").replace("\ud801", ""))
        editor.max_rows = 1000
        at = data.draw(st.integers(0, len(editor.text)))
        editor.buffer.move(at)
        lines = [plain(line) for line in editor.render(width)]
        row, column = editor.cursor()

        shown = "".join(lines[1:row]) + lines[row]
        before = editor.text[:at].replace("\n", "").replace("\t", "    ")

        assert cells("".join(lines[1:row])) + column <= cells(shown)
        assert cells("".join(lines[1:row])) + column >= cells(before) - 2  # within an emoji it is at its start


class TestTyping:
    def test_harmful_characters_are_made_visible(self) -> None:
        editor = _editor()

        editor.key(Paste("a\x1b[2Jb\u202e"))

        assert editor.text == "a\\x1b[2Jb\\u202e"

    def test_a_backslash_before_the_caret_makes_enter_a_new_line(self) -> None:
        editor = _editor()
        submitted: list[str] = []
        editor.on_submit = submitted.append

        type_text(editor, "one\\\ntwo\n")

        assert submitted == ["one\ntwo"]

    def test_take_empties_the_editor_and_remembers(self) -> None:
        editor = _editor("question")

        assert editor.take() == "question"
        assert editor.is_empty
        assert editor.history.entries == ["question"]
        press(editor, "ctrl+-")
        assert editor.is_empty

    def test_changes_are_told_once_each_and_movements_not(self) -> None:
        editor = _editor()
        told: list[str] = []
        editor.on_change = lambda: told.append(editor.text)

        type_text(editor, "ab")
        press(editor, "left", "backspace")

        assert told == ["a", "ab", "b"]

    def test_releases_of_keys_mean_nothing(self) -> None:
        editor = _editor()

        assert editor.key(Key("a", "a", "release")) is False
        assert editor.is_empty

    def test_unknown_keys_are_left_to_others(self) -> None:
        assert press(_editor("x"), "f5") is False

    def test_words_are_undone_one_by_one_and_redone(self) -> None:
        editor = _editor()
        type_text(editor, "one two three")

        press(editor, "ctrl+-", "ctrl+-")
        assert editor.text == "one "
        press(editor, "alt+/")
        assert editor.text == "one two "

    def test_older_kills_are_yanked_in_turn(self) -> None:
        editor = _editor("one two")
        press(editor, "ctrl+w")
        press(editor, "left", "right")
        press(editor, "ctrl+u")

        press(editor, "ctrl+y", "alt+y")

        assert editor.text == "two"
        press(editor, "alt+y")
        assert editor.text == "one "
        press(editor, "ctrl+-")
        assert editor.is_empty

    def test_jumps_to_a_character(self) -> None:
        editor = _editor("abcabc")
        editor.buffer.move(0)

        press(editor, "ctrl+]")
        type_text(editor, "c")
        assert editor.buffer.caret == 2
        press(editor, "ctrl+alt+]")
        type_text(editor, "a")
        assert editor.buffer.caret == 0
        assert editor.text == "abcabc"

    def test_escape_ends_a_jump_and_nothing_else(self) -> None:
        editor = _editor("abc")

        press(editor, "ctrl+]")

        assert press(editor, "escape") is True
        assert press(editor, "escape") is False

    def test_copies_only_what_is_selected(self) -> None:
        editor = _editor("one two")
        copied = _copied(editor)

        assert press(editor, "ctrl+c") is False
        press(editor, "ctrl+shift+left")
        assert press(editor, "ctrl+c") is True
        assert press(editor, "ctrl+x") is True

        assert copied == ["two", "two"]
        assert editor.text == "one "

    def test_pages_go_by_the_rows_shown(self) -> None:
        editor = _editor("\n".join(map(str, range(40))))
        editor.render(40)

        press(editor, "pageup")

        assert editor.text[: editor.buffer.caret].count("\n") == 39 - 7


class TestPastes:
    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("x\n" * 11, "[paste #1 +12 lines]"),
            ("x" * 1001, "[paste #1 1001 chars]"),
            ("x\n" * 9 + "x", None),
            ("x" * 1000, None),
        ],
    )
    def test_large_ones_have_a_label(self, text: str, label: str | None) -> None:
        editor = _editor()

        editor.key(Paste(text))

        assert editor.text == text
        assert (_rows(editor) == [label]) == (label is not None)

    def test_it_goes_and_comes_back_as_one_character(self) -> None:
        editor = _editor("ab")
        editor.buffer.move(1)
        pasted = "line\n" * 50
        editor.key(Paste(pasted))

        press(editor, "left")
        assert editor.buffer.caret == 1
        press(editor, "right", "backspace")
        assert editor.text == "ab"
        press(editor, "ctrl+-")
        assert editor.text == f"a{pasted}b"

    def test_killed_and_yanked_after_the_text_was_taken(self) -> None:
        editor = _editor()
        pasted = "line\n" * 50
        editor.key(Paste(pasted))
        press(editor, "ctrl+u")
        type_text(editor, "hi")
        editor.take()

        press(editor, "ctrl+y")

        assert editor.text == pasted

    def test_it_is_copied_in_full(self) -> None:
        editor = _editor()
        copied = _copied(editor)
        editor.key(Paste("y" * 2000))

        press(editor, "alt+a", "ctrl+c")

        assert copied == ["y" * 2000]

    def test_it_is_shown_in_full_by_a_key(self) -> None:
        editor = _editor("see ")
        editor.key(Paste("one\n" * 12))

        press(editor, "alt+e")

        assert editor.buffer.text == "see " + "one\n" * 12

    def test_each_has_a_number(self) -> None:
        editor = _editor()
        editor.key(Paste("x" * 2000))
        editor.key(Paste("y" * 3000))

        assert _rows(editor, 80) == ["[paste #1 2000 chars][paste #2 3000 chars]"]

    def test_characters_that_stand_for_pastes_cannot_be_brought_in(self) -> None:
        editor = _editor()
        editor.key(Paste("secret " * 1000))

        editor.key(Paste("\ud800"))

        assert editor.text == "secret " * 1000 + "\\ud800"

    def test_a_megabyte_is_not_laid_out(self) -> None:
        editor = _editor()

        editor.key(Paste("0123456789abcdef" * 65536))

        assert len(editor.buffer.text) == 1
        assert len("".join(editor.render(80))) < 500
        assert len(editor.text) == 1 << 20


class TestHistory:
    def test_up_goes_back_and_down_returns_to_the_draft(self) -> None:
        editor = _editor("draft", history=("one", "two"))

        shown = []
        for key in ("up", "up", "up", "down", "down", "down"):
            press(editor, key)
            shown.append(editor.text)

        assert shown == ["two", "one", "one", "two", "draft", "draft"]

    def test_up_and_down_move_within_the_text_first(self) -> None:
        editor = _editor("one\ntwo", history=("before",))

        press(editor, "up")
        assert editor.text == "one\ntwo"
        press(editor, "up")
        assert editor.text == "before"

    def test_going_back_passes_through_long_entries_at_once(self) -> None:
        editor = _editor(history=("first", "many\nlines", "words " * 30))

        press(editor, "up", "up", "up")

        assert editor.text == "first"

    def test_what_is_edited_is_the_draft(self) -> None:
        editor = _editor(history=("one", "two"))
        press(editor, "up")
        type_text(editor, "!")

        press(editor, "up")
        assert editor.text == "two"
        press(editor, "down")
        assert editor.text == "two!"

    def test_undo_brings_back_the_draft_at_once(self) -> None:
        editor = _editor("draft", history=("one", "two"))
        press(editor, "up", "up")

        press(editor, "ctrl+-")

        assert editor.text == "draft"

    def test_a_draft_keeps_its_pastes(self) -> None:
        editor = _editor(history=("one",))
        editor.key(Paste("x" * 5000))

        press(editor, "up", "down")

        assert editor.text == "x" * 5000

    def test_older_entries_may_arrive_later(self) -> None:
        editor = _editor(history=("new",))
        press(editor, "up")

        editor.history.prepend(["older", "old"])
        press(editor, "up")

        assert editor.text == "old"

    def test_blank_and_repeated_texts_are_not_kept(self) -> None:
        history = InputHistory()

        for text in ("a", "a", "  \n", "b", "a"):
            history.add(text)

        assert history.entries == ["a", "b", "a"]


class TestHistorySearch:
    def _searching(self, query: str) -> Editor:
        editor = _editor("draft", history=("git status", "make test", "git push", "Git log"))
        press(editor, "ctrl+r")
        type_text(editor, query)
        return editor

    def test_shows_the_newest_that_fits(self) -> None:
        editor = self._searching("git")

        assert editor.text == "Git log"
        lines = visible(editor.render(40))
        assert lines[2] == "search history 1/3: git"
        assert editor.cursor() == (2, 23)

    def test_again_shows_the_one_before(self) -> None:
        editor = self._searching("git")

        press(editor, "ctrl+r", "ctrl+r")
        assert editor.text == "git status"
        press(editor, "down")
        assert editor.text == "git push"

    def test_enter_takes_it_without_submitting(self) -> None:
        editor = self._searching("make")
        submitted: list[str] = []
        editor.on_submit = submitted.append

        press(editor, "enter")
        type_text(editor, "!")

        assert editor.text == "make test!"
        assert not submitted

    def test_escape_brings_back_the_draft(self) -> None:
        editor = self._searching("git")

        assert press(editor, "escape") is True

        assert editor.text == "draft"
        assert visible(editor.render(10))[2] == "─" * 10

    def test_nothing_found_is_said(self) -> None:
        editor = self._searching("nothing like it")

        assert editor.text == "draft"
        assert "nothing found" in visible(editor.render(60))[2]

    def test_other_keys_take_what_was_found_and_do_what_they_do(self) -> None:
        editor = self._searching("make")

        press(editor, "pageup")

        assert editor.text == "make test"
        assert editor.buffer.caret == 0
