"""How long edits and their diffs take: `python benchmarks/edit_diff.py` prints the best of several runs in ms."""

import time
from collections.abc import Callable

from kaa.builtin.diff import diff_of_changes
from kaa.builtin.replacement import EditError, Replacement
from kaa.builtin.text_edit import edit_bytes

_RUNS = 7


def main() -> None:
    lines = [f"    value_{n} = compute({n}, option_{n % 7})" for n in range(3000)]
    source = ("\n".join(lines) + "\n").encode()
    scattered = [Replacement(line, line.replace("compute", "other")) for line in lines[::7][:400]]
    block = "\n".join(lines[1000:1400])
    replaced = [Replacement(block, block.replace("compute", "other"))]
    huge = "\n".join(f"def function_{n}(a, b):\n    return helper_{n % 9}(a) + {n}\n" for n in range(17_000)).encode()
    missing = [Replacement("def function_9000(a, b):\n    return helper(b) - 9000\n", "pass")]
    loose = [Replacement("def function_9000(a, b):  \n    return helper_0(a) + 9000", "pass")]

    report("400 edits in 3,000 lines", lambda: edit_with_diff(source, scattered))
    report("one edit of 400 lines in 3,000", lambda: edit_with_diff(source, replaced))
    report("the same with CRLF in the file", lambda: edit_with_diff(source.replace(b"\n", b"\r\n"), replaced))
    report("tolerant edit in 51,000 lines", lambda: edit_with_diff(huge, loose))
    report("missing text in 51,000 lines", lambda: edit_with_diff(huge, missing))


def edit_with_diff(data: bytes, replacements: list[Replacement]) -> None:
    try:
        edited = edit_bytes(data, replacements)
    except EditError:
        return
    diff_of_changes(edited.text, edited.changes)


def report(label: str, work: Callable[[], None]) -> None:
    best = float("inf")
    for _ in range(_RUNS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    print(f"{label:<34} {best * 1000:7.1f} ms")


if __name__ == "__main__":
    main()
