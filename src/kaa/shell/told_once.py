"""Keeps what the user knows, so that a notice about a file comes once for each state of it."""

import hashlib
from collections.abc import Mapping

import msgspec

from kaa.host.log import LOG
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.shell.home import Home


class ToldOnce:
    """What was told of one subject.

    Args:
        home: has the cache, which may be removed at any time: then the user is told again.
    """

    def __init__(self, home: Home, subject: str) -> None:
        self._subject = subject
        self._file = PrivateFile(home.cache / f"{subject}.json")

    def news(self, states: Mapping[str, bytes]) -> list[str]:
        """Return the paths whose states nobody was told of, and keep that the user is told of them.

        Args:
            states: what there is to tell of, by absolute path.
        """
        hashes = {path: hashlib.sha256(data).hexdigest() for path, data in states.items()}
        try:
            known = msgspec.json.decode(self._file.read() or b"{}", type=dict[str, str])
            if news := [path for path, state in hashes.items() if known.get(path) != state]:
                with self._file.rewriting():
                    self._file.replace(msgspec.json.encode(known | hashes))
        except (PrivateFileError, msgspec.DecodeError) as error:
            LOG.info("cannot keep what the user knows (%s): %s", self._subject, error)
            return []
        return news
