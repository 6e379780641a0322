"""Which other plugins a plugin of Claude Code needs: `dependencies` of its manifest.

Source: "Plugin dependencies" in the documentation of Claude Code 2.1. An entry is `NAME`, `NAME@MARKETPLACE`, or an
object with `name`, `marketplace` and `version`, a range as npm writes it: `~2.1.0`, `^1.2`, `>=1.4 <3 || 4.x`
(https://semver.org 2.0.0, and the grammar of ranges in the documentation of npm's `semver` 7).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from kaa.components.plugins.json_fields import MAX_NAME, line_of, quoted
from kaa.core.messages import Json

_MOST = 50
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_MAX_CHARACTERS = 256
_NUMBER = r"0|[1-9][0-9]{0,14}"
_MORE = r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
_VERSION = re.compile(rf"v?(?P<numbers>(?:{_NUMBER})(?:\.(?:{_NUMBER})){{2}}){_MORE}")
_PART = rf"(?:{_NUMBER}|[xX*])"
_PARTIAL = re.compile(rf"[v=]*(?P<numbers>{_PART}(?:\.{_PART}){{0,2}}){_MORE}")
_HYPHEN = re.compile(r"(\S+) +- +(\S+)")
_SPACE_AFTER_OPERATOR = re.compile(r"(>=|<=|>|<|=|~>?|\^)\s+")
_OPERATOR = re.compile(r"(>=|<=|>|<|=|~>?|\^)?(.*)")
_Identifier: TypeAlias = tuple[int, int, str]


class Dependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plugin that another needs.

    Attributes:
        marketplace: that has it; empty: that of the plugin which needs it.
        version: the range of versions that will do; empty: any.
    """

    name: str
    marketplace: str = ""
    version: str = ""

    def __str__(self) -> str:
        place = f"@{self.marketplace}" if self.marketplace else ""
        return f"{self.name}{place}{f' {self.version}' if self.version else ''}"


def dependencies_in(value: Json) -> tuple[tuple[Dependency, ...], list[str]]:
    """The dependencies in a field, and what of it is left out, in sentences without their ends."""
    entries = value if isinstance(value, list) else [] if value is None else [value]
    found: dict[tuple[str, str], Dependency] = {}
    notes: list[str] = []
    for entry in entries[:_MOST]:
        dependency = _dependency(entry)
        if dependency is None:
            notes.append(f"{quoted(entry)} in `dependencies` is left out: it has no valid name or range of versions")
        else:
            found.setdefault((dependency.name, dependency.marketplace), dependency)
    if len(entries) > _MOST:
        notes.append(f"only the first {_MOST} of `dependencies` are used")
    return tuple(found.values()), notes


def fits(version: str, wanted: str) -> bool:
    """Whether a version will do. `wanted`: a range, or empty for any version."""
    if not wanted:
        return True
    known, suitable = version_in(version), range_in(wanted)
    return known is not None and suitable is not None and suitable.has(known)


def _dependency(entry: Json) -> Dependency | None:
    if isinstance(entry, str):
        name, marketplace, version = (*entry.split("@", 2), "", "")[:3]
    elif isinstance(entry, dict):
        given = (entry.get("name"), entry.get("marketplace"), entry.get("version"))
        if any(not isinstance(one, str | None) for one in given):
            return None
        name, marketplace, version = (one if isinstance(one, str) else "" for one in given)
        if "@" in name and not marketplace:
            name, _, marketplace = name.partition("@")
    else:
        return None
    names = [name, marketplace] if marketplace else [name]
    if not all(map(_NAME.fullmatch, names)) or line_of(version) != version or range_in(version) is None:
        return None
    return Dependency(name, marketplace, version)


class Version(NamedTuple):
    """A version; those that are greater are later. `label`: of a version before its release, as it compares."""

    numbers: tuple[int, int, int]
    label: tuple[int, tuple[_Identifier, ...]] = (1, ())

    @property
    def is_release(self) -> bool:
        """Whether it is no version before a release, such as `2.0.0-beta.1`."""
        return self.label[0] == 1


