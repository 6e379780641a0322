import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.components.markdown import Markdown
from kaa.tui.components.markdown_stream import MarkdownStream
from tests.support.painted import assert_well_formed, make_context

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


def streamed(stream: MarkdownStream, text: str, cuts: list[int], width: int, *, every: int = 1) -> list[str]:
    """Appends the text cut into pieces of these lengths, again and again, and renders after each so many of them."""
    position = index = 0
    while position < len(text):
        length = cuts[index % len(cuts)]
        stream.append(text[position : position + length])
        position += length
        index += 1
        if index % every == 0:
            assert_well_formed(stream.render(width), width)
    stream.finish()
    return stream.render(width)


@pytest.mark.parametrize("width", [1, 5, 12, 24, 60, 120])
def test_stream_shows_what_is_shown_at_once(width: int) -> None:
    context = make_context()
    rng = random.Random(width)

    for _ in range(5):
        cuts = [rng.randint(1, 15) for _ in range(50)]
        lines = streamed(MarkdownStream(context), SAMPLE, cuts, width)

        assert lines == Markdown(context, SAMPLE).render(width)


def test_stream_of_single_characters_shows_what_is_shown_at_once() -> None:
    context = make_context()

    assert streamed(MarkdownStream(context), SAMPLE, [1], 50) == Markdown(context, SAMPLE).render(50)


@given(markdown, st.lists(st.integers(1, 9), min_size=1, max_size=6), widths)
@settings(max_examples=300, deadline=None)
def test_any_stream_shows_what_is_shown_at_once(text: str, cuts: list[int], width: int) -> None:
    context = make_context()

    assert streamed(MarkdownStream(context), text, cuts, width) == Markdown(context, text).render(width)


@given(markdown, st.integers(1, 9), st.data())
@settings(max_examples=300, deadline=None)
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
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=100, deadline=None)
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
