"""Models that err in typical ways, and react to what they are told about it. They need no key and no network.

A model is a generator: it yields replies and gets what it sees next, the results of its calls and what else reached it.
None of them knows which measures are on. How they react is assumed, not measured: they show what a measure can change,
not how often a real model errs.
"""

import re
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeAlias

from benchmarks.lab.playbooks import TASKS, Playbook
from tests.support.model_script import Answer, Tokens, call, say

_PATCH_TOOL = "apply_patch"
# More than a run has turns.
_FOR_EVER = range(1_000)


class Seen(NamedTuple):
    """What a model sees when it replies.

    Attributes:
        new: the texts since its last reply.
        all: all texts of the conversation, as they are now.
        tools: that it is offered.
        effort: how hard it is to think, as the request has it; empty if it says nothing.
    """

    new: str
    all: str
    tools: frozenset[str]
    effort: str


Replies: TypeAlias = Generator[Answer, Seen, None]
Model: TypeAlias = Callable[[Playbook], Replies]


def stop_untested(book: Playbook) -> Replies:
    """Makes a plausible edit, and says that all is well without having run anything."""
    yield call("read", path=book.file)
    yield _edit(book, book.wrong)
    yield say(f"I fixed {book.file}; everything works now.")
    yield from _test_and_correct(book)


def insist(book: Playbook) -> Replies:
    """The same, and when it is reminded, it argues; only a failing test convinces it."""
    yield call("read", path=book.file)
    yield _edit(book, book.wrong)
    seen = yield say(f"I fixed {book.file}.")
    while not _fails(seen.new):
        seen = yield say("I have checked the change by reading it. There is no need to run anything.")
    yield from _correct(book)


def edit_wrong_file(book: Playbook) -> Replies:
    """Writes the right content into another file than the one that is used."""
    yield call("read", path=book.file)
    yield call("write", path=f"src/{book.file}", content=book.right)
    yield say(f"I fixed {book.file}.")
    yield from _test_and_correct(book)


def repeat_call(book: Playbook) -> Replies:
    """Makes the same call again and again, until it gets another answer."""
    yield call("read", path=book.file)
    look = call("bash", command=f"grep -n xyzzy {book.file} || echo nothing")
    first = yield look
    for _ in _FOR_EVER:
        seen = yield look
        if _words(seen.new) - _words(first.new):
            break
    yield from _correct(book)


def alternate(book: Playbook) -> Replies:
    """Makes an edit, sees the tests fail, takes it back, and begins again, until it is told something else."""
    first = yield call("read", path=book.file)
    known = _words(first.new)
    for turn in _FOR_EVER:
        there, back = (book.old, book.wrong) if turn % 2 == 0 else (book.wrong, book.old)
        seen = yield call("edit", path=book.file, edits=[{"oldText": there, "newText": back}])
        tested = yield call("bash", command=book.test)
        told = (_words(seen.new) | _words(tested.new)) - known
        if turn >= 2 and told:
            break
        known |= told
    yield from _correct(book)


def break_syntax(book: Playbook) -> Replies:
    """Makes an edit with which the file does not load, and stops; a diagnostic makes it look again."""
    yield call("read", path=book.file)
    seen = yield _edit(book, book.broken)
    if _is_diagnostic(seen.new):
        yield from _correct(book)
    else:
        yield say(f"I fixed {book.file}.")


def break_syntax_and_test(book: Playbook) -> Replies:
    """The same, but it reads on and runs the tests in the end: it finds its mistake late."""
    yield call("read", path=book.file)
    seen = yield _edit(book, book.broken)
    if not _is_diagnostic(seen.new):
        for command in ("ls -la", "git log --oneline -5", "grep -rn TODO . | head -20", "wc -l *"):
            yield call("bash", command=command)
        yield call("bash", command=book.test)
        yield call("read", path=book.file)
    yield from _correct(book)


def search_for_tests(book: Playbook) -> Replies:
    """Tries the test commands that it knows from elsewhere, unless it was told the project's."""
    seen = yield call("read", path=book.file)
    seen = yield call("write", path=book.file, content=book.right)
    for guess in ("npm test", "pytest -q", "make check", "cargo test", "ls -la", "cat README.md package.json Makefile"):
        if re.search(r"(?i)^tests?:", seen.all, re.MULTILINE):
            break
        seen = yield call("bash", command=guess)
    yield call("bash", command=book.test)
    yield say("Done: the tests pass.")


def quote_inexactly(book: Playbook) -> Replies:
    """Writes patches well, but quotes the text of an exact edit with other blanks, and has to read it again."""
    seen = yield call("read", path=book.file)
    if _PATCH_TOOL in seen.tools:
        yield call(_PATCH_TOOL, patch=_rewriting_patch(book))
    else:
        inexact = re.sub(r"\b(\w+)\(", r"\1 (", book.old)
        for _ in range(2):
            yield call("edit", path=book.file, edits=[{"oldText": inexact, "newText": book.wrong}])
            yield call("read", path=book.file)
        yield call("write", path=book.file, content=book.right)
    yield call("bash", command=book.test)
    yield say("Done: the tests pass.")


