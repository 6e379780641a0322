"""What a question about a change shows: all of it, or that it is not all."""

from kaa.core.messages import Json
from kaa.ext.api import Risk
from kaa.ext.questions import Approval
from kaa.frontends.interactive.dialogs.approval_view import ApprovalView
from tests.support.painted import make_context, visible


def _shown(tool: str, arguments: dict[str, Json], width: int = 80, diff: str = "", risk: Risk = "write") -> list[str]:
    request = Approval(
        call_id="1",
        tool=tool,
        arguments=arguments,
        risk=risk,
        title=f"{tool} a.py",
        reasons=("no rule allows it",),
        diff=diff,
    )
    lines = visible(ApprovalView(make_context(), request).lines(width))
    return lines[lines.index("") + 1 :]  # what stands above is about the question


def test_all_of_a_long_file_is_shown() -> None:
    content = "".join(f"line {number}\n" for number in range(5_000))

    shown = _shown("write", {"path": "a.py", "content": content})

    assert shown[0] == "a.py (5000 lines)"
    assert [line.replace(" ", "") for line in shown[1:5_001]] == [f"+{n + 1}line{n}" for n in range(5_000)]


def test_that_there_is_more_than_is_shown_is_said_before_it() -> None:
    for content in ("x\n" * 20_000, "x" * 600_000, "x\n" + "y" * 600_000):
        shown = _shown("write", {"path": "a.py", "content": content}, 200)

        assert "Only the beginning" in shown[1], content[:3]


def test_a_change_has_no_numbers_that_are_not_those_of_the_file() -> None:
    edits: list[Json] = [
        {"oldText": "one\ntwo\nthree", "newText": "one\n2\nthree"},
        {"oldText": "a", "newText": "b"},
    ]

    shown = _shown("edit", {"path": "a.py", "edits": edits})

    assert shown[:8] == ["a.py", " one", "-two", "+2", " three", " …", "-a", "+b"]


def test_a_change_of_a_known_file_has_its_numbers_and_the_lines_around_it() -> None:
    edits: list[Json] = [{"oldText": "two", "newText": "2"}]

    shown = _shown("edit", {"path": "a.py", "edits": edits}, diff=" 11 one\n-12 two\n+12 2\n 13 three")

    assert shown == ["a.py", " 11 one", "-12 two", "+12 2", " 13 three"]


def test_a_checkout_shows_what_it_makes_of_protected_files() -> None:
    diff = "diff --git a/.envrc b/.envrc\n--- a/.envrc\n+++ b/.envrc\n@@ -1 +1 @@\n-export A=1\n+export A=2"

    shown = _shown("bash", {"command": "git switch other"}, diff=diff, risk="command")

    assert shown[0] == "$ git switch other"
    assert ["export A=" in line for line in shown].count(True) == 2
    assert any(".envrc" in line for line in shown)


def test_a_line_feed_that_goes_is_seen() -> None:
    shown = _shown("edit", {"path": "a.py", "edits": [{"oldText": "x\n", "newText": "x"}]})

    assert any(line.startswith("-") for line in shown)


def test_long_texts_are_shown_without_being_compared() -> None:
    old = "\n".join(f"old {number}" for number in range(3_000))

    shown = _shown("edit", {"path": "a.py", "edits": [{"oldText": old, "newText": "new"}]})

    assert sum(line.startswith("-") for line in shown) == 3_000
    assert "+new" in shown


def test_half_of_a_surrogate_pair_is_shown_as_a_replacement() -> None:
    assert any("\ufffd" in line for line in _shown("unknown", {"values": ["half \udc80"]}))
    assert any(
        "\ufffd" in line for line in _shown("edit", {"path": "a.py", "edits": [{"oldText": 1, "half \udc80": 2}]})
    )
