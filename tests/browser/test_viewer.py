"""The page of an exported session in a real browser: what it shows."""

from collections.abc import Callable
from pathlib import Path

from tests.support.browser import Browser, Page
from tests.support.rich_session import call, chain, reply, result, text, user
from tests.support.sessions import JsonObject, entry, write_session

Export = Callable[[Path], Path]


def test_it_asks_for_nothing_but_itself(rich: Page, tmp_path: Path) -> None:
    rich.press("e", "j", "n")

    assert rich.requests() == [(tmp_path / "session.html").as_uri()]


def test_markdown_is_rendered(rich: Page) -> None:
    assert rich.evaluate("[...document.querySelectorAll('.markdown strong')].map((e) => e.textContent)") == [
        "2π·√(length / gravity)"
    ]
    assert rich.evaluate("document.querySelectorAll('.markdown table tr').length") == 2
    assert rich.evaluate("document.querySelector('.markdown .code code').textContent").startswith(">>> period(1.0)")
    assert rich.evaluate("[...document.querySelectorAll('.markdown ol li')].length") == 2
    link = rich.evaluate("(({href, rel, target}) => [href, rel, target])(document.querySelector('.markdown a'))")
    assert link == ["https://example.org/pendulum", "noopener noreferrer nofollow", "_blank"]


def test_images_are_drawn(rich: Page) -> None:
    image = "document.querySelector('.entry img')"

    assert rich.evaluate(f"{image}.decode().then(() => {image}.naturalWidth)") == 240


def test_a_diff_tells_what_was_added_and_removed(rich: Page) -> None:
    lines = rich.evaluate(
        "['added', 'removed'].map((kind) => [...document.querySelectorAll(`.diff .${kind}`)].map((e) => e.textContent))"
    )

    assert [len(kind) for kind in lines] == [1, 1]
    assert "length / GRAVITY" in lines[0][0]


def test_a_failed_command_is_marked_and_its_output_can_be_had_whole(rich: Page) -> None:
    card = "document.querySelector('.tool.failed')"
    assert "\x1b" not in rich.evaluate(f"{card}.textContent")
    assert "test_pendulum.py:40" not in rich.evaluate(f"{card}.textContent")

    rich.click(".tool.failed .more")

    assert "test_pendulum.py:40" in rich.evaluate(f"{card}.textContent")


def test_thinking_and_tools_can_be_hidden(rich: Page) -> None:
    rich.press("t", "o")

    hidden = "[...document.querySelectorAll('.thinking, .tool')].every((e) => e.offsetParent === null)"
    assert rich.evaluate(hidden) is True

    rich.press("t", "o")

    assert rich.evaluate(hidden) is False


def test_everything_can_be_expanded_and_shortened_again(rich: Page) -> None:
    rich.press("e")
    assert rich.evaluate("[...document.querySelectorAll('details')].every((e) => e.open)") is True
    assert rich.evaluate("document.querySelectorAll('.more').length") == 0

    rich.press("e")

    assert rich.evaluate("document.querySelectorAll('.more').length") == 1


