from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.fuzzy import FuzzyIndex, rank
from tests.support.tables import each

_PATHS = [
    "src/kaa/tui/components/editor.py",
    "src/kaa/tui/components/",
    "src/kaa/tui/editing/layout.py",
    "src/kaa/tui/completion.py",
    "src/kaa/tui/components/completion_menu.py",
    "tests/tui/test_editor.py",
    "docs/editor-notes.md",
    "README.md",
    "Makefile",
    "src/kaa/editorial/plan.txt",
]
_path = st.lists(st.text("abcAB_.- ", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join)
_query = st.text("abc. /", max_size=5)


def _has_in_order(word: str, text: str) -> bool:
    letters = iter(text.lower())
    return all(letter in letters for letter in word)


def _matches(query: str, path: str) -> bool:
    return all(_has_in_order(word, f"/{path}") for word in query.lower().split())


@each(
    ("query", "best"),
    [
        ("editor", "src/kaa/tui/components/editor.py"),
        ("EDITOR", "src/kaa/tui/components/editor.py"),
        ("read", "README.md"),
        ("compmenu", "src/kaa/tui/components/completion_menu.py"),
        ("components", "src/kaa/tui/components/"),
        ("tests editor", "tests/tui/test_editor.py"),
        ("editor tests", "tests/tui/test_editor.py"),
        ("editing/lay", "src/kaa/tui/editing/layout.py"),
        ("mkf", "Makefile"),
        ("ial/p", "src/kaa/editorial/plan.txt"),
    ],
)
def test_the_best_match_comes_first(query: str, best: str) -> None:
    assert FuzzyIndex(_PATHS).search(query)[0] == best


def test_names_come_before_directories_on_the_way() -> None:
    found = FuzzyIndex(_PATHS).search("editor")

    assert found[-1] == "src/kaa/editorial/plan.txt"
    assert len(found) == 4


def test_an_empty_query_gives_the_shortest() -> None:
    assert FuzzyIndex(_PATHS).search("  ", 2) == ["Makefile", "README.md"]


@given(st.lists(_path, unique=True, max_size=30), _query)
def test_finds_what_has_every_word_in_order_and_nothing_else(paths: list[str], query: str) -> None:
    found = FuzzyIndex(paths).search(query, 100)

    assert sorted(found) == sorted(path for path in paths if _matches(query, path))


@given(st.lists(_path, unique=True, max_size=30), st.text("abc. ", min_size=1, max_size=6))
def test_typing_on_finds_the_same_as_typing_at_once(paths: list[str], query: str) -> None:
    typed = FuzzyIndex(paths)
    for end in range(len(query)):
        typed.search(query[:end], 100)

    assert typed.search(query, 100) == FuzzyIndex(paths).search(query, 100)


def test_no_more_than_asked_for() -> None:
    index = FuzzyIndex(f"dir{number}/file{number}.py" for number in range(2000))

    assert len(index.search("file", 7)) == 7
    assert len(index) == 2000


def test_names_with_line_feeds_are_found() -> None:
    index = FuzzyIndex(["b/odd\nname.txt", "a/plain.txt"])

    assert index.search("odd") == ["b/odd\nname.txt"]
    assert index.search("plain") == ["a/plain.txt"]


@each("query", ["x", "a.b", "[", "\\", "*", "("])
def test_an_empty_index_and_special_characters(query: str) -> None:
    assert FuzzyIndex([]).search(query) == []
    assert FuzzyIndex(["dir/[odd](name)*\\x"]).search(query) in ([], ["dir/[odd](name)*\\x"])


class TestRank:
    def test_better_matches_first_and_equals_in_their_order(self) -> None:
        items = ["show log", "logout", "catalogue", "login", "lag of g"]

        assert rank("log", items) == ["login", "logout", "show log", "catalogue", "lag of g"]

    def test_the_text_is_what_the_key_says(self) -> None:
        assert rank("b", [("a", 1), ("b", 2)], key=lambda item: item[0]) == [("b", 2)]

    def test_all_in_their_order_for_an_empty_query(self) -> None:
        assert rank("", ["b", "a"]) == ["b", "a"]

    @given(st.lists(st.text("abc ", max_size=6)), _query)
    def test_every_word_must_be_there(self, items: list[str], query: str) -> None:
        found = rank(query, items)

        assert sorted(found) == sorted(
            item for item in items if all(_has_in_order(word, item) for word in query.split())
        )
