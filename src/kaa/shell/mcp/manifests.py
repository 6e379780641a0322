"""Manifests of servers on the disk, so that their tools are known without starting them."""

import hashlib
import time
from pathlib import Path

import msgspec

from kaa import __version__
from kaa.host.log import LOG
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.mcp.manifest import ServerManifest
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer

_MAX_BYTES = 4 * 1024 * 1024
# A server writes its manifest whenever it starts. One that does not for so long is mostly configured nowhere any more.
_KEPT_SECONDS = 90 * 86_400


class ServerManifests:
    """The manifests of all servers: a file for the current configuration and version of kaa, in the cache."""

    def __init__(self, home: Home) -> None:
        self._folder = home.cache / "mcp"

    def read(self, server: ConfiguredServer) -> ServerManifest | None:
        """What the server offered when it was last listed; None if that is not known."""
        try:
            content = self._file(server).read()
            return None if content is None else msgspec.json.decode(content, type=ServerManifest)
        except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError) as error:
            LOG.info("mcp: the manifest of %s is not used: %s", server.name, error)
            return None

    def write(self, server: ConfiguredServer, manifest: ServerManifest) -> None:
        """Keep what a server offers. One that cannot be kept is learned again."""
        content = msgspec.json.encode(manifest)
        if len(content) > _MAX_BYTES:
            LOG.info("mcp: the manifest of %s is too large to keep", server.name)
            return
        file = self._file(server)
        try:
            with file.rewriting():
                file.replace(content)
        except PrivateFileError as error:
            LOG.info("mcp: the manifest of %s is not kept: %s", server.name, error)
        self._sweep(_prefix(server.source.file, server.name), self._path(server))

    def forget(self, file: Path, name: str) -> None:
        """Delete the manifest of a server that was removed."""
        self._sweep(_prefix(str(file), name))

    def _sweep(self, prefix: str, kept: Path | None = None) -> None:
        """Delete the other manifests of a server, and those of any server that has not started for long."""
        oldest = time.time() - _KEPT_SECONDS
        try:
            for path in self._folder.glob("*.json"):
                if path != kept and (path.name.startswith(prefix) or path.lstat().st_mtime < oldest):
                    path.unlink(missing_ok=True)
        except OSError as error:  # the next one tries again
            LOG.info("mcp: old manifests are not deleted: %s", error)

    def _file(self, server: ConfiguredServer) -> PrivateFile:
        return PrivateFile(self._path(server))

    def _path(self, server: ConfiguredServer) -> Path:
        return (
            self._folder / f"{_prefix(server.source.file, server.name)}{_hash(f'{__version__} {server.digest}')}.json"
        )


def _prefix(file: str, name: str) -> str:
    """What the names of a server's files begin with, whatever its configuration."""
    return f"{_hash(f'{name} {file}')}-"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
