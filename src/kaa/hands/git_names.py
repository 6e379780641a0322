"""Which names git uses as data in a git directory: whatever else is there may direct git, or another program.

Many tools obey files in `.git` (`.git/safe`, `.git/lazygit.yml`), and git itself obeys more than its manuals list; so
what is not known to be data is not.
"""

import re
from collections.abc import Sequence

from kaa.hands.lazy_pattern import LazyPattern
from kaa.hands.protected import may_be_guarded

_HEADS = r"HEAD|[A-Z_]+_HEAD"
_MESSAGES = r"(?:COMMIT|TAG|MERGE|NOTES|PULLREQ)_EDITMSG|EDIT_DESCRIPTION|MERGE_MSG|MERGE_MODE|SQUASH_MSG|GITGUI_\w+"
_BISECT = r"BISECT_[A-Z_]+"
_FILES = (
    r"description|packed-refs|shallow|gc\.log|gc\.pid|locked|gitdir|rebased-patches|AUTO_MERGE|MERGE_AUTOSTASH"
    r"|NOTES_MERGE_\w+|ADD_EDIT\.patch|addp-hunk-edit\.diff|fsmonitor--daemon\.ipc"
)
# Any name with which a script calls a second index (GIT_INDEX_FILE): git asks for it only then, and nothing else does.
_INDEX = r"index[\w.-]*|[\w-]+[._-]index|next-index-\d+|sharedindex[._][\w-]+"
_DIRECTORIES = (
    r"objects|refs|reftable|logs|info|modules|worktrees|lost-found|rebase-merge|rebase-apply|sequencer|hooks|branches"
    r"|remotes|lfs|annex|fsmonitor--daemon|subtree-cache|filter-repo"
)
_OBEYED = r"config|config\.worktree|commondir"  # judged by what is in them
# Git writes a file under such a name first, and so do sed -i, perl -i and editors; for `tXXXXXX`, see `is_trial`. What
# kaa moved away obeys nobody.
_TRIAL = r"t[A-Za-z0-9]{6}"
_TEMPORARY = (
    rf"(?:packed-refs|config|config\.worktree|\w[\w-]*)\.(?:lock|new)|shallow_\w+|sed\w{{6}}|{_TRIAL}"
    r"|\.[\w-]+\.sw[a-z]|[\w-]+~|4913|.*\.kaa-blocked(?:-[0-9a-f]+)?(?:\.lock)?"
)
# What git itself, or a program for large files, writes at any time; and what is guarded by its name.
_WRITTEN = LazyPattern(
    rf"(?:{_HEADS}|{_MESSAGES}|{_BISECT}|{_FILES}|{_OBEYED}|index|sharedindex[._][\w-]+|{_DIRECTORIES}|rr-cache|MERGE_RR)"
    r"(?:\.lock)?"
)
_KNOWN = LazyPattern(
    rf"(?:{_HEADS}|{_MESSAGES}|{_BISECT}|{_FILES}|{_INDEX}|{_DIRECTORIES}|{_OBEYED})(?:\.lock)?|{_TEMPORARY}", re.DOTALL
)
# Besides those that have a judge in `git_state`.
_STATE = LazyPattern(
    r"git-rebase-todo\.backup|done|message(?:-squash|-fixup)?|current-fixups|amend|stopped-sha|refs-to-delete"
    r"|rewritten(?:-list|-pending|-todo)?|cdate_is_adate|ignore_date|orig-head|verbose|quiet|signoff|head-name|onto"
    r"|allow_rerere_autoupdate|(?:no-)?reschedule-failed-exec|(?:drop|keep)_redundant_commits|squash-onto|update-refs"
    r"|end|msgnum|interactive|patch|dropped|trailer|next|last|applying|rebasing|threeway|keep|messageid|scissors"
    r"|quoted-cr|sign|utf8|no_inbody|final-commit|\d+|patch-merge-index|msg|msg-clean|info|dirtyindex|original-commit"
    r"|abort-safety|resolvemsg|keepcr|no-verify|(?:keep|drop|stop)_?empty|head"
)
# Those that are obeyed as soon as there is something under them: git-daemon(1), and a `.git/safe/../../bin` in PATH.
_SWITCHES = frozenset(("git-daemon-export-ok", "safe"))
_INFO = LazyPattern(r"(?:attributes|exclude|grafts|refs|sparse-checkout)(?:[._]\w+)?")
_STATE_TEMPORARY = LazyPattern(rf"{_TEMPORARY}|[\w.-]+\.lock|(?=.*[A-Z0-9])\w{{8}}", re.DOTALL)


def is_data(name: str) -> bool:
    """Whether a name in a git directory is one of git's own that directs nothing, or is judged by its content."""
    return _KNOWN.fullmatch(name) is not None


def is_marker(name: str) -> bool:
    """Whether an empty file of this name in a git directory directs nobody, as far as anybody knows.

    Programs mark there what they have done once. Git reads no such name, in whatever case, and other programs read
    files of their own: names with a dot first, those that are protected everywhere, and those that are a switch.
    """
    if name.startswith(".") or name.casefold() in _SWITCHES or may_be_guarded(name.casefold()):
        return False
    cases = (name.lower(), name.upper())
    return not any(pattern.fullmatch(one) for pattern in (_KNOWN, _WRITTEN) for one in cases)


def is_written_by_git(names: Sequence[str]) -> bool:
    """Whether git writes what is at a path in a git directory, below no `modules` or `worktrees`, or it is guarded."""
    first, *rest = names
    if first == "info" and rest:
        return len(rest) == 1 and _INFO.fullmatch(rest[0]) is not None
    return _WRITTEN.fullmatch(first) is not None


def is_trial(name: str, target: str) -> bool:
    """Whether a link is the one with which `git init` and `git clone` find out for a moment whether there are links."""
    return target == "testing" and re.fullmatch(_TRIAL, name) is not None


def is_info(name: str) -> bool:
    """The same in `info`."""
    return (_INFO.fullmatch(name) or re.fullmatch(_TEMPORARY, name, re.DOTALL)) is not None


def is_state(name: str) -> bool:
    """The same in the directories of a rebase, `git am` and a series of cherry-picks."""
    return (_STATE.fullmatch(name) or _STATE_TEMPORARY.fullmatch(name)) is not None