def test_it_is_light_or_dark_as_the_system_is_until_somebody_chooses(rich: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    rich.prefer("light")
    light = rich.evaluate(background)
    rich.prefer("dark")
    dark = rich.evaluate(background)

    rich.press("d")

    assert light != dark
    assert rich.evaluate(background) == light


def test_on_a_narrow_screen_nothing_sticks_out(rich: Page) -> None:
    rich.resize(400, 800)

    assert rich.evaluate("document.documentElement.scrollWidth") <= 400


def test_everything_is_printed(tmp_path: Path, page: Page, exported: Export) -> None:
    page.open(exported(write_session(tmp_path / "s.jsonl", *chain(1200))))
    assert page.evaluate("document.querySelectorAll('.entry').length") < 200

    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert page.evaluate("document.querySelectorAll('.entry').length") == 1200


def test_it_is_printed_dark_on_white_whatever_the_screen_is(rich: Page) -> None:
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    rich.press("d")

    rich.send("Emulation.setEmulatedMedia", media)

    colours = "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    assert rich.evaluate(colours) == ["rgb(36, 38, 43)", "rgb(255, 255, 255)"]
    assert rich.evaluate("getComputedStyle(document.querySelector('.bar')).display") == "none"


def test_a_result_without_its_call_is_shown_on_its_own(tmp_path: Path, page: Page, exported: Export) -> None:
    orphan = result("b", "a", "lost", "bash", "output of a lost call")
    page.open(exported(write_session(tmp_path / "s.jsonl", user("a", None, "hi"), orphan)))

    assert "output of a lost call" in page.text("#entries")


def test_calls_with_the_same_id_have_each_their_own_result(tmp_path: Path, page: Page, exported: Export) -> None:
    session = write_session(
        tmp_path / "s.jsonl",
        reply("a", None, call("1", "bash", command="one")),
        result("b", "a", "1", "bash", "output one"),
        reply("c", "b", text("and"), call("1", "bash", command="two")),
        entry("model_change", "m", "c", provider="p", modelId="m"),
        result("d", "m", "1", "bash", "output two"),
    )
    page.open(exported(session))

    cards = page.evaluate("[...document.querySelectorAll('#entries .tool')].map((card) => card.innerText)")

    assert ["output one" in cards[0], "output two" in cards[1], len(cards)] == [True, True, 2]


def test_an_empty_session_says_so(tmp_path: Path, page: Page, exported: Export) -> None:
    page.open(exported(write_session(tmp_path / "s.jsonl")))

    assert page.text("#end") == "This session has no messages."
    assert page.problems() == []


def test_landmarks_and_controls_have_names(rich: Page) -> None:
    tree = rich.send("Accessibility.getFullAXTree")["nodes"]
    named = {"navigation", "main", "search", "tree", "button", "checkbox", "searchbox", "combobox"}

    roles = {node["role"]["value"] for node in tree if not node.get("ignored")}
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored") and node["role"]["value"] in named - {"search"} and not node["name"].get("value")
    ]

    assert {"navigation", "main", "search", "tree", "treeitem"} <= roles
    assert nameless == []


def page_of(tmp_path: Path, page: Page, exported: Export, *entries: JsonObject) -> Page:
    page.open(exported(write_session(tmp_path / "s.jsonl", *entries)))
    return page


def test_marks_that_turn_text_around_are_shown_and_not_obeyed(tmp_path: Path, page: Page, exported: Export) -> None:
    turned = "if admin: \u202e} \u2066# only for us\u2069 \u2066 begin"
    page_of(tmp_path, page, exported, user("a", None, turned), entry("session_info", "n", "a", name="a\u202eb"))

    shown = page.evaluate("document.documentElement.textContent + document.title")

    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(shown)
    assert "admin: ⟨U+202E⟩} ⟨U+2066⟩# only" in page.evaluate("document.querySelector('.entry').textContent")
    assert page.evaluate("document.getElementById('title').textContent") == "a⟨U+202E⟩b"


def test_code_is_coloured_by_its_language(tmp_path: Path, page: Page, exported: Export) -> None:
    code = "```python\ndef f():  # a comment\n    return 'text' + 42\n```"
    page_of(tmp_path, page, exported, user("a", None, "x"), reply("b", "a", text(code)))

    kinds = page.evaluate("[...document.querySelectorAll('.code code span')].map((e) => [e.className, e.textContent])")

    assert kinds == [
        ["code-keyword", "def"],
        ["code-comment", "# a comment"],
        ["code-keyword", "return"],
        ["code-string", "'text'"],
        ["code-number", "42"],
    ]
    assert page.evaluate("document.querySelector('.code code').textContent") == code[10:-4]


def test_a_file_that_was_read_is_coloured_by_its_name(tmp_path: Path, page: Page, exported: Export) -> None:
    asked = reply("b", "a", call("1", "read", path="src/x.rs"))
    page_of(tmp_path, page, exported, user("a", None, "x"), asked, result("c", "b", "1", "read", "fn main() {} // go"))

    assert page.evaluate("document.querySelector('.result .code-comment').textContent") == "// go"


