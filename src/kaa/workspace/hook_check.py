"""Whether files of a folder of hooks are as they were. git waits for this script before each hook: it loads little."""

import hashlib
import os
import stat
import sys

_MOST_ENTRIES = 5_000  # the nearest ones of a folder of hooks
_MOST_BYTES = 1024 * 1024  # of a file; of the rest, the size counts, and when it was changed


def digest(folder: str) -> str:
    """Return a digest of what is in a folder and below it, or, of links, behind them."""
    found, directories, seen = hashlib.sha256(), [folder], 0
    for directory in directories:  # it grows
        if seen >= _MOST_ENTRIES:
            break
        for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
            seen += 1
            path = os.path.join(directory, name)
            if os.path.isdir(path) and not os.path.islink(path):
                directories.append(path)
            # A link to the same content may lead to where commands exchange it afterwards.
            found.update(os.fsencode(f"{path}\0{os.path.realpath(path)}\0{_content(path)}\0"))
    return found.hexdigest()


def _content(path: str) -> str:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return f"{status.st_mode:o}"
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read(_MOST_BYTES)).hexdigest()
        rest = (status.st_size, status.st_ctime_ns) if status.st_size > _MOST_BYTES else ()
        return f"{status.st_mode:o} {content} {rest}"
    except OSError as error:
        return str(error.errno)


def _check(folder: str, expected: str, told: str) -> int:
    if digest(folder) == expected:
        return 0
    try:
        os.close(os.open(told, os.O_CREAT | os.O_EXCL))
        sys.stderr.write(f"kaa: {folder} has changed since this command began, so git runs no hook of it\n")
    except FileExistsError:  # one command may run many hooks
        pass
    return 1


if __name__ == "__main__":
    sys.exit(_check(*sys.argv[1:]))
