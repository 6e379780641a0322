"""Writes choices back into settings.json: only what was chosen changes, the user's comments and order stay."""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kaa.core.messages import Json
from kaa.host import regular_files
from kaa.host.regular_files import read_regular
from kaa.llm.jsonc import JsoncError
from kaa.shell.settings import SettingsError

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_MARK_BYTES = 8  # of the names of files that are still written


class SettingsFile:
    """A settings file of the user's. It may be a symbolic link, as people who keep such files elsewhere have it.

    Args:
        path: the file; neither it nor its folder need exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, changes: Mapping[str, Json]) -> None:
        """Change values and nothing else; all of it or, if anything fails, none. Waits for the disk.

        Args:
            changes: new values by name. Objects are merged into those of the file.

        Raises:
            SettingsError: the file is not a JSON object, so it was not touched, or it cannot be read or written.
        """
        from kaa.shell.jsonc_splice import splice  # lazy: most conversations change no setting

        self._edit(lambda text: splice(text, changes))

    def remove(self, path: Sequence[str]) -> None:
        """Remove one value and nothing else. Waits for the disk.

        Raises:
            KeyError: there is no such value.
            SettingsError: as for `set`.
        """
        from kaa.shell.jsonc_splice import without  # lazy: see above

        self._edit(lambda text: without(text, path))

    def _edit(self, edit: Callable[[str], str]) -> None:
        try:
            target = Path(os.path.realpath(self.path))
            target.parent.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
            with _locked(target.parent):
                _clear_away(target)
                from kaa.host.linked_settings import note_written, unseen  # lazy, as `splice`

                content = _content(target)
                if (changed := unseen(str(self.path), content)) is not None:
                    raise SettingsError(changed.refusal)
                edited = self._edited(content, edit)
                _replace(target, edited)
                note_written(str(self.path), edited)
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be changed: {error.strerror}") from error

    def _edited(self, content: bytes, edit: Callable[[str], str]) -> bytes:
        try:
            text = content.decode()
            return edit(text if text.strip() else "{}\n").encode()
        except (JsoncError, UnicodeDecodeError, ValueError) as error:
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
            raise SettingsError(f"{self.path} was not changed, because it has a mistake: {reason}") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other kaas from changing what is in a folder; afterwards the disk has what was done."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        regular_files.lock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear_away(file: Path) -> None:
    """Remove what kaa left beside a file when it was killed while writing. Nobody else writes now."""
    import glob  # lazy, as `splice`

    for left in file.parent.glob(f".{glob.escape(file.name)}.{'[0-9a-f]' * 2 * _MARK_BYTES}"):
        with suppress(OSError):
            left.unlink()


def _content(file: Path) -> bytes:
    try:
        return read_regular(file)
    except FileNotFoundError:
        return b""


def _replace(file: Path, content: bytes) -> None:
    """Make `content` the file's at once; its mode stays."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        mode = _PRIVATE_FILE
    temporary = file.with_name(f".{file.name}.{os.urandom(_MARK_BYTES).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
    try:
        with open(descriptor, "wb") as output:
            os.fchmod(descriptor, mode)
            output.write(content)
            output.flush()
            os.fsync(descriptor)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
