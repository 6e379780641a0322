"""What work that takes long is called."""

import pytest

from kaa.core.events import WorkStart


@pytest.mark.parametrize(
    ("owner", "name", "text"),
    [
        ("", "before_end hook", "the check of the result"),
        ("", "before_tool hook", "hooks before the tool call"),
        ("", "/export", "/export"),
        ("/mine/slow.py", "before_end hook", "before_end hook of extension slow.py"),
    ],
)
def test_hooks_of_kaas_own_are_named_by_what_they_do(owner: str, name: str, text: str) -> None:
    assert WorkStart(owner, name).text == text