def read_much(book: Playbook) -> Replies:
    """Reads large files for 60 turns before it does what was asked."""
    yield call("read", path=book.file)
    for turn in range(60):
        yield call("bash", command=f"yes 'entry {turn} of the journal: nothing of interest happened' | head -n 120")
    yield from _correct(book)


def test_noisily(book: Playbook) -> Replies:
    """Runs tests that print much, and has to look for the failure unless it sees it."""
    yield call("read", path=book.file)
    noise = 'i=0; while [ $i -lt 4000 ]; do echo "test_case_$i (suite.Cases.test_case_$i) ... ok"; i=$((i+1)); done'
    report = (
        "printf '======\\nFAIL: test_median (suite.Cases.test_median)\\n------\\nTraceback (most recent call last):\\n"
        '  File "suite.py", line 7, in test_median\\n    self.assertEqual(median([1, 2]), 1.5)\\n'
        "AssertionError: 2 != 1.5\\n\\n'"
    )
    # pytest and unittest report failures before other things, as warnings.
    tail = 'i=0; while [ $i -lt 3000 ]; do echo "warning: deprecated call in module_$i.py"; i=$((i+1)); done'
    end = "printf '\\nRan 4001 tests in 1.0s\\n\\nFAILED (failures=1)\\n'; exit 1"
    yield call("write", path="unittest_all.sh", content=f"{noise}\n{report}\n{tail}\n{end}\n")
    seen = yield call("bash", command="sh unittest_all.sh # python3 -m unittest")
    for command in ("head -n 200", "sed -n '200,400p'", "grep -c ok", "grep -n -i -A8 '^fail'"):
        if "AssertionError: 2 != 1.5" in seen.new:
            break
        seen = yield call("bash", command=f"sh unittest_all.sh | {command}")
    yield call("bash", command="rm unittest_all.sh")
    yield from _correct(book)


def think_as_told(book: Playbook) -> Replies:
    """Thinks as much as the request asks for, in all of its 20 turns."""
    seen = yield _thinking(call("read", path=book.file), "high")
    for turn in range(16):
        seen = yield _thinking(call("bash", command=f"sed -n '{turn + 1}p' {book.file}"), seen.effort)
    seen = yield _thinking(call("write", path=book.file, content=book.right), seen.effort)
    seen = yield _thinking(call("bash", command=book.test), seen.effort)
    yield _thinking(say("Done: the tests pass."), seen.effort)


MODELS: dict[str, Model] = {
    "stop-untested": stop_untested,
    "insist": insist,
    "wrong-file": edit_wrong_file,
    "repeat-call": repeat_call,
    "alternate": alternate,
    "break-syntax": break_syntax,
    "break-syntax-and-test": break_syntax_and_test,
    "search-for-tests": search_for_tests,
    "quote-inexactly": quote_inexactly,
    "read-much": read_much,
    "test-noisily": test_noisily,
    "think-as-told": think_as_told,
}

_THOUGHT = {"": 50, "none": 50, "minimal": 100, "low": 250, "medium": 800, "high": 2_000, "xhigh": 4_000}


def _test_and_correct(book: Playbook) -> Replies:
    """Run the tests, and correct what they find."""
    seen = yield call("bash", command=book.test)
    if _fails(seen.new):
        yield from _correct(book)
    else:
        yield say("Done: the tests pass.")


def _correct(book: Playbook) -> Replies:
    """Do it right, and make sure. Whatever comes then, nothing more is to be done."""
    yield call("write", path=book.file, content=book.right)
    yield call("bash", command=book.test)
    for _ in _FOR_EVER:
        yield say("Done: the tests pass.")


def _edit(book: Playbook, new: str) -> Answer:
    return call("edit", path=book.file, edits=[{"oldText": book.old, "newText": new}])


def _rewriting_patch(book: Playbook) -> str:
    """A patch that makes the file what it should be, in the format of `apply_patch`."""
    before = (TASKS / book.task / "environment" / book.file).read_text("utf-8").splitlines()
    removed = "".join(f"-{line}\n" for line in before)
    added = "".join(f"+{line}\n" for line in book.right.splitlines())
    return f"*** Begin Patch\n*** Update File: {book.file}\n@@\n{removed}{added}*** End Patch\n"


def _thinking(answer: Answer, effort: str) -> Answer:
    return Answer(answer.text, ("…",), answer.calls, Tokens(output=_THOUGHT[effort] + 20))


def _fails(text: str) -> bool:
    """Whether tests fail, by what their runners print."""
    return re.search(r"FAIL|Error|failed|exited with code [1-9]", text) is not None


def _is_diagnostic(text: str) -> bool:
    """Whether the result of an edit says that something is wrong now."""
    return re.search(r"(?i)syntax|expected|unexpected|missing|invalid|error", text) is not None


def _words(text: str) -> set[str]:
    """What a text says, without numbers, which differ between two runs of the same."""
    return set(re.findall(r"[A-Za-z]{3,}", text))
