"""Whatever is in a session, the page stays what it is: no script of the content's runs, nothing is loaded."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import Page
from tests.support.hostile_session import write_hostile_session
from tests.support.rich_session import reply, text
from tests.support.sessions import write_session

Export = Callable[[Path], Path]


@pytest.fixture
def hostile(tmp_path: Path, page: Page, exported: Export) -> Page:
    page.open(exported(write_hostile_session(tmp_path)))
    return page


def look_at_everything(page: Page) -> None:
    page.press("e", "t", "t", "o", "o", "g", "j", "j", "j", "G", "d")
    page.evaluate("document.getElementById('tree-kinds').value = 'all'; refreshTree()")
    page.evaluate("document.getElementById('everywhere').checked = true; queryField.value = 'script'; search()")
    page.press("n", "n", "N")
    page.evaluate("rows.forEach((_, position) => goTo(position, { open: true }))")


def test_nothing_of_the_content_runs_or_is_loaded(hostile: Page, tmp_path: Path) -> None:
    look_at_everything(hostile)

    assert hostile.evaluate("window.owned") is None
    assert hostile.requests() == [(tmp_path / "session.html").as_uri()]
    # Neither did anything try: the policy had nothing to stop, and the program met nothing it could not show.
    assert hostile.problems() == []


def test_the_content_makes_no_elements_of_its_own(hostile: Page) -> None:
    look_at_everything(hostile)

    strange = (
        "[...document.querySelectorAll('svg, iframe, object, embed, link, base, main script, main style, form form')]"
    )
    assert hostile.evaluate(f"{strange}.length") == 0
    names = "[...document.querySelectorAll('main *')].flatMap((e) => e.getAttributeNames())"
    assert hostile.evaluate(f"{names}.filter((name) => name.startsWith('on'))") == []


def test_only_addresses_of_the_web_and_of_mail_are_links(hostile: Page) -> None:
    look_at_everything(hostile)

    schemes = hostile.evaluate("[...new Set([...document.querySelectorAll('main a')].map((a) => a.protocol))]")
    assert set(schemes) <= {"http:", "https:", "mailto:"}
    assert hostile.evaluate("[...document.querySelectorAll('main a')].every((a) => a.rel.includes('noopener'))") is True


def test_only_pictures_that_the_page_carries_are_drawn(hostile: Page) -> None:
    look_at_everything(hostile)

    sources = hostile.evaluate("[...document.querySelectorAll('img')].map((i) => i.src.slice(0, 16))")
    assert all(source.startswith("data:image/png") for source in sources)


def test_the_policy_stops_what_the_program_would_let_through(hostile: Page) -> None:
    """The second wall holds by itself: markup cannot be made, other scripts do not run, nothing is fetched."""
    attempts = hostile.evaluate(
        """Promise.all([
          (() => { try { document.body.innerHTML += "<b>"; return "made"; } catch { return "refused"; } })(),
          (() => { try { return eval("1") === 1 ? "run" : ""; } catch { return "refused"; } })(),
          fetch("https://evil.example/").then(() => "fetched", () => "refused"),
          new Promise((done) => {
            const image = new Image();
            image.onload = () => done("loaded");
            image.onerror = () => done("refused");
            image.src = "https://evil.example/pixel.png";
          }),
        ])"""
    )

    assert attempts[0] == "refused"
    assert attempts[2:] == ["refused", "refused"]
    assert not [url for url in hostile.requests() if "evil" in url and not _was_blocked(hostile, url)]


def _was_blocked(page: Page, url: str) -> bool:
    return any(url.split("/")[2] in problem for problem in page.problems())


@pytest.mark.parametrize(
    "words",
    [
        "*" * 50_000,
        "[" * 50_000,
        "`" * 50_000,
        "> " * 5_000 + "deep",
        "- " * 5_000 + "deep",
        "**a " * 15_000,
        "[a](" * 15_000,
        "|" * 10_000 + "\n" + "|-" * 5_000,
        "http://" * 10_000,
        "_a_b" * 15_000,
        "\n".join(" " * n + "- x" for n in range(2_000)),
        "<" * 100_000,
    ],
    ids=lambda words: words[:8].strip(),
)
def test_no_text_keeps_the_page_busy(tmp_path: Path, page: Page, exported: Export, words: str) -> None:
    page.open(exported(write_session(tmp_path / "s.jsonl", reply("a", None, text(words)))))

    assert page.evaluate("document.querySelectorAll('.entry').length") == 1
    assert page.problems() == []
