"""Completing in an editor: the menu, its keys, and the sources."""

from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.completion import Completion
from kaa.tui.completion_sources import (
    CommandCompletion,
    CommandEntry,
    FileCompletion,
    NameCompletion,
    PathCompletion,
    beginning_with,
)
from kaa.tui.components.completer import CompletionMenu
from kaa.tui.components.editor import Editor
from kaa.tui.events import Paste
from kaa.tui.fuzzy import FuzzyIndex
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import assert_well_formed, visible

_PATHS = ["src/main.py", "src/", "src/a file.txt", "docs/", "docs/main.md", "my dir/", "my dir/notes.md"]


_Found = Callable[[Iterable[tuple[str, str]]], None]


def _levels(typed: str, found: _Found) -> None:
    found([(level, f"think {level}") for level in ("low", "high") if level.startswith(typed)])


def _models(typed: str, found: _Found) -> None:
    found([(name, "") for name in ("opus", "haiku") if typed in name])


_COMMANDS = [
    CommandEntry("help", "Show help"),
    CommandEntry("model", "Choose a model", _models),
    CommandEntry("thinking", "How much to think", _levels),
    CommandEntry("compact", "Make it shorter"),
]


class _Directory:
    """Answers questions for paths when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._answers: list[Callable[[Sequence[str]], None]] = []

    def ask(self, typed: str, answer: Callable[[Sequence[str]], None]) -> None:
        self.asked.append(typed)
        self._answers.append(answer)

    def answer(self, *paths: str) -> None:
        """Answer the first question that was not answered yet."""
        self._answers.pop(0)(paths)


@pytest.fixture
def directory() -> _Directory:
    return _Directory()


@pytest.fixture
def editor(directory: _Directory) -> Editor:
    editor = Editor(keyboard_context())
    index = FuzzyIndex(_PATHS)
    editor.completer.session.sources += [
        CommandCompletion(lambda: _COMMANDS),
        FileCompletion(lambda: index, directory.ask),
        PathCompletion(directory.ask),
    ]
    return editor


def _menu(editor: Editor, width: int = 60) -> list[str]:
    return visible(editor.render(width))[3:]


def _names(editor: Editor) -> list[str]:
    return [row.strip("› ").split()[0] for row in _menu(editor)]


def _submitted(editor: Editor) -> list[str]:
    submitted: list[str] = []
    editor.on_submit = submitted.append
    return submitted


class TestCommands:
    def test_a_slash_at_the_start_offers_them(self, editor: Editor) -> None:
        type_text(editor, "/")

        assert _menu(editor) == [
            "› help      Show help",
            "  model     Choose a model",
            "  thinking  How much to think",
            "  compact   Make it shorter",
        ]

    def test_a_slash_elsewhere_does_not(self, editor: Editor) -> None:
        type_text(editor, "either/")

        assert not _menu(editor)

    def test_enter_submits_the_chosen_one(self, editor: Editor) -> None:
        submitted = _submitted(editor)

        type_text(editor, "/mod\n")

        assert submitted == ["/model "]

    def test_enter_only_inserts_what_was_guessed(self, editor: Editor) -> None:
        submitted = _submitted(editor)

        type_text(editor, "/mdl\n")

        assert editor.text == "/model "
        assert not submitted

    def test_tab_inserts_and_offers_arguments_when_pressed_again(self, editor: Editor) -> None:
        type_text(editor, "/thi\t")

        assert editor.text == "/thinking "
        assert _menu(editor) == []

        type_text(editor, "\t")

        assert _menu(editor) == ["› low   think low", "  high  think high"]

    def test_an_argument_that_is_there_already_submits(self, editor: Editor) -> None:
        submitted = _submitted(editor)

        type_text(editor, "/thinking hi\n")
        assert editor.text == "/thinking high"
        assert not submitted
        type_text(editor, "\n")

        assert submitted == ["/thinking high"]

    def test_a_directory_that_is_typed_without_its_slash_submits(self, editor: Editor) -> None:
        def folders(typed: str, found: _Found) -> None:
            found([(name, "") for name in ("logs/", "logs-old/") if name.startswith(typed)])

        submitted = _submitted(editor)
        commands = [CommandEntry("add-dir", "Write another directory", folders)]
        editor.completer.session.sources[:] = [CommandCompletion(lambda: commands)]

        type_text(editor, "/add-dir log\n")
        assert not submitted
        press(editor, "ctrl+u")
        type_text(editor, "/add-dir logs\n")

        assert submitted == ["/add-dir logs/"]

    def test_down_chooses_another(self, editor: Editor) -> None:
        type_text(editor, "/")

        press(editor, "down", "down", "up", "tab")

        assert editor.text == "/model "

    def test_escape_closes_it_until_something_else_is_typed(self, editor: Editor) -> None:
        type_text(editor, "/he\x1b")
        assert not _menu(editor)
        type_text(editor, "l")
        assert not _menu(editor)

        press(editor, "ctrl+u")
        type_text(editor, "/he")
        assert _menu(editor)

    @pytest.mark.parametrize("erase", ["backspace", "ctrl+u"])
    def test_what_was_erased_is_offered_again_when_it_is_typed_again(self, editor: Editor, erase: str) -> None:
        type_text(editor, "/")
        press(editor, erase)

        type_text(editor, "/")

        assert editor.completer.is_open

    def test_unknown_commands_are_submitted_as_they_are(self, editor: Editor) -> None:
        submitted = _submitted(editor)

        type_text(editor, "/zzz\n")

        assert submitted == ["/zzz"]

    def test_the_history_brings_no_menu(self, editor: Editor) -> None:
        editor.history.add("/model")

        press(editor, "up")

        assert editor.text == "/model"
        assert not _menu(editor)

    def test_moving_away_closes_the_menu(self, editor: Editor) -> None:
        type_text(editor, "/thinking \t")
        assert _menu(editor)

        press(editor, "home")

        assert "think low" not in "".join(_menu(editor))


class TestFiles:
    def test_an_at_sign_offers_what_fits(self, editor: Editor) -> None:
        type_text(editor, "see @main")

        assert _menu(editor) == ["› main.py  src/", "  main.md  docs/"]
        type_text(editor, "\t")
        assert editor.text == "see @src/main.py "
        assert not _menu(editor)

    def test_enter_inserts_and_does_not_submit(self, editor: Editor) -> None:
        submitted = _submitted(editor)

        type_text(editor, "@main.md\n")

        assert editor.text == "@docs/main.md "
        assert not submitted

    def test_paths_with_blanks_are_quoted(self, editor: Editor) -> None:
        type_text(editor, "@file\t")

        assert editor.text == '@"src/a file.txt" '

    def test_directories_are_gone_into(self, editor: Editor) -> None:
        type_text(editor, "@my\t")
        assert editor.text == '@"my dir/'

        type_text(editor, "\t")

        assert editor.text == '@"my dir/notes.md" '

    def test_an_address_is_none(self, editor: Editor) -> None:
        type_text(editor, "me@src")

        assert not _menu(editor)

    def test_a_space_behind_is_not_doubled(self, editor: Editor) -> None:
        editor.insert("a  b")
        editor.buffer.move(2)

        type_text(editor, "@main.md\t")

        assert editor.text == "a @docs/main.md b"

    @pytest.mark.parametrize("typed", ["/tmp/re", "~/re", "../re"])
    def test_paths_out_of_the_project_are_asked_for_by_the_key(
        self, editor: Editor, directory: _Directory, typed: str
    ) -> None:
        folder = typed.removesuffix("re")
        type_text(editor, f"see @{typed}")
        assert (directory.asked, _menu(editor)) == ([], [])

        type_text(editor, "\t")
        directory.answer(f"{folder}report.txt")

        assert directory.asked == [typed]
        assert editor.text == f"see @{folder}report.txt "

    def test_nothing_is_offered_before_the_index_is_there(self, directory: _Directory) -> None:
        editor = Editor(keyboard_context())
        index: list[FuzzyIndex] = []
        editor.completer.session.sources.append(FileCompletion(lambda: index[0] if index else None, directory.ask))
        type_text(editor, "@ma")
        assert not _menu(editor)

        index.append(FuzzyIndex(_PATHS))
        editor.completer.follow()

        assert _menu(editor)

    def test_others_stand_behind_the_files_when_they_come(self, directory: _Directory) -> None:
        editor = Editor(keyboard_context())
        waiting: list[Callable[[list[tuple[str, str]]], None]] = []
        source = FileCompletion(lambda: FuzzyIndex(_PATHS), directory.ask, lambda _, found: waiting.append(found))
        editor.completer.session.sources.append(source)
        type_text(editor, "see @main")
        files = _names(editor)

        waiting[-1]([("maintainers:", "A server"), ("main:note", "")])

        assert _names(editor) == [*files, "maintainers:", "main:note"]

    def test_one_that_goes_on_is_completed_further(self, directory: _Directory) -> None:
        editor = Editor(keyboard_context())
        offered = {"li": [("lib:", "")], "lib:": [("lib:note://a", "Shopping")]}
        source = FileCompletion(lambda: None, directory.ask, lambda typed, found: found(offered.get(typed, [])))
        editor.completer.session.sources.append(source)

        type_text(editor, "@li\t")
        assert editor.text == "@lib:"
        type_text(editor, "\t")

        assert editor.text == "@lib:note://a "

    def test_large_pastes_before_it_do_not_matter(self, editor: Editor) -> None:
        pasted = "line\n" * 100
        editor.key(Paste(pasted))

        type_text(editor, " @main.md\t")

        assert editor.text == f"{pasted} @docs/main.md "


class TestNames:
    def test_they_stand_behind_a_dollar_sign(self) -> None:
        editor = Editor(keyboard_context())
        names = [("release", "Publish"), ("review", "Look"), ("pdf", "Fill")]
        editor.completer.session.sources.append(NameCompletion(lambda: names))

        type_text(editor, "costs 5$ ")
        assert not _menu(editor)
        type_text(editor, "use $re")
        assert _names(editor) == ["review", "release"]
        type_text(editor, "l\t")

        assert editor.text == "costs 5$ use $release "


class TestPaths:
    def test_they_are_asked_for_only_by_the_key(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ./sr")

        assert not directory.asked
        type_text(editor, "\t")
        assert directory.asked == ["./sr"]

    def test_the_answer_may_come_later(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ./s\t")
        assert not _menu(editor)

        directory.answer("./src/", "./setup.py")

        assert _menu(editor) == ["› src/", "  setup.py"]
        press(editor, "down", "tab")
        assert editor.text == "cat ./setup.py "

    def test_a_single_one_is_taken_at_once(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ~/no\t")

        directory.answer("~/notes.txt")

        assert editor.text == "cat ~/notes.txt "

    def test_what_can_follow_a_single_one_is_asked_for_at_once(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ~/no\t")

        directory.answer("~/notes/")

        assert editor.text == "cat ~/notes/"
        assert not _menu(editor)
        assert directory.asked == ["~/no", "~/notes/"]
        directory.answer("~/notes/a.md", "~/notes/b.md")
        assert _menu(editor) == ["› a.md", "  b.md"]

    def test_names_of_files_cannot_act_on_the_terminal(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ./\t")

        directory.answer("./a\x1b]2;title\x07b\u202e\udcff")

        assert editor.text == r"cat ./a\x1b]2;title\x07b\u202e\udcff "
        assert_well_formed(editor.render(40), 40)

    def test_an_answer_that_is_late_changes_nothing(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "cat ~/no\tx ")

        directory.answer("~/notes.txt")

        assert editor.text == "cat ~/nox "
        assert not _menu(editor)

    def test_typing_goes_on_asking_while_the_menu_is_open(self, editor: Editor, directory: _Directory) -> None:
        type_text(editor, "./s\t")
        directory.answer("./src/", "./setup.py")

        type_text(editor, "r")

        assert directory.asked == ["./s", "./sr"]


class TestMenu:
    def _menu(self, count: int, *, visible_rows: int = 5) -> CompletionMenu:
        menu = CompletionMenu(keyboard_context(), visible_rows)
        menu.show([Completion(f"{number}", f"item {number}", "what it is") for number in range(count)])
        return menu

    def test_scrolls_and_tells_the_position(self) -> None:
        menu = self._menu(20, visible_rows=3)

        menu.move(-1)

        assert visible(menu.render(40)) == [
            "  item 17  what it is",
            "  item 18  what it is",
            "› item 19  what it is",
            "  (20/20)",
        ]
        menu.move(1)
        assert visible(menu.render(40))[0] == "› item 0  what it is"

    def test_pages_stop_at_the_ends(self) -> None:
        menu = self._menu(7, visible_rows=5)

        menu.move(5)
        menu.move(5)
        assert menu.chosen == Completion("6", "item 6", "what it is")
        menu.move(-5)
        menu.move(-5)
        assert menu.chosen == Completion("0", "item 0", "what it is")

    def test_a_menu_of_nothing_has_no_rows(self) -> None:
        menu = self._menu(0)

        assert menu.render(40) == []
        assert menu.chosen is None

    def test_descriptions_go_first_where_it_is_narrow(self) -> None:
        assert visible(self._menu(1).render(16)) == ["› item 0"]

    @given(
        st.lists(st.tuples(st.text(max_size=60), st.text(max_size=80)), max_size=8),
        st.integers(1, 80),
        st.integers(-9, 9),
        st.booleans(),
    )
    def test_rows_keep_to_the_width_whatever_they_say(
        self, items: list[tuple[str, str]], width: int, by: int, ascii_only: bool
    ) -> None:
        menu = CompletionMenu(keyboard_context(ascii_only=ascii_only))
        menu.show([Completion("", label, description) for label, description in items])
        if items:
            menu.move(by)

        assert_well_formed(menu.render(width), width)


def test_a_source_can_be_held_to_names_that_begin_with_what_was_typed() -> None:
    commands = [CommandEntry("new", "a new session"), CommandEntry("worktree", "")]
    source = CommandCompletion(lambda: commands, "", beginning_with)

    found = source.complete("w", 1, requested=False)

    assert found is not None
    assert [item.label for item in found.items] == ["worktree"]
    assert source.complete("wq", 2, requested=False) is None
