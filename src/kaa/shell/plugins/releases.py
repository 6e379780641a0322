"""Released versions of a plugin: tags `NAME--vVERSION` of its repository, as Claude Code has them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.components.plugins.dependencies import fits
from kaa.components.plugins.marketplace import MarketplaceEntry, Npm, Relative, Url
from kaa.components.plugins.versions import version_in
from kaa.shell.extensions.git import FetchedRepository
from kaa.shell.extensions.sources import GitSource
from kaa.shell.plugins.sources import repository_of, source_in


class Release(NamedTuple):
    """A version of a plugin, and where it is."""

    version: str
    source: GitSource


def newest_release(
    entry: MarketplaceEntry, marketplace: str, ranges: Sequence[str], staging: Path, environ: Mapping[str, str]
) -> Release | None:
    """The latest version of a plugin that is in all ranges; None if no tag says of any.

    Args:
        marketplace: where its marketplace comes from, as it is recorded.

    Raises:
        InstallationError: git cannot get the tags.
    """
    source = _repository(entry, marketplace)
    if source is None:
        return None
    beginning = f"{entry.name}--v"
    tags = FetchedRepository(staging / "tags", environ).tags(source.url, beginning)
    known = [
        (version, text)
        for text in (tag.removeprefix(beginning) for tag in tags)
        if (version := version_in(text)) is not None and all(fits(text, one) for one in ranges)
    ]
    if not known:
        return None
    _, text = max(known)
    return Release(text, msgspec.structs.replace(source, reference=f"{beginning}{text}"))


def _repository(entry: MarketplaceEntry, marketplace: str) -> GitSource | None:
    """The repository that has the plugin, and its folder there."""
    match entry.source:
        case Relative(path=path):
            found = source_in(marketplace, "/")
            if not isinstance(found, GitSource):
                return None
            folder = "/".join(part for part in (found.folder, path) if part)
            return msgspec.structs.replace(found, folder=folder)
        case Npm() | Url():
            return None
        case source:
            return repository_of(source)
