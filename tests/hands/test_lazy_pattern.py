import re

import pytest

from kaa.hands.lazy_pattern import LazyPattern


@pytest.mark.parametrize("text", ["", "ab", "ab ab", "xabx", "a\nb"])
def test_it_finds_what_a_compiled_expression_finds(text: str) -> None:
    lazy, compiled = LazyPattern("a.?b", re.DOTALL), re.compile("a.?b", re.DOTALL)

    assert str(lazy.fullmatch(text)) == str(compiled.fullmatch(text))
    assert str(lazy.search(text)) == str(compiled.search(text))
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.split(text) == compiled.split(text)
