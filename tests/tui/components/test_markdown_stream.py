import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaa.tui.components.markdown import Markdown, MarkdownStream
from tests.support.painted import assert_well_formed, make_context, visible

SAMPLE = """# Heading *one*

A paragraph with **bold**, `code` and [a link](https://example.org/a).
Second line of it.\
Hard break. A [late][ref] link and [ref].

- one
- two
  more of two
  - nested

    ```python
    def f(x):
        return x
    ```
- three

  loose
* other list

7. seven
7. eight
   > quoted `in` item

Setext
======

| a | b | right |
|:--|:-:|------:|
| 1 | 2 | 3 |
| longer than that | **x** | 4 |
text is a row
| 漢字 | 👩‍💻 | é |

```js
/* several
   lines */ let x = 1;
```

> quote
> - with list
lazy

~~~
```
~~~

    indented


    code
***
<div>
some *html*
</div>

[ref]: https://ref.example/x
[other]: </y> 'title
of two lines'

Last paragraph ![img](pic.png) &amp; &#27;[31m \x1b[0m \u202e end
"""

# Pieces of Markdown, put together at random.
_BLOCKS = "# |## x|- |* |1. |2) |> |```|~~~|```py|---|===|    |<div>|[a]: /u|'t'"
_INLINE = r"*%**%_%`%~~%[a]%(b)%![%<b>%&amp;%\%  %word%a b c%http://x.y/z%漢字%👩‍💻%|%-"
_fragments = st.sampled_from(
    [
        *_BLOCKS.split("|"),
        *_INLINE.split("%"),
        *("\n", "\n", "\n\n", "\n\n", "\r\n", "\t", "\x1b[1m", "\u200d", "x" * 30, "| a | b |\n", "|---|---|\n"),
    ]
)
markdown = st.lists(_fragments, max_size=40).map("".join)
widths = st.sampled_from([1, 3, 7, 12, 30, 80])


def streamed(stream: MarkdownStream, text: str, cuts: list[int], width: int) -> list[str]:
    """Append the text cut into pieces of these lengths, again and again, and render after each."""
    position = index = 0
    while position < len(text):
        length = cuts[index % len(cuts)]
        stream.append(text[position : position + length])
        position += length
        index += 1
        assert_well_formed(stream.render(width), width)
    stream.finish()
    return stream.render(width)


@pytest.mark.parametrize("width", [1, 5, 12, 24, 60, 120])
def test_stream_shows_what_is_shown_at_once(width: int) -> None:
    context = make_context()
    rng = random.Random(width)

    for _ in range(2):
        cuts = [rng.randint(1, 15) for _ in range(50)]
        lines = streamed(MarkdownStream(context), SAMPLE, cuts, width)

        assert lines == Markdown(context, SAMPLE).render(width)


def test_stream_of_single_characters_shows_what_is_shown_at_once() -> None:
    context = make_context()

    assert streamed(MarkdownStream(context), SAMPLE, [1], 50) == Markdown(context, SAMPLE).render(50)


@given(markdown, st.lists(st.integers(1, 9), min_size=1, max_size=6), widths)
@example("| a | b |\n|---|---|\n1. \n", [3], 20)  # "1" is a row, "1. " is not
def test_any_stream_shows_what_is_shown_at_once(text: str, cuts: list[int], width: int) -> None:
    context = make_context()

    assert streamed(MarkdownStream(context), text, cuts, width) == Markdown(context, text).render(width)


@given(markdown, st.integers(1, 9), st.data())
def test_frozen_lines_never_change(text: str, cut: int, data: st.DataObject) -> None:
    stream = MarkdownStream(make_context())
    frozen: list[str] = []
    for position in range(0, len(text), cut):
        stream.append(text[position : position + cut])
        lines = stream.render(20)
        assert lines[: len(frozen)] == frozen
        frozen = lines[: data.draw(st.integers(len(frozen), len(lines)))]
        if frozen:
            stream.freeze(len(frozen))
    stream.finish()

    assert stream.render(20)[: len(frozen)] == frozen


@given(markdown, st.integers(1, 9))
def test_settled_lines_never_change(text: str, cut: int) -> None:
    stream = MarkdownStream(make_context())
    settled: list[str] = []
    for position in range(0, len(text), cut):
        stream.append(text[position : position + cut])
        lines = stream.render(20)
        assert lines[: len(settled)] == settled
        settled = lines[: stream.settled]
    stream.finish()
    lines = stream.render(20)

    assert lines[: len(settled)] == settled
    assert stream.settled == len(lines)


