"""Writes the beginning of a component for its author: a tool, the WIT and how to build it."""

from pathlib import Path
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["python", "rust"]

_HERE = Path(__file__).parent
_SUFFIX = ".template"


def write_scaffold(folder: Path, name: str, language: Language) -> list[Path]:
    """Write the files of a new component.

    Args:
        folder: is created; must not exist, so that nothing is overwritten.
        name: of the extension: letters, digits, _ and -.
        language: that it is written in.

    Returns:
        What was written.

    Raises:
        OSError: the folder exists or cannot be written.
    """
    template = _HERE / "templates" / language
    folder.mkdir(parents=True)
    written: list[Path] = []
    sources = {file.relative_to(template): file for file in sorted(template.rglob(f"*{_SUFFIX}"))}
    for relative, source in sources.items():
        written.append(_write(folder / relative.with_suffix(""), source.read_text("utf-8").replace("NAME", name)))
    wit = _HERE / "wit" / "kaa-extension.wit"
    written.append(_write(folder / "wit" / wit.name, wit.read_text("utf-8")))
    return written


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file
