"""Puts modes of directories back as somebody who is not root, whatever the test runs as."""

import json
import os
import stat
import sys

from kaa.hands.checkpoints.putting import Putter
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.states import State

_NOBODY = 65534


def main(root: str) -> None:
    """Try each mode in `root`, which belongs to nobody, and to a group that nobody is not in."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    putter = Putter(Roots([root]), "test")
    results: dict[str, str | None] = {}
    for name in sorted(os.listdir(root)):
        now = stat.S_IMODE(os.stat(f"{root}/{name}").st_mode)
        try:
            putter.put(name, State("directory", mode=now), State("directory", mode=int(name, 8)), b"")
            results[name] = ""
        except OSError as error:
            results[name] = error.strerror
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
