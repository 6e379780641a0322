"""Which errors are new, and the lines about them."""

from kaa.builtin.diagnostics.problems import Problem, lines_of, new_problems


def _at(line: int, message: str = "undefined name x", source: str = "ruff") -> Problem:
    return Problem("a.py", line, 1, message, source)


def test_an_error_that_moved_is_not_new() -> None:
    assert new_problems([_at(1)], [_at(5)], "x\n", "a\nb\nc\nd\nx\n") == []


def test_of_equal_errors_that_in_the_new_line_is_new() -> None:
    before, after = "f(x)\n", "g(x)\n\nf(x)\n"

    assert new_problems([_at(1)], [_at(1), _at(3)], before, after) == [_at(1)]


def test_an_error_in_a_line_that_was_rewritten_is_not_new() -> None:
    assert new_problems([_at(1)], [_at(1)], "f(x)\n", "f( x )\n") == []


def test_lines_that_a_message_names_may_move() -> None:
    before, after = _at(3, "redefinition of f from line 1"), _at(5, "redefinition of f from line 3")

    assert new_problems([before], [after]) == []


def test_another_source_or_message_is_new() -> None:
    after = [_at(1, "other"), _at(1, source="pyright")]

    assert new_problems([_at(1)], after) == after


def test_ten_lines_at_most_say_how_many_there_are() -> None:
    lines = lines_of([_at(line) for line in range(30, 0, -1)])

    assert len(lines) == 10
    assert lines[0] == "[new error] a.py:1:1: undefined name x (ruff)"
    assert lines[-1] == "[new error] 21 more"


def test_a_message_is_one_line_without_controls() -> None:
    [line] = lines_of([_at(1, "bad\x1b[31m\nthing " + "x" * 1000)])

    assert line.startswith("[new error] a.py:1:1: bad thing")
    assert len(line) < 400
