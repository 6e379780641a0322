"""`@path` in instructions: what counts as an import, and what is only text."""

import pytest

from kaa.components.imports import imports_in
from tests.support.tables import each


@each(
    ("text", "expected"),
    [
        ("See @README and @docs/git.md for more.", ["README", "docs/git.md"]),
        ("- @./a.md\n- @../b.md\n- @~/c.md\n- @/d.md", ["./a.md", "../b.md", "~/c.md", "/d.md"]),
        ("Read @docs/git.md, then @docs/x.md.", ["docs/git.md", "docs/x.md"]),
        ("@a.md @a.md", ["a.md"]),
        ("mail me@example.com", []),
        ("`@a.md` and ``x ` @b.md``, but @c.md", ["c.md"]),
        ("`open, and @a.md", ["a.md"]),
        ("`open\n\n@a.md` @b.md", ["a.md", "b.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~~ md\n@a.md\n~~~\n@c.md\n~~~~\n@b.md", ["b.md"]),
        ("```\n@a.md", []),
        ("<!-- @a.md\n@b.md --> @c.md <!-- @d.md", ["c.md"]),
        ("`x` @a.md", ["a.md"]),
        ("a\\@b @ c", []),
    ],
)
def test_imports(text: str, expected: list[str]) -> None:
    assert imports_in(text) == expected


@pytest.mark.parametrize("text", ["`" * 32_000, "` `` " * 8_000, "<!--" * 8_000, "@" * 32_000, "@a/" * 9_000])
def test_hostile_texts_end(text: str) -> None:
    assert len(imports_in(text)) <= 1


def test_there_is_a_limit() -> None:
    assert len(imports_in(" ".join(f"@{number}.md" for number in range(1000)))) == 100
