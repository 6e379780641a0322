"""The page of an exported session in a real browser: how people get around in it."""

from collections.abc import Callable
from pathlib import Path

from tests.support.browser import Page
from tests.support.rich_session import chain, user, write_rich_session
from tests.support.sessions import write_session

Export = Callable[[Path], Path]


def current(page: Page) -> str:
    """What j and k are at."""
    return str(page.evaluate("document.querySelector('.entry.current')?.innerText ?? ''"))


def search(page: Page, words: str) -> None:
    page.press("/")
    page.send("Input.insertText", {"text": words})
    page.wait_for(f"document.body.dataset.searched === {words.lower()!r}")


def test_it_shows_the_current_branch_and_nothing_goes_wrong(rich: Page) -> None:
    shown = rich.text("#entries")

    assert "The test of the pendulum fails" in shown
    assert "divide" in shown
    assert "Now write it in Rust" not in shown
    assert rich.evaluate("document.title") == "The pendulum"
    assert rich.problems() == []


def test_a_click_in_the_tree_goes_to_another_branch(rich: Page) -> None:
    place = "[...document.querySelectorAll('#tree .line')].find((e) => e.textContent.includes('Rust.'))"
    rich.evaluate(f"{place}.id = 'wanted'")

    rich.click("#wanted")

    assert "Now write it in Rust" in current(rich)
    assert "has to divide" not in rich.text("#entries")
    assert rich.text("#end") == "This branch was left here."


def test_arrows_and_enter_in_the_tree_go_to_a_branch(rich: Page) -> None:
    rich.evaluate("tree.focus()")
    rich.press("Home", "ArrowRight", "Enter")

    assert "Now write it in Rust" in current(rich)


def test_where_the_conversation_branched_one_can_step_to_the_other_branch(rich: Page) -> None:
    rich.evaluate("goTo(rows.findIndex((row) => row[0] === 'u2'))")
    assert "has to divide" not in rich.text("#entries")

    rich.click(".siblings .icon")

    assert "has to divide" in rich.text("#entries")


def test_the_tree_shows_labels_and_where_the_session_goes_on(rich: Page) -> None:
    assert rich.evaluate("document.querySelector('#tree .label').textContent") == "fixed"
    assert rich.evaluate("document.querySelectorAll('#tree .leaf').length") == 1


def test_the_tree_tells_what_output_began_with_in_plain_text(rich: Page) -> None:
    rich.evaluate("document.getElementById('tree-kinds').value = 'all'; refreshTree()")

    assert "bash: F test_pendulum.py:1: AssertionError" in rich.text("#tree")


def test_the_tree_can_be_filtered(rich: Page) -> None:
    rich.evaluate("document.getElementById('tree-kinds').value = 'user'; refreshTree()")
    assert rich.evaluate("treeLines.map((at) => rows[at][0])") == ["u1", "u2", "u3"]
    assert rich.evaluate("document.querySelector('#tree .line:has(.leaf)').textContent").startswith("›Thank you")

    rich.evaluate("document.getElementById('tree-query').value = 'rust'; refreshTree()")

    assert rich.evaluate("treeLines.map((at) => rows[at][0])") == ["u2"]


def test_search_goes_from_match_to_match(rich: Page) -> None:
    search(rich, "GRAVITY")
    assert rich.text("#hits") == "3 matches"

    rich.press("Enter")
    first = current(rich)
    rich.press("Enter")

    assert rich.text("#hits") == "2 of 3"
    assert "gravity" in first.lower()
    assert current(rich) != first
    assert rich.evaluate("[...CSS.highlights.get('hit')].map((range) => range.toString().toLowerCase())") == ["gravity"]


def test_search_opens_what_is_folded_where_the_match_is(rich: Page) -> None:
    search(rich, "test_pendulum.py:40")

    rich.press("Enter")

    assert "test_pendulum.py:40" in rich.text(".tool.failed")


def test_search_finds_words_across_bold_and_plain(tmp_path: Path, page: Page, exported: Export) -> None:
    page.open(exported(write_session(tmp_path / "s.jsonl", user("a", None, "swings **very** slowly"))))

    search(page, "very")
    page.press("Enter")

    assert page.evaluate("[...CSS.highlights.get('hit')].map((range) => range.toString())") == ["very"]
    assert page.evaluate("(needle = 'swings very slowly', rangesIn(document.querySelector('.entry')).length)") == 1


def test_other_branches_are_searched_when_that_is_wanted(rich: Page) -> None:
    search(rich, "cargo")
    assert rich.text("#hits") == "0 matches"

    rich.evaluate("document.getElementById('everywhere').click()")
    rich.wait_for("document.getElementById('hits').textContent === '1 match'")
    rich.press("Enter")

    assert "cargo" in current(rich)


def test_hidden_thinking_is_not_searched(rich: Page) -> None:
    search(rich, "first see what")
    assert rich.text("#hits") == "1 match"
    rich.evaluate("queryField.blur()")

    rich.press("t")

    rich.wait_for("document.getElementById('hits').textContent === '0 matches'")


def test_j_and_k_step_through_the_entries(rich: Page) -> None:
    rich.press("g", "j")
    rich.press("j")
    second = current(rich)
    rich.press("j", "k")

    assert current(rich) == second
    rich.press("G")
    assert "has to divide" in current(rich)


def test_the_keys_are_listed(rich: Page) -> None:
    rich.press("?")

    assert rich.evaluate("document.getElementById('keys').open") is True
    assert "Next match" in rich.text("#keys")


def test_an_address_with_an_entry_goes_there(tmp_path: Path, page: Page, exported: Export) -> None:
    page.open(exported(write_rich_session(tmp_path)), "#b2")

    assert "rewrite of everything" in current(page)


def test_on_a_narrow_screen_the_tree_lies_below_the_bar_and_goes_when_something_was_chosen(
    tmp_path: Path, page: Page, exported: Export
) -> None:
    page.resize(400, 800)
    page.open(exported(write_rich_session(tmp_path)))
    assert page.evaluate("document.getElementById('sidebar').offsetParent === null && tree.offsetHeight") == 0

    page.click("#toggle-tree")

    bar = page.evaluate("document.querySelector('.bar').getBoundingClientRect().bottom")
    assert page.evaluate("document.getElementById('tree-query').getBoundingClientRect().top") >= bar

    page.click("#tree .line:nth-child(2)")

    assert page.evaluate("tree.offsetHeight") == 0
    assert "I look at what fails" in current(page)


def test_of_a_long_session_only_what_is_near_is_drawn(tmp_path: Path, page: Page, exported: Export) -> None:
    page.open(exported(write_session(tmp_path / "s.jsonl", *chain(5000))))

    page.press("G")
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    search(page, "number 2500")
    page.press("Enter")

    assert "message number 2500" in current(page)
    top = page.evaluate("document.querySelector('.entry.current').getBoundingClientRect().top")
    assert 0 <= top < 860
    assert page.evaluate("document.querySelectorAll('.entry').length") < 400
    assert page.evaluate("document.querySelectorAll('#tree .line').length") < 100
    assert page.problems() == []
