"""What property tests draw: text as it comes from people, with what is hard about it."""

from hypothesis import strategies as st

# Graphemes of more than one code point, wide and narrow ones, blanks, and halves of surrogate pairs, which stand for
# pastes in an editor.
_PIECES = (
    *"abc XYZ_.,()-/\n\t\"'",
    *("é", "e\u0301", "日本", "한", "👩\u200d💻", "🇩🇪", "👍🏽", "❤\ufe0f", "क्षि", "\u200d", "\u0301", "…", "ß"),
    *("word ", "a long word of several ", "\ud800", "\ud801"),
)


def foreign_text(max_size: int = 30) -> st.SearchStrategy[str]:
    """Text of some pieces."""
    return st.lists(st.sampled_from(_PIECES), max_size=max_size).map("".join)
