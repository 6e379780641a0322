"""A session whose file is opened anew for each entry that is read, so that any number of them can be looked at."""

from pathlib import Path

from kaa.session.errors import SessionReadError
from kaa.session.export.source import SnapshotFile
from kaa.session.tree import Node


class ReopenedSession:
    """A session as it was when this was made; another process may go on writing it.

    Attributes:
        is_torn: its last line is not whole.

    Raises:
        SessionReadError: there is no such file, or it cannot be read.
        NotASessionError: it is something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with SnapshotFile.open(path) as snapshot:
            self.tree = snapshot.tree
            self.is_torn = snapshot.is_torn

    def line(self, node: Node) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(node.offset)
                return file.read(node.length)
        except OSError as error:
            raise SessionReadError(self._path, error) from error
