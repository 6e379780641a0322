"""Copies between this machine and others of which kaa cannot see the files: whole directories, and names of others.

From elsewhere they can bring files that other programs execute, such as `.envrc`; to elsewhere, clients that follow
links take what a command of the model linked to.
"""

import os
import re
from collections.abc import Sequence

from kaa.shell.approvals.places import absolute

_REMOTE = re.compile(r"[^/:]+:.*")
_GLOB = re.compile(r"[*?\[{]")
_RECURSIVE = {"gsutil": re.compile("-[a-zA-Z]*[rR]"), "rsync": re.compile("-[a-zA-Z]*[ar]|--archive")}
_RECURSIVE_SCP = re.compile("-[a-zA-Z0-9]*r")
# Subcommands that write files whose names are in what they download.
_UNPACKING = {"gh": ({"run", "download"},), "glab": ({"ci", "artifact"}, {"job", "artifact"}, {"release", "download"})}
_TO_FILE = re.compile("-O.*|--output(?:=.*)?")
# Of `aws s3`, options without a value in the next word (AWS CLI 2).
_FLAGS_OF_AWS = frozenset(
    """
    --checksum --debug --delete --dryrun --exact-timestamps --follow-symlinks --force-glacier-transfer
    --ignore-glacier-warnings --no-follow-symlinks --no-guess-mime-type --no-overwrite --no-progress --no-sign-request
    --no-verify-ssl --only-show-errors --quiet --recursive --size-only
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
_KEEPING_LINKS = frozenset({"git", "rsync", "ssh"})  # rsync: `leaving` knows no option with which it follows links
_VALUE = re.compile("[=@#]")
_MOST_ENTRIES = 4096  # looked at in some milliseconds
_SYSTEM = "/usr/"  # what a `.venv` links to, and nothing of the user's


def objection_to_transfer(name: str, words: Sequence[str], root: str) -> str | None:
    """Return why kaa cannot see which files a client would write or send, a sentence; None if it can."""
    if _writes_unseen(name, words):
        return "kaa cannot see which files it would write, and whether other programs execute them"
    if name in _KEEPING_LINKS or (name == "scp" and not any(map(_RECURSIVE_SCP.fullmatch, words))):
        return None
    texts = dict.fromkeys(text for word in words for text in (word, *_VALUE.split(word)))
    directories = filter(os.path.isdir, (absolute(text, root) for text in texts))
    inside = (path for path in directories if f"{path}/".startswith(f"{root.rstrip('/')}/"))
    return next(filter(None, (_link_out_of(path, root) for path in inside)), None)


def _writes_unseen(name: str, words: Sequence[str]) -> bool:
    """Whether a client writes files here whose names the command does not say."""
    operands = [word for word in words if not word.startswith("-")]
    if name == "aws":
        is_recursive = "sync" in operands or ("cp" in operands and "--recursive" in words)
        return "s3" in operands and is_recursive and not _is_sent_by_aws(words)
    if name in _UNPACKING:
        is_named = any(map(_TO_FILE.fullmatch, words))
        unpacks = any(kind.issubset(operands[:4]) for kind in _UNPACKING[name])
        return unpacks or ({"release", "download"}.issubset(operands[:4]) and not is_named)
    if name not in {"gsutil", "rsync", "scp"} or not operands or _REMOTE.fullmatch(operands[-1]):
        return False
    remote = [word for word in operands if _REMOTE.fullmatch(word)]
    recursive = _RECURSIVE.get(name, _RECURSIVE_SCP)
    is_recursive = any(map(recursive.match, words)) or (name == "gsutil" and "rsync" in operands)
    return bool(remote) and (is_recursive or any(map(_GLOB.search, remote)))


def _is_sent_by_aws(words: Sequence[str]) -> bool:
    """Whether `aws s3` copies to a bucket, as far as kaa can tell paths from values of options."""
    paths, is_value = [], False
    for word in words:
        if is_value or word.startswith("-"):
            is_value = not is_value and "=" not in word and word not in _FLAGS_OF_AWS
        else:
            paths.append(word)
    return len(paths) == 4 and paths[0] == "s3" and paths[3].startswith("s3://")


def _link_out_of(directory: str, root: str) -> str | None:
    """Which link below a directory leads out of the project or to another part of it, in a sentence."""
    base, inside = os.path.realpath(directory), os.path.realpath(root)
    looked_at = 0
    for folder, names, files in os.walk(directory):
        looked_at += len(names) + len(files)
        if looked_at > _MOST_ENTRIES:
            return f"{directory} has too many files to look for links that lead out of the project"
        for path in (os.path.join(folder, name) for name in (*names, *files)):
            if not os.path.islink(path):
                continue
            target = os.path.realpath(path)
            if target.startswith(_SYSTEM) or f"{target}/".startswith(f"{base}/"):
                continue
            if not f"{target}/".startswith(f"{inside}/") or os.path.isdir(target):
                return f"the link {path} leads to {target}, which would be sent"
    return None
