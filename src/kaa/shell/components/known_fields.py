"""The fields of files that were read before: reading YAML is slow, and most files are the same at each start."""

from pathlib import Path

import msgspec

from kaa.components.frontmatter import FrontmatterFields, fields_in
from kaa.host.log import LOG
from kaa.host.private_file import PrivateFile, PrivateFileError

# What is not used any more goes when there is more than this.
_MOST_KEPT = 4_000


class KnownFields:
    """Reads fields: `kaa.components.frontmatter.ReadFields`.

    Args:
        folder: where results are kept; the cache, which may be removed at any time.
    """

    def __init__(self, folder: Path) -> None:
        self._file = PrivateFile(folder / "component-fields.msgpack")
        self._kept: dict[bytes, FrontmatterFields] | None = None
        self._used: dict[bytes, FrontmatterFields] = {}
        self._has_new = False

    def __call__(self, head: str) -> FrontmatterFields:
        import hashlib  # lazy: most users have no such files

        key = hashlib.sha256(head.encode("utf-8", "surrogatepass")).digest()
        if self._kept is None:
            self._kept = self._read()
        if (fields := self._kept.get(key)) is None:
            fields, self._has_new = fields_in(head), True
        self._used[key] = fields
        return fields

    def keep(self) -> None:
        """Write what is new. A failure costs time at the next start, and no more."""
        if not self._has_new:
            return
        self._has_new = False
        before = self._kept or {}
        everything = {**before, **self._used} if len(before) + len(self._used) <= _MOST_KEPT else self._used
        try:
            with self._file.rewriting():
                self._file.replace(msgspec.msgpack.encode(everything))
        except PrivateFileError as error:
            LOG.info("components: the fields of files are not kept: %s", error)

    def _read(self) -> dict[bytes, FrontmatterFields]:
        try:
            return msgspec.msgpack.decode(self._file.read() or b"\x80", type=dict[bytes, FrontmatterFields])
        except (PrivateFileError, msgspec.DecodeError) as error:
            LOG.info("components: the fields of files are read again: %s", error)
            return {}
