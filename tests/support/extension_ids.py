"""Extensions that tests name."""

from pathlib import Path

from msgspec.structs import replace

from kaa.ext.places import ExtensionId


def named(name: str | Path) -> ExtensionId:
    """The extension of a name or a path, as if it were in kaa's home; its messages have just this name or path."""
    return replace(ExtensionId.at(Path(name), Path(name).parent), path=str(name))
