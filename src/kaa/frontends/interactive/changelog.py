"""What is new in kaa: the changelog that comes with it."""

from pathlib import Path

import kaa

_NAME = "CHANGELOG.md"


def changelog() -> str:
    """The changelog, as Markdown."""
    package = Path(kaa.__file__).parent
    # In an installed kaa it lies in the package, in a checkout at its root.
    for folder in (package, package.parent.parent):
        try:
            return (folder / _NAME).read_text("utf-8")
        except OSError:
            continue
    return "This installation of kaa does not include the changelog."
