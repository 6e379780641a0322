"""The process that decodes one image: `__main__.py TYPE PATH…`, with the image on standard input.

The result is a line of JSON, then the image. Pillow is imported before any right is given up; the image is read
afterwards.
"""

import json
import resource
import signal
import sys
from contextlib import suppress

_MEMORY_BYTES = 640 * 1024**2  # what the largest image takes, and as much again with Pillow and its libraries
_CPU_SECONDS = 20


def main() -> None:
    """Decode."""
    mime_type, sys.path[:] = sys.argv[1], sys.argv[2:]
    from kaa.builtin.decoding.pictures import PictureError, fitted, load_format  # now that it can be found

    load_format(mime_type)
    unconfined = _confine()
    data = sys.stdin.buffer.read()
    try:
        picture = fitted(data, mime_type)
    except PictureError as error:
        _answer({"error": str(error), "unconfined": unconfined}, b"")
        return
    sizes = {"size": picture.size, "original_size": picture.original_size}
    header = {"mime_type": picture.mime_type, "unconfined": unconfined, **sizes}
    unchanged = picture.data is data
    _answer({**header, "unchanged": unchanged}, b"" if unchanged else picture.data)


def _answer(header: dict[str, object], data: bytes) -> None:
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + data)
    sys.stdout.buffer.flush()


def _confine() -> str:
    """No file, no network, no other process; little memory and time. What the machine cannot hold is left out.

    Returns:
        Why only the limits hold; empty if everything does.
    """
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    for limit, most in (
        (resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES)),
        (resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 1)),  # the first is SIGXCPU, which says what happened
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_CORE, (0, 0)),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, most)
    if sys.platform != "linux":
        return f"{sys.platform} has neither seccomp nor Landlock"
    from kaa.hands.confinement import kernel, landlock
    from kaa.hands.confinement.contract import ConfinementError
    from kaa.hands.confinement.landlock import Ruleset
    from kaa.hands.confinement.restrictions import Restrictions, make_filter

    try:
        program = make_filter((), others_visible=True, ipc_shared=True, ptrace=True)
        version = landlock.abi()
        scopes = landlock.SCOPE_SIGNAL | landlock.SCOPE_ABSTRACT_UNIX
        ruleset = Ruleset(version, network=False, scopes=scopes) if version else None  # it allows nothing
        kernel.forbid_new_privileges()
        Restrictions(program, ruleset, limit_processes=False).impose()
    except (ConfinementError, OSError) as error:
        return str(error)
    return "" if version else "this kernel has no Landlock"


main()
