"""Marketplaces: lists of plugins and where they come from, as Claude Code and Codex have them.

Sources, 2026: "Plugin marketplaces" in the documentation of Claude Code (`.claude-plugin/marketplace.json`), and
`.agents/plugins/marketplace.json` of Codex 0.169.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from kaa.components.plugins.json_fields import (
    MAX_NAME,
    InvalidJsonError,
    line_of,
    mapping_of,
    object_in,
    quoted,
    texts_of,
)
from kaa.components.plugins.paths import inside
from kaa.core.messages import Json

PLACES = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json")
"""Where a repository has its list; the first that is there counts."""

_MAX_ENTRIES = 5_000
_MAX_NOTES = 200
_MAX_ALLOWED = 100
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,249}")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_SCP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_~/][^\s]*")
PACKAGE = re.compile(r"(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*")
VERSION = re.compile(r"[A-Za-z0-9^~<>=*][A-Za-z0-9.^~<>=*| +-]{0,63}")
# What an entry says about itself in the list; everything else is the manifest.
_OF_LIST = frozenset({"source", "category", "tags", "strict", "relevance", "policy"})


class Relative(msgspec.Struct, frozen=True, tag=True):
    """A folder of the marketplace. `path`: relative to its root and inside; empty for the root."""

    path: str


class Git(msgspec.Struct, frozen=True, tag=True):
    """A repository. `url`: https, ssh or user@host:path; `ref`: branch or tag; `sha`: the commit, in full."""

    url: str
    ref: str = ""
    sha: str = ""


class GitSubdir(msgspec.Struct, frozen=True, tag=True):
    """A folder of a repository. `path`: relative to its root and inside."""

    url: str
    path: str
    ref: str = ""
    sha: str = ""


class GitHub(msgspec.Struct, frozen=True, tag=True):
    """A repository at GitHub. `repository`: owner/name."""

    repository: str
    ref: str = ""
    sha: str = ""


class Url(msgspec.Struct, frozen=True, tag=True):
    """An archive. `url`: https; `sha256`: of the archive, in hexadecimal digits."""

    url: str
    sha256: str = ""


class Npm(msgspec.Struct, frozen=True, tag=True):
    """A package. `version`: or a range of versions; `registry`: its https address, empty for the usual one."""

    package: str
    version: str = ""
    registry: str = ""


PluginSource: TypeAlias = Relative | Git | GitSubdir | GitHub | Url | Npm


class MarketplaceEntry(msgspec.Struct, frozen=True):
    """A plugin in the list.

    Attributes:
        name: unique in the list; letters, digits, `.`, `_` and `-`.
        manifest: fields of the plugin's manifest, as they are written.
        is_strict: the plugin's own manifest counts, and this entry adds to it; otherwise this entry alone is the
            manifest.
    """

    name: str
    source: PluginSource
    description: str = ""
    version: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    manifest: dict[str, Json] = {}
    is_strict: bool = True


class Marketplace(msgspec.Struct, frozen=True):
    """A list of plugins.

    Attributes:
        name: letters, digits, `.`, `_` and `-`.
        owner: name of the owner, for people.
        entries: by name, in the order of the list.
        renames: the present names of plugins that had others; each is one of the entries.
        allows: names of other marketplaces whose plugins those of this one may need.
        notes: what was left out and why, in sentences without their ends.
    """

    name: str
    owner: str = ""
    description: str = ""
    entries: dict[str, MarketplaceEntry] = {}
    renames: dict[str, str] = {}
    allows: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class InvalidMarketplaceError(ValueError):
    """A file is no list of plugins; the message is the end of a sentence."""


class _UnusableError(ValueError):
    """An entry cannot be used; the message is the end of a sentence."""


def marketplace_in(data: bytes) -> Marketplace:
    """The marketplace in a file.

    Raises:
        InvalidMarketplaceError: it cannot be used at all.
    """
    try:
        content = object_in(data)
    except InvalidJsonError as error:
        raise InvalidMarketplaceError(str(error)) from error
    name, plugins = content.get("name"), content.get("plugins")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidMarketplaceError(f"its `name` must have up to {MAX_NAME} letters, digits, `.`, `_` and `-`")
    if not isinstance(plugins, list):
        raise InvalidMarketplaceError("`plugins` is not a list")
    owner, metadata = mapping_of(content.get("owner")), mapping_of(content.get("metadata"))
    renames = {old: new for old, new in mapping_of(content.get("renames")).items() if isinstance(new, str)}
    entries: dict[str, MarketplaceEntry] = {}
    notes: list[str] = []
    taken: dict[str, str] = {}
    for number, fields in enumerate(plugins[:_MAX_ENTRIES], 1):
        label = quoted(fields["name"]) if isinstance(fields, dict) and "name" in fields else f"number {number}"
        try:
            entry = _entry(fields, metadata.get("pluginRoot"), renames)
            if (rival := taken.get(_alike(entry.name))) is not None:
                raise _UnusableError("another has this name" if rival == entry.name else f"it looks like {rival}")
            taken[_alike(entry.name)] = entry.name
            entries[entry.name] = entry
        except _UnusableError as error:
            notes.append(f"plugin {label} is left out: {error}")
    if len(plugins) > _MAX_ENTRIES:
        notes.append(f"only the first {_MAX_ENTRIES} plugins are used")
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"{len(notes) - _MAX_NOTES} more are left out"]
    return Marketplace(
        name,
        line_of(owner.get("name"), 200),
        line_of(content.get("description")) or line_of(metadata.get("description")),
        entries,
        {old: new for old in renames if (new := _present(old, renames)) in entries},
        tuple(filter(_NAME.fullmatch, texts_of(content.get("allowCrossMarketplaceDependenciesOn"))[:_MAX_ALLOWED])),
        tuple(notes),
    )


def _alike(name: str) -> str:
    """The same for names that people could mistake for each other."""
    return re.sub(r"[._-]+", "-", name).lower()


def _present(name: str, renames: Mapping[str, str]) -> str:
    """The name after all renames; empty if they go round in a circle."""
    seen: set[str] = set()
    while name in renames:
        if name in seen:
            return ""
        seen.add(name)
        name = renames[name]
    return name


def _entry(fields: Json, plugin_root: Json, renames: Mapping[str, str]) -> MarketplaceEntry:
    if not isinstance(fields, dict):
        raise _UnusableError("it is not an object")
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _UnusableError(f"its `name` must have up to {MAX_NAME} letters, digits, `.`, `_` and `-`")
    if name in renames:
        raise _UnusableError(f"it is called {quoted(renames[name])} now")
    return MarketplaceEntry(
        name,
        _source(fields.get("source"), plugin_root),
        line_of(fields.get("description")),
        line_of(fields.get("version"), 100),
        line_of(fields.get("category"), 100),
        tuple(line_of(tag, 100) for tag in texts_of(fields.get("tags"))[:50]),
        {field: value for field, value in fields.items() if field not in _OF_LIST},
        fields.get("strict") is not False,
    )


def _source(value: Json, plugin_root: Json) -> PluginSource:
    if isinstance(value, str):
        return Relative(_relative(value, plugin_root))
    if not isinstance(value, dict):
        raise _UnusableError("it has no `source`")
    match value.get("source"):
        case "local":
            return Relative(_relative(value.get("path"), None))
        case "github":
            repository = value.get("repo")
            if not isinstance(repository, str) or not _REPOSITORY.fullmatch(repository) or ".." in repository:
                raise _UnusableError("`repo` must be owner/name")
            ref, sha = _pin(value)
            return GitHub(repository, ref, sha)
        case "url" | "git" | "git-subdir" as kind:
            url, (ref, sha) = _git_url(value.get("url")), _pin(value)
            if kind == "git-subdir" or "path" in value:
                return GitSubdir(url, _relative(value.get("path"), None), ref, sha)
            return Git(url, ref, sha)
        case "npm":
            return Npm(
                _matching(value, "package", PACKAGE),
                _matching(value, "version", VERSION) if "version" in value else "",
                _https(value["registry"]) if "registry" in value else "",
            )
        case "archive":
            return Url(_https(value.get("url")), _matching(value, "sha256", _SHA256) if "sha256" in value else "")
        case "command":
            raise _UnusableError("its source is a command, which kaa does not run")
        case kind:
            raise _UnusableError(f"its kind of source, {quoted(kind)}, is unknown")


def _relative(value: Json, root: Json) -> str:
    path = inside(value) if isinstance(value, str) else None
    # A path with `./` is relative to the marketplace, a bare one to the folder for plugins.
    if path is not None and isinstance(root, str) and not value.startswith("./"):
        folder = inside(root)
        path = None if folder is None else f"{folder}/{path}".strip("/")
    if path is None:
        raise _UnusableError(f"its path {quoted(value)} is not inside the source")
    return path


def _matching(fields: Mapping[str, Json], field: str, form: re.Pattern[str]) -> str:
    value = fields.get(field)
    if not isinstance(value, str) or not form.fullmatch(value) or ".." in value:
        raise _UnusableError(f"`{field}` is invalid: {quoted(value)}")
    return value


def _pin(fields: Mapping[str, Json]) -> tuple[str, str]:
    return (
        _matching(fields, "ref", _REF) if fields.get("ref") else "",
        _matching(fields, "sha", _SHA) if fields.get("sha") else "",
    )


def _git_url(value: Json) -> str:
    if isinstance(value, str) and _SCP.fullmatch(value) and line_of(value) == value:
        return value
    if isinstance(value, str) and _REPOSITORY.fullmatch(value) and ".." not in value:
        return f"https://github.com/{value}.git"
    return _address(value, ("https", "ssh"))


def _https(value: Json) -> str:
    return _address(value, ("https",))


def _address(value: Json, schemes: tuple[str, ...]) -> str:
    if isinstance(value, str) and line_of(value) == value and not re.search(r"[\s\\]", value):
        try:
            parts = urlsplit(value)
            host, password, _ = parts.hostname, parts.password, parts.port  # raises if the port is no number
        except ValueError as error:
            raise _UnusableError(f"its address {quoted(value)} is invalid") from error
        if host and re.fullmatch(r"[a-z0-9][a-z0-9.-]*|[0-9a-f:.]+", host) and parts.scheme in schemes:
            if password is not None or (parts.scheme == "https" and parts.username is not None):
                raise _UnusableError("its address has a user name or a password")
            return value
    raise _UnusableError(f"its address {quoted(value)} is not one of {' or '.join(schemes)}")