def test_colours_of_output_are_kept_and_other_control_codes_are_not(
    tmp_path: Path, page: Page, exported: Export
) -> None:
    output = "\x1b]0;title\x07\x1b[1;31mred\x1b[0m \x1b[38;2;20;150;80mgreen\x1b[39m \x1b[30;40mhidden\x1b[m\x1b[2Jend"
    asked = reply("b", "a", call("1", "bash", command="make"))
    page_of(tmp_path, page, exported, user("a", None, "x"), asked, result("c", "b", "1", "bash", output))

    parts = page.evaluate("[...document.querySelectorAll('.result span')].map((e) => [e.className, e.textContent])")

    assert parts == [["ansi-bold ansi-fg-1", "red"], ["ansi-fg-2", "green"]]
    assert page.evaluate("document.querySelector('.result pre').textContent") == "red green hiddenend"


def test_what_is_shown_can_be_copied_whole(tmp_path: Path, page: Page, exported: Export) -> None:
    lines = "\n".join(f"\x1b[32mline {number}\x1b[0m" for number in range(100))
    asked = reply("b", "a", call("1", "bash", command="make all"))
    page_of(tmp_path, page, exported, user("a", None, "x"), asked, result("c", "b", "1", "bash", lines))
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copiedText = text; }")

    page.evaluate("document.querySelector('.tool-title .copy').click()")
    command = page.evaluate("window.copiedText")
    page.evaluate("document.querySelector('.result .copy').click()")
    output = page.evaluate("window.copiedText")

    assert command == "make all"
    assert output.splitlines() == [f"line {number}" for number in range(100)]


def test_a_telephone_shows_long_labels_and_names_without_scrolling_sideways(
    tmp_path: Path, browser: Browser, exported: Export
) -> None:
    long = "a-very-long-label-without-any-blank-" * 5
    asked = reply("b", "a", call("1", "bash", command="x" * 300), text("y" * 300), model="m" * 120)
    session = write_session(
        tmp_path / "s.jsonl",
        user("a", None, "z" * 300),
        asked,
        result("c", "b", "1", "bash", "w" * 300),
        entry("label", "l", "c", targetId="b", label=long),
        entry("label", "k", "l", targetId="a", label=long),
        entry("session_info", "n", "k", name="n" * 200),
    )

    with browser.page(390, 844) as page:
        page.open(exported(session))
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        beyond = page.evaluate(
            "[...document.querySelectorAll('.bar *, .entry, .entry-head *, .tool, .copy')]"
            ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className || e.tagName)"
        )

    assert widths[0] <= widths[1]
    assert beyond == []


def test_display_values_of_extensions_are_drawn_and_damaged_ones_are_not(
    page: Page, tmp_path: Path, exported: Export
) -> None:
    values: list[JsonObject] = [
        {"type": "table", "columns": ["build"], "rows": [["<b>unit</b>"]]},
        {"type": "fields", "fields": [["branch", "main"]]},
        {"type": "diff", "text": "+added"},
        {"type": "code", "text": "x = 1", "language": "py"},
        {"type": "text", "text": "plain"},
    ]
    odd = {"display": [*values, {"type": "constructor"}]}
    path = write_session(
        tmp_path / "s.jsonl",
        user("a", None, "go"),
        entry(
            "custom_message",
            "b",
            "a",
            customType="ci",
            content="for the model",
            display=True,
            details={"display": values},
        ),
        entry("custom_message", "c", "b", customType="ci", content="in its place", display=True, details=odd),
        entry("custom", "d", "c", customType="ci:seen", display=[{"type": "markdown", "text": "**kept**"}]),
        entry("custom", "e", "d", customType="ci:seen", display=[{"type": "markdown"}]),
    )

    page.open(exported(path))

    shown = page.evaluate("[...document.querySelectorAll('.entry.custom')].map((e) => e.innerText)")

    assert len(shown) == 3
    assert all(part in shown[0] for part in ("<b>unit</b>", "branch", "main", "+added", "x = 1", "plain"))
    assert "for the model" not in shown[0]
    assert "in its place" in shown[1]
    assert "kept" in shown[2]