class _Bound(NamedTuple):
    """A limit of a range. `is_named`: its version is written there, and not only meant."""

    operator: str
    version: Version
    is_named: bool = False

    def holds(self, version: Version) -> bool:
        match self.operator:
            case ">=":
                return version >= self.version
            case ">":
                return version > self.version
            case "<=":
                return version <= self.version
            case _:
                return version < self.version


class VersionRange(NamedTuple):
    """Some versions: those that all bounds of one alternative permit."""

    alternatives: tuple[tuple[_Bound, ...], ...]

    def has(self, version: Version) -> bool:
        """Whether a version is among them. One before a release is only if the range names one of the same release."""
        return any(_permit(bounds, version) for bounds in self.alternatives)


def version_in(text: str) -> Version | None:
    """The version that a text is; None if it is none."""
    found = _VERSION.fullmatch(text.strip()) if len(text) <= _MAX_CHARACTERS else None
    if found is None:
        return None
    major, minor, patch = map(int, found["numbers"].split("."))
    return Version((major, minor, patch), _label(found["pre"]))


def range_in(text: str) -> VersionRange | None:
    """The range that a text is; None if it is none."""
    if len(text) > _MAX_CHARACTERS:
        return None
    try:
        return VersionRange(tuple(tuple(_bounds(part.strip())) for part in text.split("||")))
    except ValueError:
        return None


def _permit(bounds: tuple[_Bound, ...], version: Version) -> bool:
    if not all(bound.holds(version) for bound in bounds):
        return False
    named = (bound.version for bound in bounds if bound.is_named and not bound.version.is_release)
    return version.is_release or any(one.numbers == version.numbers for one in named)


def _bounds(text: str) -> Iterator[_Bound]:
    """The bounds of one alternative.

    Raises:
        ValueError: it is not understood.
    """
    if hyphen := _HYPHEN.fullmatch(text):
        yield from _comparison(">=", hyphen[1])
        yield from _comparison("<=", hyphen[2])
        return
    for word in _SPACE_AFTER_OPERATOR.sub(r"\1", text).split() or ["*"]:
        operator, rest = _OPERATOR.findall(word)[0]
        yield from _comparison(operator, rest)


def _comparison(operator: str, text: str) -> Iterator[_Bound]:
    found = _PARTIAL.fullmatch(text)
    if found is None:
        raise ValueError(text)
    parts = found["numbers"].split(".")
    known: list[int] = []
    for part in parts:
        if not part.isdigit():
            break
        known.append(int(part))
    if any(part.isdigit() for part in parts[len(known) :]):
        raise ValueError(text)
    full = len(known) == 3
    version = Version(_filled(known), _label(found["pre"]) if full else (1, ()))
    lowest = _Bound(">=", version, is_named=True)
    match operator:
        case "^" | "~" | "~>":
            yield lowest
            kept = _kept_by_caret(known) if operator == "^" else min(len(known), 2)
        case ">=" | "<":
            yield _Bound(operator, version, is_named=True)
            return
        case ">" | "<=" if full:
            yield _Bound(operator, version, is_named=True)
            return
        case ">":
            # `>1.2` is later than all of 1.2; nothing is later than everything.
            yield _Bound(">=", Version(_next(known))) if known else _Bound("<", Version((0, 0, 0)))
            return
        case "<=":
            kept = len(known)
        case _ if full:
            yield lowest
            yield _Bound("<=", version, is_named=True)
            return
        case _:
            yield lowest
            kept = len(known)
    if kept:
        yield _Bound("<", Version(_next(known[:kept])))


def _kept_by_caret(known: list[int]) -> int:
    """How many parts `^` keeps: up to the first that is not 0, or all that are written."""
    return next((at + 1 for at, part in enumerate(known) if part), len(known))


def _filled(known: list[int]) -> tuple[int, int, int]:
    major, minor, patch = (*known, 0, 0, 0)[:3]
    return major, minor, patch


def _next(known: list[int]) -> tuple[int, int, int]:
    return _filled([*known[:-1], known[-1] + 1])


def _label(text: str | None) -> tuple[int, tuple[_Identifier, ...]]:
    """How what follows `-` compares: numbers before texts, a release after all."""
    if not text:
        return 1, ()
    return 0, tuple((0, int(one), "") if one.isdigit() else (1, 0, one) for one in text.split("."))