@given(markdown, widths, widths)
def test_another_width_shows_what_is_shown_at_once(text: str, one: int, other: int) -> None:
    context = make_context()
    stream = MarkdownStream(context)
    half = len(text) // 2
    stream.append(text[:half])
    lines = stream.render(one)
    stream.freeze(len(lines) // 2)
    stream.append(text[half:])
    stream.render(one)
    stream.freeze(0)
    stream.finish()

    assert stream.render(other) == Markdown(context, text).render(other)


PROSE = "Some words with `code`, **bold text**, *more* and [links](https://x.org) [a_label] between them, "
LONG = {
    "paragraph": PROSE * 60,
    "paragraph of lines": (PROSE.strip() + "\n") * 60,
    "paragraph without spaces": "x" * 9000 + "漢" * 3000,
    "paragraph that never closes": "**a `b [c " * 900,
    "heading under its text": PROSE * 60 + "\n===\n\nafter",
    "list": "".join(f"{number}. {PROSE}\n" for number in range(1, 80)),
    "loose list": "".join(f"- {PROSE}\n\n" for number in range(80)),
    "item": "- first\n" + f"  - {PROSE}\n" * 180 + "\nafter\n",
    "item of one line": "- " + PROSE * 180 + "\n\nafter\n",
    "quote": f"> {PROSE}\n" * 180 + "\n\nafter *it*\n",
    "fence": "```python\n" + "def f(x):  # comment\n    return 'text'\n\n" * 300 + "```\n\nafter",
    "fence of one line": "```\n" + "x y " * 5000,
    "table": "| a | b |\n|---|--:|\n"
    + "".join(f"| {'x' * (row % 37)} | {PROSE} |\n" for row in range(150))
    + "\nafter",
    "html": "<div>\n" + PROSE * 300,
    "definitions": "".join(f"[a{number}]: /b\n" for number in range(300)) + "\n[a1] [a299]",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_long_streams_show_what_is_shown_at_once_and_read_only_what_may_still_change_again(text: str) -> None:
    context = make_context()
    stream = MarkdownStream(context)
    rng = random.Random(len(text))
    longest_step = position = 0
    while position < len(text):
        length = rng.randint(1, 1000)
        stream.append(text[position : position + length])
        position += length
        before = stream.characters_read
        assert_well_formed(stream.render(70), 70)
        longest_step = max(longest_step, stream.characters_read - before)
    stream.finish()

    assert stream.render(70) == Markdown(context, text).render(70)
    # Whatever came before, a step reads no more than the longest unit that is read as a whole, and what is new.
    assert longest_step < 26_000


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_what_comes_at_once_is_read_a_few_times_too(text: str) -> None:
    stream = MarkdownStream(make_context())
    stream.append(text * 5)

    stream.render(70)

    assert stream.characters_read < 5 * len(text * 5)


def test_a_stream_of_blocks_reads_each_a_few_times() -> None:
    stream = MarkdownStream(make_context())
    text = SAMPLE * 20

    for position in range(0, len(text), 32):
        stream.append(text[position : position + 32])
        stream.render(70)

    assert stream.characters_read < 10 * len(text)


def test_same_lines_object_until_something_comes() -> None:
    stream = MarkdownStream(make_context())
    stream.append("one")

    first = stream.render(20)
    assert stream.render(20) is first
    stream.append("")
    assert stream.render(20) is first
    stream.append(" two")
    assert visible(stream.render(20)) == ["one two"]


def test_columns_keep_their_widths_once_rows_have_left() -> None:
    stream = MarkdownStream(make_context())
    stream.append("| a | b |\n|---|---|\n| 1 | 2 |\n")
    stream.render(40)
    stream.freeze(3)
    stream.append("| longer | 2 |\n")

    assert visible(stream.render(40)) == ["a │ b", "──┼──", "1 │ 2", "l │ 2", "o │", "n │", "g │", "e │", "r │"]


def test_definitions_change_only_what_is_still_on_the_screen() -> None:
    stream = MarkdownStream(make_context())
    stream.append("[a]\n\n[a]\n\nmore\n")
    stream.render(40)
    stream.freeze(2)
    stream.append("\n[a]: /x\n\nend")
    stream.finish()

    assert visible(stream.render(40)) == ["[a]", "", "a (/x)", "", "more", "", "end"]


def test_what_waits_for_a_definition_is_not_settled() -> None:
    stream = MarkdownStream(make_context())
    stream.append("one\n\n[a] two\n\nthree\n\nfour")
    stream.render(40)
    assert stream.settled == 1

    stream.append("\n\n[a]: /x\n\nfive\n")
    assert visible(stream.render(40))[:6] == ["one", "", "a (/x) two", "", "three", ""]
    assert stream.settled == 7


def test_lines_of_code_settle_one_by_one() -> None:
    stream = MarkdownStream(make_context())
    stream.append("```py\none\ntwo")
    assert visible(stream.render(40)) == ["```py", "one", "two"]
    assert stream.settled == 2

    stream.append("\n``")
    assert visible(stream.render(40)) == ["```py", "one", "two"]
    assert stream.settled == 3

    stream.append("`\n")
    assert visible(stream.render(40)) == ["```py", "one", "two", "```"]
    assert stream.settled == 4


def test_items_settle_one_by_one() -> None:
    stream = MarkdownStream(make_context())
    stream.append("1. one\n1. two\n1. three\n")
    assert visible(stream.render(40)) == ["1. one", "2. two", "3. three"]
    assert stream.settled == 2

    stream.append("\n   more\n1. four")
    assert visible(stream.render(40)) == ["1. one", "2. two", "3. three", "", "   more", "4. four"]


def test_source_is_what_came() -> None:
    stream = MarkdownStream(make_context())
    stream.append("a\x1b")
    stream.append("\r\nb")

    assert stream.source == "a\x1b\r\nb"
