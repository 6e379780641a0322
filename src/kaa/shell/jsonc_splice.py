"""Changes values in a JSON text with comments and leaves everything else in it as it is, byte for byte."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from kaa.llm import jsonc

# Of plain JSON: a string, a bracket or separator, or a number or word.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_INDENT = "  "


class _Member(NamedTuple):
    """A member of an object: where its name begins, and where its value begins and ends."""

    name: str
    start: int
    value: int
    end: int


class _Splice(NamedTuple):
    """Put `text` in the place of what is from `start` to `end`."""

    start: int
    end: int
    text: str


def splice(text: str, changes: Mapping[str, Json]) -> str:
    """`text` with some values of its object changed or added.

    Objects among the changes are merged into those that are there, at any depth; other values are replaced. Of names
    that occur twice the last one counts, as it does for readers.

    Args:
        text: one JSON object, which may have comments and trailing commas.
        changes: the new values, by name.

    Raises:
        JsoncError: the text is not valid JSON.
        ValueError: it is JSON, but no object.
    """
    if not isinstance(jsonc.decode(text), dict):
        raise ValueError("there must be an object { } at the top")
    editor = _Editor(text)
    editor.change(editor.plain.index("{"), changes, "")
    pieces, copied = [], 0
    for start, end, replacement in sorted(editor.splices, key=lambda one: one.start):  # at one place, in their order
        pieces += [text[copied:start], replacement]
        copied = end
    return "".join([*pieces, text[copied:]])


def without(text: str, path: Sequence[str]) -> str:
    """`text` without a member. Comments stay, those within it excepted.

    Args:
        text: one JSON object, which may have comments and trailing commas.

    Raises:
        JsoncError: the text is not valid JSON.
        ValueError: it is JSON, but no object.
        KeyError: there is no such member.
    """
    if not isinstance(jsonc.decode(text), dict):
        raise ValueError("there must be an object { } at the top")
    editor = _Editor(text)
    start = editor.plain.index("{")
    for name in path[:-1]:
        start = editor.value_of(start, name)
    for first, last in reversed(editor.places_of(start, path[-1])):
        text = text[:first] + text[last:]
    return text


class _Editor:
    """Collects the splices that changes come down to."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self.plain = jsonc.to_json(text)  # the same length
        self.splices: list[_Splice] = []

    def change(self, start: int, changes: Mapping[str, Json], indent: str) -> None:
        """Change the object that begins at `start`, on a line indented by `indent`."""
        *members, closing = self._members(start)
        indent_inside = self._indent_of(members, indent)
        present = {member.name: member for member in members}  # the last of each name
        new: dict[str, Json] = {}
        for name, value in changes.items():
            member = present.get(name)
            if member is None:
                new[name] = value
            elif isinstance(value, dict) and self.plain[member.value] == "{":
                self.change(member.value, value, indent_inside)
            else:
                self.splices.append(_Splice(member.value, member.end, self._encoded(value, indent_inside)))
        if new:
            self._add(new, start, closing.start, members, indent, indent_inside)

    def _add(
        self,
        new: Mapping[str, Json],
        start: int,
        closing: int,
        members: list[_Member],
        indent: str,
        indent_inside: str,
    ) -> None:
        """Add members behind the last one and the comments that follow it."""
        last = members[-1].end if members else start + 1
        trailing_comma = bool(members) and self._has_trailing_comma(last, closing)
        in_lines = not members or "\n" in self._text[start:closing]
        before = self._line_end + indent_inside if in_lines else " "
        added = ",".join(
            f"{before}{_encode(name)}: {self._encoded(value, indent_inside)}" for name, value in new.items()
        )
        if trailing_comma:
            added += ","
        elif members:
            self.splices.append(_Splice(last, last, ","))
        place = len(self._text[:closing].rstrip())
        if not members and "\n" not in self._text[place:closing]:
            added += self._line_end + indent
        self.splices.append(_Splice(place, place, added))

    def value_of(self, start: int, name: str) -> int:
        """Where the object begins that is the value of a member of the object at `start`."""
        found = [member for member in self._members(start) if member.name == name and self.plain[member.value] == "{"]
        if not found:
            raise KeyError(name)
        return found[-1].value

    def places_of(self, start: int, name: str) -> list[tuple[int, int]]:
        """What to cut out to remove all members of a name from the object at `start`: from where to where."""
        *members, closing = self._members(start)
        bare = jsonc.without_comments(self._text)
        found: list[tuple[int, int]] = []
        for number, member in enumerate(members):
            if member.name != name:
                continue
            following = members[number + 1].start if number + 1 < len(members) else closing.start
            comma = bare.find(",", member.end, following)
            if comma < 0 and number and members[number - 1].name != name:  # the comma before it leads nowhere now
                before = bare.find(",", members[number - 1].end, member.start)
                found.append((before, before + 1))
            found.append(self._with_blanks(member.start, member.end if comma < 0 else comma + 1))
        if not found:
            raise KeyError(name)
        return found

    def _with_blanks(self, start: int, end: int) -> tuple[int, int]:
        """What to cut out with the blanks that belong to it. A comment in the line before must not get longer."""
        rest = self._text[end:].partition("\n")[0]
        if rest.strip():
            return start, end + len(rest) - len(rest.lstrip())
        return len(self._text[:start].rstrip()), end

    def _members(self, start: int) -> Iterator[_Member]:
        """The members of the object at `start`, and at last one without a name where it closes."""
        position = start + 1
        while True:
            token = self._token(position)
            if token.group() == "}":
                yield _Member("", token.start(), token.start(), token.end())
                return
            if token.group() == ",":
                token = self._token(token.end())
            value = self._token(self._token(token.end()).end())
            position = self._end_of(value)
            yield _Member(msgspec.json.decode(token.group()), token.start(), value.start(), position)

    def _end_of(self, token: re.Match[str]) -> int:
        """Where the value that begins with `token` ends."""
        depth = 0
        while True:
            depth += (token.group() in ("{", "[")) - (token.group() in ("}", "]"))
            if depth == 0:
                return token.end()
            token = self._token(token.end())

    def _token(self, position: int) -> re.Match[str]:
        token = _TOKEN.search(self.plain, position)
        assert token is not None  # the text is valid
        return token

    def _has_trailing_comma(self, start: int, end: int) -> bool:
        """Whether there is a comma that is no part of a comment."""
        bare = jsonc.without_comments(self._text)
        return "," in bare[start:end]

    def _indent_of(self, members: list[_Member], indent: str) -> str:
        """How the members of an object are indented, or should be if none has a line of its own."""
        for member in members:
            line = self._text[self._text.rfind("\n", 0, member.start) + 1 : member.start]
            if not line.strip():
                return line
        return indent + _INDENT

    def _encoded(self, value: Json, indent: str) -> str:
        if not isinstance(value, dict) or not value:
            return _encode(value)
        inside = self._line_end + indent + _INDENT
        members = (f"{inside}{_encode(name)}: {self._encoded(each, indent + _INDENT)}" for name, each in value.items())
        return f"{{{','.join(members)}{self._line_end}{indent}}}"


def _encode(value: Json) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
