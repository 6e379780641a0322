"""Markdown files that begin with fields in YAML between two lines of `---`."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

_MAX_CHARACTERS = 64 * 1024  # of the fields
_FENCE = re.compile(r"---[ \t]*")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
# A field of one line whose value YAML may misread: `description: Use when: …` is an error there.
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):[ \t]+(\S.*)")
# What is no plain text: what is quoted, a list, a mapping, and what stands in the lines below.
_NOT_PLAIN = re.compile(r"""["'|>\[].*|\{.*\}""")
# YAML takes `#1 tool` for a comment, and `{file} checks` for an error or, alone, for a mapping.
_DESCRIPTION = re.compile(r"^description:[ \t]+([#{].*?)[ \t]*$", re.MULTILINE)
# Not a list of YAML: `argument-hint: [file] [format]`.
_HINTS = re.compile(r"\[[^][]*\].*\S")


class FrontmatterFields(msgspec.Struct, frozen=True, array_like=True):
    """What stands between the lines of `---`.

    Attributes:
        values: texts, lists and mappings of texts, by name.
        problem: what is wrong with them, as the rest of a sentence; empty if nothing is.
    """

    values: dict[str, Any] = {}
    problem: str = ""


class MarkdownFile(msgspec.Struct, frozen=True):
    """A file. `body`: what follows the fields, without blank lines around it."""

    fields: dict[str, Any]
    body: str
    problem: str = ""


ReadFields: TypeAlias = Callable[[str], FrontmatterFields]


def fields_in(head: str) -> FrontmatterFields:
    """The fields in a text of YAML.

    Where it is not YAML, each line of the form `name: value` is a field nevertheless: many files of other agents have
    a colon or a quotation mark in a description.
    """
    from kaa.host.plain_yaml import yaml_fields  # lazy: slow to import, and what was read before is kept

    try:
        values = yaml_fields(head)
        if not text_of(values.get("description")) and (found := _DESCRIPTION.search(head)):
            values["description"] = found[1]
        return FrontmatterFields(values)
    except ValueError as error:
        return FrontmatterFields(_lines(head), f"the fields at its beginning are not valid YAML ({error})")


def document_in(text: str, read: ReadFields = fields_in) -> MarkdownFile:
    """Split a file. Without a first line of `---` all is body.

    Args:
        read: `fields_in`, or what knows its results.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    first, _, rest = text.partition("\n")
    if not _FENCE.fullmatch(first):
        return MarkdownFile({}, text.strip())
    end = _END.search(rest)
    if end is None:
        return MarkdownFile({}, text.strip(), "the fields at its beginning have no end: add a line of ---")
    head, body = rest[: end.start()], rest[end.end() :].strip()
    if len(head) > _MAX_CHARACTERS:
        return MarkdownFile({}, body, f"the fields at its beginning have more than {_MAX_CHARACTERS} characters")
    if not head.strip():
        return MarkdownFile({}, body)
    fields = read(head)
    return MarkdownFile(fields.values, body, fields.problem)


def text_of(value: object) -> str:
    """A field as one line of text; empty if it is a list, a mapping or absent."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def names_of(value: object) -> tuple[str, ...]:
    """A field with several names: a list, or a text with commas or spaces, where parentheses keep what is in them."""
    if isinstance(value, list):
        return tuple(text for text in map(text_of, value) if text)
    return tuple(_NAMES.findall(text_of(value)))


_NAMES = re.compile(r"(?:[^\s,(]|\([^)]*\)?)+")


def hint_of(value: object) -> str:
    """A field that shows arguments, as one line of text: `[file]` is meant as it stands there, not as a list."""
    return f"[{', '.join(names_of(value))}]" if isinstance(value, list) else text_of(value)


def is_true(value: object) -> bool:
    """Whether a field says yes."""
    return isinstance(value, str) and value.lower() in ("true", "yes", "on")


def _lines(head: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for line in head.splitlines():
        found = _FIELD.fullmatch(line.rstrip())
        if found and (not _NOT_PLAIN.fullmatch(found[2]) or _HINTS.match(found[2])):
            fields.setdefault(found[1], found[2])
        elif found and len(found[2]) > 1 and found[2][0] == found[2][-1] and found[2][0] in "'\"":
            fields.setdefault(found[1], found[2][1:-1])
    return fields
