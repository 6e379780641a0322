"""What `kaa ext` prints, in lines. Names and texts are the extension's: for a terminal `printable` sanitizes them."""

from collections.abc import Sequence

import msgspec

from kaa.builtin.amounts import listed
from kaa.builtin.columns import aligned
from kaa.core.messages import Json
from kaa.ext.permissions import Permissions
from kaa.shell.extensions.installed import InstalledExtension
from kaa.shell.extensions.installer import PreparedExtension
from kaa.shell.extensions.records import Installation
from kaa.shell.trust.difference import Difference
from kaa.tui.sanitize import sanitize

_KINDS = {"python": "Python", "process": "process", "component": "WebAssembly"}
_MAX_NAMES = 20
_HASH_CHARACTERS = 12


def printable(lines: Sequence[str]) -> str:
    """The lines for a terminal: a name cannot begin a line of its own."""
    return "".join(f"{sanitize(' '.join(line.splitlines()))}\n" for line in lines)


def facts(extension: InstalledExtension) -> dict[str, Json]:
    """An extension as a JSON object."""
    installation = extension.record.installation
    return {
        "name": extension.name,
        "kind": extension.kind,
        "state": _state(extension),
        "version": installation.version if installation else "",
        "source": installation.source if installation else None,
        "origin": installation.origin if installation else None,
        "pinned": installation.since if installation else "",
        "pin": _pin(installation) if installation else "",
        "path": str(extension.path) if extension.path else None,
        "permissions": msgspec.to_builtins(extension.record.granted),
    }


def list_lines(extensions: Sequence[InstalledExtension]) -> list[str]:
    rows = [("name", "state", "kind", "version", "pinned", "source")]
    for one in extensions:
        installation = one.record.installation
        kind = _KINDS[one.kind] if one.kind else "-"
        version = installation.version or _pin(installation) or "-" if installation else "-"
        source, since = (installation.source, installation.since) if installation else ("-", "")
        rows.append((one.name, _state(one), kind, version, since.partition(" ")[0] or "-", source))
    return list(aligned(rows, left=6))


def preview_lines(prepared: PreparedExtension) -> list[str]:
    candidate, installation = prepared.candidate, prepared.installation
    version = f" {candidate.version}" if candidate.version else ""
    pin = f", {_pin(installation)}" if _pin(installation) else ""
    lines = [f"{prepared.name}{version}: {_KINDS[candidate.kind]} extension from {installation.source}{pin}"]
    lines += [f"  {file} sha256:{sha256}" for file, sha256 in installation.wheels.items()]
    if candidate.permissions is None:
        lines.append("  runs inside kaa with your rights; the sandbox does not confine it")
    else:
        lines.append(f"  asks for: {'; '.join(candidate.permissions.sentences) or 'no permissions'}")
    if prepared.left is not None:
        lines.append(
            f"  can read what another extension of this name left in {prepared.left}: remove that first if it must not"
        )
    if prepared.replaces is None:
        names = [name for name in candidate.files if name != "."]
        lines += [f"  {len(names)} files: {listed(names, _MAX_NAMES)}"] if names else []
    return lines


def change_lines(prepared: PreparedExtension, difference: Difference, *, with_diff: bool) -> list[str]:
    """What a new version changes."""
    previous = prepared.previous.installation
    version = f" {previous.version or _pin(previous)}" if previous else ""
    lines = [f"  replaces {prepared.name}{version}"]
    wanted, had = prepared.candidate.permissions, prepared.previous.granted or Permissions()
    if wanted is not None:
        lines += [f"  new permission: {phrase}" for phrase in wanted.beyond(had).sentences]
        lines += [f"  no longer asks for: {phrase}" for phrase in had.beyond(wanted).sentences]
    for word, names in (("added", difference.added), ("removed", difference.removed), ("changed", difference.changed)):
        lines += [f"  {word}: {listed(names, _MAX_NAMES)}"] if names else []
    if not (difference.added or difference.removed or difference.changed):
        lines.append("  the files are the same")
    return [*lines, *(difference.diff.split("\n") if with_diff and difference.diff else [])]


def _state(extension: InstalledExtension) -> str:
    if extension.path is None:
        return "missing"
    return "enabled" if extension.record.enabled else "disabled"


def _pin(installation: Installation) -> str:
    return f"commit {installation.commit[:_HASH_CHARACTERS]}" if installation.commit else ""
