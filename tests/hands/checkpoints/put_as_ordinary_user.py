"""Puts modes of directories, and files, back as somebody who is not root, whatever the test runs as."""

import json
import os
import stat
import sys

from kaa.hands.checkpoints.putting import Putter
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.states import State, digest_of

_NOBODY = 65534


def main(root: str) -> None:
    """Put each name in `root`, a mode, back with it; files get a new content."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    putter = Putter(Roots([root]), "test")
    results: dict[str, str | None] = {}
    for name in sorted(os.listdir(root)):
        now = stat.S_IMODE(os.stat(f"{root}/{name}").st_mode)
        try:
            if os.path.isdir(f"{root}/{name}"):
                states = State("directory", mode=now), State("directory", mode=int(name, 8))
            else:
                states = State("file", digest_of(b"old\n"), now), State("file", digest_of(b"new\n"), int(name, 8))
            results[name] = putter.put(name, *states, b"new\n")
        except OSError as error:
            results[name] = error.strerror
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
