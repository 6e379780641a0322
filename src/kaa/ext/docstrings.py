"""Reads docstrings of tools: a text for the model, and descriptions of parameters in Google's or NumPy's style."""

import msgspec

_PARAMETERS = ("args", "arguments", "parameters", "other parameters")
_SECTIONS = (
    *_PARAMETERS,
    *("returns", "return", "yields", "yield", "raises", "raise", "warns", "warnings", "warning", "attributes"),
    *("example", "examples", "note", "notes", "references", "see also", "todo"),
)


class Docstring(msgspec.Struct, frozen=True):
    """A docstring in parts.

    Attributes:
        text: everything before the first section, one line for each paragraph.
        parameters: descriptions by the name of the parameter.
    """

    text: str
    parameters: dict[str, str]


def parse_docstring(docstring: str) -> Docstring:
    """Divide a docstring, without its indentation (`inspect.cleandoc`), into its parts."""
    text: list[str] = []
    parameters: dict[str, str] = {}
    section: str | None = None
    body: list[str] = []
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        title = _title(line, following)
        if title is None:
            (text if section is None else body).append(line)
            continue
        _read(section, body, parameters)
        section, body = title, []
    _read(section, body, parameters)
    return Docstring(_paragraphs(text), parameters)


def _title(line: str, following: str) -> str | None:
    """The section that a line begins; None for a line of text."""
    name = line.strip().lower()
    if line[:1].isspace() or name.removesuffix(":") not in _SECTIONS:
        return None
    underlined = following != "" and set(following) == {"-"}
    return name.removesuffix(":") if name.endswith(":") or underlined else None


def _read(section: str | None, body: list[str], parameters: dict[str, str]) -> None:
    """Add what the body of a section describes: entries at its smallest indentation, their texts indented further."""
    if section not in _PARAMETERS:
        return
    lines = [line for line in body if line.strip() and set(line.strip()) != {"-"}]
    margin = min((_indentation(line) for line in lines), default=0)
    names: list[str] = []
    for line in lines:
        if _indentation(line) > margin:
            more = [line.strip()]
        else:
            names, more = _entry(line.strip())
        for name in names:
            parameters[name] = " ".join([*filter(None, [parameters.get(name, "")]), *filter(None, more)])


def _entry(line: str) -> tuple[list[str], list[str]]:
    """The names that a line describes, and the description if it is on this line.

    Google's style has `name (type): description`, NumPy's `name, name : type`.
    """
    head, separator, rest = line.partition(":")
    if separator and head.endswith(" "):  # NumPy's: behind it is the type
        rest = ""
    names = [name.partition("(")[0].strip().lstrip("*") for name in head.partition("(")[0].split(",")]
    return names, [rest.strip()]


def _paragraphs(lines: list[str]) -> str:
    paragraphs = "\n".join(line.strip() for line in lines).strip().split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
