"""What executes of files that package managers and version control make by themselves, and mostly without harm."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from kaa.hands.git_config import ConfigEntry, ConfigSyntaxError, entries
from kaa.hands.git_state import Judge
from kaa.hands.guard.items import (
    MAX_DEPTH,
    Items,
    OpenedItem,
    Watch,
    file_item,
    names_in,
    opened,
    whatever,
)
from kaa.hands.guard.room import Room
from kaa.hands.lazy_pattern import LazyPattern

_REASON = "other programs execute or obey what it says"
_TOO_MANY = "it is in a directory with more files than can be checked"
# Of cargo's configuration; everything else names programs, or options for them.
_HARMLESS_IN_CARGO = frozenset(
    [
        "cache",
        "cargo-new",
        "future-incompat-report",
        "http",
        "net",
        "patch",
        "profile",
        "registries",
        "registry",
        "source",
        "term",
    ]
)
_HARMLESS_IN_CARGO_BUILD = frozenset(("build-dir", "incremental", "jobs", "target", "target-dir"))
_MAX_DOTS = 64  # in a line: tomllib takes minutes for a key of 60,000 parts, and tables in tables cannot all be walked
_OPTIONS_OF_CARGO = ("--config", "-C", "-Z")
_PROGRAMS_OF_YARN = (b"path", b"plugins", b"shell", b"\\")  # an escape could hide the others

_HARMLESS_IN_RUST_TOOLCHAIN = LazyPattern(
    rb"""(?x) \#.* | \[toolchain\] | [\w.-]*                          # an old file has only the channel
    | (?:channel|profile)\s*=\s*["'][\w.-]*["']\s*(?:\#.*)?
    | (?:components|targets)\s*=\s*\[[\s\w"',.-]*\]?\s*(?:\#.*)? | ["'][\w.-]*["']\s*,?\s*(?:\#.*)? | \]\s*(?:\#.*)?"""
)
_HARMLESS_IN_BRANCH = LazyPattern(
    rb"(?:\w+_location|nickname|bound|append_revisions_only|stored_\w+)\s*=[^\"'\\{}]*|#.*|"
)
_PROGRAMS_OF_VERSIONS = LazyPattern(rb"\b(?:path|ref|prefix):|\{[{%#]")
_SUB_OF_VERSIONS = LazyPattern(rb"\bsub-")  # and a colon later in the word
# A version, the name of one, or a range of them; `lts/iron` of nvm, and a virtual environment below a version of pyenv.
_VERSION = LazyPattern(rb"(?:(?!.*\.\.)[\w.+@<>=^~*|,!-]+|lts/[\w*-]+|\d[\w.]*/envs/[\w-]+)")
_PROGRAMS_OF_CRADLES = LazyPattern(rb"bios|shell|program|with-ghc|direct|\\|[&*!]|\?\s")

_Judges: TypeAlias = Mapping[str, Judge]  # by path; "" is the file, or each file of the directory, itself


def judged_items(directory: int, name: str, watch: Watch, room: Room) -> Items:
    """What executes of a file, or of the files in a directory, that may be there as such."""
    _collect(directory, name, "", _below(JUDGES, name), watch, room)
    return room.items


def _collect(directory: int, name: str, path: str, judges: _Judges, watch: Watch, room: Room) -> None:
    if room.notes(path, directory, name, _REASON):
        return
    with opened(name, directory) as found:
        if not isinstance(found, OpenedItem):
            room.items.update(found.items(path, _REASON) if found else {})
        elif not found.is_file:
            everything = judges if "" in judges else None
            watch(found.descriptor, None if everything else frozenset(path.partition("/")[0] for path in judges))
            for inner in names_in(found.descriptor):
                below = everything or _below(judges, inner)
                at = f"{path}/{inner}" if path else inner
                is_near = at.count("/") < MAX_DEPTH
                if below and room.has(at, found.descriptor, inner, _TOO_MANY, is_near=is_near):
                    _collect(found.descriptor, inner, at, below, watch, room)
        elif judge := judges.get(""):
            watch(found.descriptor, None)
            room.add(path, file_item(found, _REASON, judge))


def _below(judges: _Judges, name: str) -> _Judges:
    """The judges of what is in a directory, or of a file."""
    parts = ((path.partition("/"), judge) for path, judge in judges.items())
    return {rest: judge for (first, _, rest), judge in parts if first == name.casefold()}


def _mercurial(content: bytes) -> frozenset[str]:
    """Lines outside the section that says where other repositories are; hg runs hooks, aliases and extensions."""
    harmful, section = set(), b""
    for line in content.splitlines():
        if line.startswith(b"["):
            section = line.strip()
        elif line.startswith(b"%") or (section != b"[paths]" and line.strip() and not line.startswith((b"#", b";"))):
            harmful.add(line)
    return frozenset(line.decode("utf-8", "backslashreplace") for line in harmful)


def _bazaar(content: bytes) -> frozenset[str]:
    """Lines that say more than where other branches are, which `brz branch` and `brz push` write."""
    return _lines(content, lambda line: not _HARMLESS_IN_BRANCH.fullmatch(line))


def _submodules(content: bytes) -> frozenset[str]:
    """Entries that execute, or that git refuses by now: paths that lead elsewhere, and addresses that are options."""
    try:
        found = entries(content)
    except ConfigSyntaxError:
        return whatever(content)
    return frozenset(f"{entry.key}={entry.value}" for entry in found if not _is_harmless_in_submodules(entry))


def _is_harmless_in_submodules(entry: ConfigEntry) -> bool:
    if entry.section != "submodule" or not _is_plain(entry.subsection) or "\n" in entry.value:
        return False
    match entry.name:
        case "path":
            return _is_plain(entry.value)
        case "url":
            return not entry.executes and not entry.value.startswith("-")
        case _:
            return not entry.executes


def _is_plain(path: str) -> bool:
    """Whether a path leads into the working tree, and is no option."""
    names = path.casefold().split("/")
    return not path.startswith(("-", "/")) and {"..", ".git"}.isdisjoint(names) and not set(path) & {"\\", "\n"}


def _yarn(content: bytes) -> frozenset[str]:
    """Lines that name a program or a plugin."""
    lines = content.splitlines()
    harmful = (line for line in lines if any(word in line.lower() for word in _PROGRAMS_OF_YARN))
    return frozenset(line.decode("utf-8", "backslashreplace") for line in harmful)


def _rust_toolchain(content: bytes) -> frozenset[str]:
    """Lines that may name a directory with programs: rustup runs those of a `path`."""
    # Of several blanks in a row, the pattern could take each for the one or the other of two.
    return _lines(content, lambda line: not _HARMLESS_IN_RUST_TOOLCHAIN.fullmatch(b" ".join(line.split())))


def _tool_versions(content: bytes) -> frozenset[str]:
    """Lines of a version that is a directory, or a template of mise, which may run a program."""
    return _lines(content, _names_program)


def _names_program(line: bytes) -> bool:
    subs = ((word, _SUB_OF_VERSIONS.search(word)) for word in line.split())
    has_sub = any(found is not None and b":" in word[found.end() :] for word, found in subs)
    return has_sub or _PROGRAMS_OF_VERSIONS.search(line) is not None


def _version(content: bytes) -> frozenset[str]:
    """Lines with a word that may be the path of a directory with programs; asdf reads those in comments, too."""
    return _lines(
        content,
        lambda line: _names_program(line) or not all(map(_VERSION.fullmatch, line.partition(b"#")[0].split())),
    )


def _dotnet(content: bytes) -> frozenset[str]:
    return _lines(content, lambda line: b"paths" in line.lower() or b"\\" in line)


def _lua(content: bytes) -> frozenset[str]:
    return _lines(content, lambda line: b"plugin" in line.lower() or b"\\u" in line.lower())


def _haskell(content: bytes) -> frozenset[str]:
    """Lines of a cradle that may run a program; an escape, a tag or an anchor could hide it."""
    return _lines(content, lambda line: _PROGRAMS_OF_CRADLES.search(line.lower()) is not None)


def _lines(content: bytes, is_harmful: Callable[[bytes], bool]) -> frozenset[str]:
    """Those of the lines, and of any with a null byte, that are harmful."""
    lines = (line for line in content.splitlines() if is_harmful(line.strip()) or b"\0" in line)
    return frozenset(line.decode("utf-8", "backslashreplace") for line in lines)


def _cargo(content: bytes) -> frozenset[str]:
    """Settings that are not known to run nothing."""
    import tomllib  # 5 ms, and few projects have this file

    if any(line.count(b".") > _MAX_DOTS for line in content.splitlines()):
        return whatever(content)
    try:
        settings = _settings(tomllib.loads(content.decode("utf-8")))
        return frozenset(f"{key}={value}" for key, value in settings if not _is_harmless_in_cargo(key, value))
    except (ValueError, RecursionError):
        return whatever(content)


def _settings(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Whatever is no table, with the path to it."""
    if not isinstance(value, dict):
        yield key, value
        return
    for name, below in value.items():
        yield from _settings(below, f"{key}.{name}" if key else name)


def _is_harmless_in_cargo(key: str, value: object) -> bool:
    section, _, rest = key.partition(".")
    if section == "alias":
        words = value.split() if isinstance(value, str) else value if isinstance(value, list) else [""]
        return not any(str(word).startswith(_OPTIONS_OF_CARGO) for word in words)
    if section == "build":
        return rest in _HARMLESS_IN_CARGO_BUILD
    return section in _HARMLESS_IN_CARGO and "credential" not in rest and "rustflags" not in rest


JUDGES: _Judges = MappingProxyType(
    {
        ".bun-version": _version,
        ".bzr/branch/branch.conf": _bazaar,
        ".cargo/config": _cargo,
        ".cargo/config.toml": _cargo,
        ".config/mise": whatever,
        ".config/mise.local.toml": whatever,
        ".config/mise.toml": whatever,
        ".crystal-version": _version,
        ".deno-version": _version,
        ".github/copilot": whatever,
        ".github/extensions": whatever,
        ".github/hooks": whatever,
        ".github/lsp.json": whatever,
        ".github/mcp.json": whatever,
        ".gitmodules": _submodules,
        ".go-version": _version,
        ".hg/hgrc": _mercurial,
        ".hg/hgrc-not-shared": _mercurial,
        ".hg/sharedpath": whatever,
        ".java-version": _version,
        ".jj/repo/config.toml": whatever,
        ".jj/workspace-config.toml": whatever,
        ".luarc.json": _lua,
        ".luarc.jsonc": _lua,
        ".node-version": _version,
        ".nvmrc": _version,
        ".perl-version": _version,
        ".php-version": _version,
        ".pijul/config": whatever,
        ".python-version": _version,
        ".python-versions": _version,
        ".ruby-version": _version,
        ".sdkmanrc": _version,
        ".sl/config": _mercurial,
        ".terraform-version": _version,
        ".tool-versions": _tool_versions,
        ".vim/coc-settings.json": whatever,
        ".yarnrc": _yarn,
        ".yarnrc.yml": _yarn,
        "_darcs/prefs/defaults": whatever,
        "global.json": _dotnet,
        "hie.yaml": _haskell,
        "mise/config.toml": whatever,
        "rust-toolchain": _rust_toolchain,
        "rust-toolchain.toml": _rust_toolchain,
    }
)
