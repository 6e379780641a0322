"""Caches of the user seen through those of the project: overlays, whose writes reach only the project's.

Commands of an earlier session wrote the project's directory: no link in it is followed.
"""

import contextlib
import os
from collections.abc import Iterator

from kaa.hands.confinement import mounts
from kaa.hands.confinement.layout import Layout
from kaa.hands.policy import Policy

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def share_caches(policy: Policy, layout: Layout) -> str:
    """Mount what can be shared, before the view is built. Only for a mount namespace of our own.

    Returns:
        What commands see of the user's caches, for people.
    """
    obstacle = ""
    shared = 0
    for folder, path in layout.shared:
        try:
            _share(policy, folder, path)
        except OSError as error:
            obstacle = obstacle or f"{path}: {error.strerror or error}"
        else:
            shared += 1
    if obstacle:
        return f"{shared} of {len(layout.shared)} shared ({obstacle})"
    return f"{shared} shared, read-only"


def _share(policy: Policy, folder: str, path: str) -> None:
    opened: list[int] = []
    try:
        opened.append(os.open(path, _DIRECTORY))
        opened += _made(policy.cache, folder)
        upper = opened[-1]
        opened += _made(policy.work, os.urandom(8).hex())
        mounts.overlay(opened[0], upper, opened[-1])
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _made(top: str, path: str) -> Iterator[int]:
    """Descriptors of the directories on the way, from the top; those that are missing are made."""
    descriptor = os.open(top, _DIRECTORY)
    yield descriptor
    for name in path.split("/"):
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=descriptor)
        descriptor = os.open(name, _DIRECTORY, dir_fd=descriptor)
        yield descriptor
