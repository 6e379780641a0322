"""Takes the screenshots of the page that `/export` writes: the real page of a made-up session, in a headless Chromium.

    python scripts/viewer_screenshots.py

The pictures depend on the fonts of the machine, so they change where others are installed.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_REPOSITORY = Path(__file__).resolve().parents[1]
# Run as a script, Python would look for `tests` beside this file.
sys.path[0] = str(_REPOSITORY)

from kaa.session.export.page import write_page  # noqa: E402 - only found after the line above
from kaa.session.export.selection import ExportSelection  # noqa: E402
from kaa.session.export.source import SnapshotFile  # noqa: E402
from tests.support.browser import Browser, Page, find_browser  # noqa: E402
from tests.support.rich_session import call, reply, result, text, thought, user  # noqa: E402
from tests.support.sessions import HEADER, JsonObject, entry, write_session  # noqa: E402

_FOLDER = _REPOSITORY / "docs" / "screenshots"
_WIDTH, _HEIGHT = 1200, 800

_FAILURE = """\
F                                                                    [100%]
================================= FAILURES =================================
_____________________ test_one_metre_takes_two_seconds _____________________

    def test_one_metre_takes_two_seconds():
>       assert period(1.0) == pytest.approx(2.006, abs=0.001)
E       assert 19.679 == 2.006 ± 0.001

test_pendulum.py:7: AssertionError
1 failed in 0.04s"""

_DIFF = """\
  7  def period(length: float) -> float:
  8      \"\"\"Seconds for one swing of small amplitude.\"\"\"
- 9      return 2 * math.pi * math.sqrt(GRAVITY / length)
+ 9      return 2 * math.pi * math.sqrt(length / GRAVITY)"""

_ANSWER = """\
The fraction was upside down. For small swings the period is **2π·√(length / gravity)**: it grows with the length of \
the pendulum and falls with gravity.

| length | before | now |
|-------:|-------:|----:|
| 0.25 m | 39.4 s | 1.0 s |
| 1 m | 19.7 s | 2.0 s |

The test passes:

```python
>>> period(1.0)
2.0060666807106475
```"""

_AMPLITUDE = """\
For an amplitude of 30° the small-angle formula is **1.7 %** too short. Two ways to say so:

1. a note in the docstring, as the function's name promises nothing else;
2. a parameter `amplitude`, and the series of the elliptic integral.

I would take the note: nobody asked for large swings yet."""

_SUMMARY = "`period_exact` with the elliptic integral was tried. It needs SciPy, which the project does not have."


def _session() -> tuple[JsonObject, ...]:
    return (
        entry("model_change", "m1", None, provider="example", modelId="large-model"),
        user("u1", "m1", "The test of the pendulum fails. Find out why and fix it."),
        reply(
            "a1",
            "u1",
            thought("The formula for the period is 2π·√(l/g). I should look at the code before I believe the test."),
            text("First I run the test and look at the code."),
            call("c1", "bash", command="python -m pytest -q test_pendulum.py"),
            call("c2", "read", path="pendulum.py"),
            model="large-model",
            provider="example",
            stopReason="toolUse",
        ),
        result("r1", "a1", "c1", "bash", _FAILURE, isError=True),
        result("r2", "r1", "c2", "read", "import math\n\nGRAVITY = 9.81\n"),
        reply(
            "a2",
            "r2",
            text("Length and gravity are swapped under the root."),
            call("c3", "edit", path="pendulum.py"),
            model="large-model",
            provider="example",
            stopReason="toolUse",
        ),
        result("r3", "a2", "c3", "edit", "Edited pendulum.py", details={"diff": _DIFF}),
        reply("a3", "r3", text(_ANSWER), model="large-model", provider="example"),
        entry("label", "l1", "a3", targetId="a3", label="fixed"),
        user("u2", "l1", "Make it exact for large amplitudes, too."),
        reply(
            "a4",
            "u2",
            text("That is an elliptic integral; I try it with SciPy."),
            call("c4", "bash", command="python -c 'import scipy'"),
            model="large-model",
            provider="example",
            stopReason="toolUse",
        ),
        result("r4", "a4", "c4", "bash", "ModuleNotFoundError: No module named 'scipy'", isError=True),
        reply(
            "a5", "r4", text("SciPy is not here. Shall I write the series?"), model="large-model", provider="example"
        ),
        entry("branch_summary", "s1", "l1", fromId="a5", summary=_SUMMARY),
        user("u3", "s1", "How wrong is the formula for large amplitudes?"),
        reply("a6", "u3", text(_AMPLITUDE), model="large-model", provider="example"),
        user("u4", "a6", "Then the note, please."),
        reply("a7", "u4", text("Done: the docstring says it."), model="large-model", provider="example"),
        entry("session_info", "i1", "a7", name="The period of a pendulum"),
    )


class Scene(NamedTuple):
    """A screenshot.

    Attributes:
        name: of its file.
        scheme: `light` or `dark`, as the system is.
        drive: brings the page to what is shown.
    """

    name: str
    scheme: str
    drive: Callable[[Page], None]


def _edit(page: Page) -> None:
    page.evaluate("goTo(rows.findIndex((row) => row[0] === 'a2'))")


def _search(page: Page) -> None:
    page.press("/")
    page.send("Input.insertText", {"text": "amplitude"})
    page.wait_for("document.body.dataset.searched === 'amplitude'")
    page.press("Enter", "Enter")
    page.evaluate("queryField.blur()")


_SCENES = (Scene("viewer", "light", _edit), Scene("viewer-dark", "dark", _search))

# What is drawn is drawn in the next frame but one.
_DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))"


def main() -> int:
    """Take them all."""
    program = find_browser()
    if program is None:
        sys.stderr.write("there is no Chromium here: see CONTRIBUTING.md\n")
        return 1
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        exported = _export(Path(folder))
        for scene in _SCENES:
            with browser.page(_WIDTH, _HEIGHT) as page:
                page.prefer(scene.scheme)
                page.open(exported)
                scene.drive(page)
                page.evaluate(_DRAWN)
                (_FOLDER / f"{scene.name}.png").write_bytes(page.screenshot())
    return 0


def _export(folder: Path) -> Path:
    session = write_session(folder / "session.jsonl", *_session(), header={**HEADER, "cwd": "/home/you/pendulum"})
    page = folder / "session.html"
    with SnapshotFile.open(session) as source, page.open("wb") as out:
        write_page(source, ExportSelection(all_branches=True), out)
    return page


if __name__ == "__main__":
    sys.exit(main())
