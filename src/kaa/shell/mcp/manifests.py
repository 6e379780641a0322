"""Manifests of servers on the disk, so that their tools are known without starting them."""

import hashlib

import msgspec

from kaa import __version__
from kaa.host.log import LOG
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.mcp.manifest import Manifest
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer

_MAX_BYTES = 4 * 1024 * 1024


class Manifests:
    """The manifests of all servers: a file for each configuration and version of kaa, in the cache.

    Args:
        home: the user's folder.
    """

    def __init__(self, home: Home) -> None:
        self._folder = home.cache / "mcp"

    def read(self, server: ConfiguredServer) -> Manifest | None:
        """What the server offered when it was last listed; None if that is not known."""
        try:
            content = self._file(server).read()
            return None if content is None else msgspec.json.decode(content, type=Manifest)
        except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError) as error:
            LOG.info("mcp: the manifest of %s is not used: %s", server.name, error)
            return None

    def write(self, server: ConfiguredServer, manifest: Manifest) -> None:
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

    def _file(self, server: ConfiguredServer) -> PrivateFile:
        key = f"{__version__} {server.source.file} {server.name} {server.digest}"
        return PrivateFile(self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json")
