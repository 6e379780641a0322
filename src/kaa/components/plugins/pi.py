"""Packages of pi: `package.json` with the field `pi`. Source: "Packages" in the documentation of pi 1.5 of 2026."""

import fnmatch
from collections.abc import Mapping

from kaa.components.plugins.claude import author_of
from kaa.components.plugins.collecting import SKILL, Collector
from kaa.components.plugins.json_fields import line_of, mapping_of, texts_of
from kaa.components.plugins.manifest import Plugin
from kaa.core.messages import Json

MANIFEST = "package.json"

_KEYWORD = "pi-package"
_KINDS = ("extensions", "skills", "prompts", "themes")
_MAX_PATTERNS = 200


def is_pi(fields: Mapping[str, Json]) -> bool:
    """Whether a package.json is of a package for pi, not of another for node."""
    return isinstance(fields.get("pi"), dict) or _KEYWORD in texts_of(fields.get("keywords"))


def pi_plugin(folder: Collector, name: str, fields: Mapping[str, Json]) -> Plugin:
    """A package as a plugin; folders with the usual names count if the package does not name its own."""
    named = mapping_of(fields.get("pi"))
    usual = not any(kind in named for kind in _KINDS)
    chosen = {kind: [kind] if usual else _chosen(folder, named, kind) for kind in _KINDS}
    extensions = [path for one in chosen["extensions"] for path in ([one] if "." in one else folder.listing.files(one))]
    if code := [path for path in extensions if path.endswith((".ts", ".js"))]:
        listed = ", ".join(line_of(path, 80) for path in code[:5]) + (", …" if len(code) > 5 else "")
        folder.note(f"its extensions for pi are not supported, because they are written in TypeScript: {listed}")
    documents = folder.files([one for one in chosen["skills"] if not one.endswith(SKILL)], ".md", is_deep=False)
    folders = [one for one in chosen["skills"] if one.endswith(SKILL) or not one.endswith(".md")]
    return Plugin(
        name,
        "pi",
        MANIFEST,
        version=line_of(fields.get("version"), 100),
        description=line_of(fields.get("description")),
        author=author_of(fields.get("author")),
        skills=(
            *folder.skills(folders, name, is_deep=True),
            *(one for one in documents if not one.path.endswith(SKILL)),
        ),
        commands=folder.files(chosen["prompts"], ".md", is_deep=False),
        themes=folder.files(chosen["themes"], ".json", is_deep=False),
        notes=folder.notes,
    )


def _chosen(folder: Collector, named: Mapping[str, Json], kind: str) -> list[str]:
    """The folders and files of a kind. Globs choose files, and those that begin with `!` leave files out."""
    patterns = texts_of(named.get(kind))[:_MAX_PATTERNS]
    paths = folder.paths([one for one in patterns if not one.startswith("!")], f"pi.{kind}")
    without = folder.paths([one[1:] for one in patterns if one.startswith("!")], f"pi.{kind}")
    globs = [path for path in paths if any(one in path for one in "*?[")]
    chosen = [path for path in paths if path not in globs]
    if globs:
        matched = [path for path in folder.listing.files("") if _matches(path, globs)]
        chosen += [path for path in matched if kind != "skills" or path.endswith(SKILL)]
    if without:
        chosen = [path for one in chosen for path in (folder.listing.files(one) or [one])]
    return [path for path in chosen if not _matches(path, without)]


def _matches(path: str, globs: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, glob) or path.startswith(f"{glob}/") for glob in globs)
