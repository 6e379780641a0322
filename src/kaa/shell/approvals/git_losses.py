"""Commands of git that throw away changes, or commits that others or only this repository have."""

import posixpath
from collections.abc import Sequence

from kaa.shell.approvals.losses import Loss, LossKind, listed


def git_loss(rest: Sequence[str | None]) -> Loss | None:
    """What git would throw away. `rest`: its words from the subcommand on."""
    subcommand, words = (rest[0] if rest else None), rest[1:]
    options = {word.partition("=")[0] for word in words if word is not None and word.startswith("-")}
    letters = {letter for option in options if not option.startswith("--") for letter in option[1:]}
    operands = [word for word in words if word is None or not word.startswith("-")]
    match subcommand:
        case "checkout" | "switch" if "f" in letters or options & {"--force", "--discard-changes"}:
            return Loss("discards uncommitted changes", "changes")
        case "checkout":
            return _checkout_loss(words, operands, letters)
        case "restore" if not (options & {"--staged", "-S"}) or options & {"--worktree", "-W"}:
            return _overwritten(operands)
        case "push":
            return _push_loss(operands, options, letters)
        case "branch" if "D" in letters or {"d", "f"} <= letters or {"--delete", "--force"} <= options:
            return Loss(f"deletes {listed(operands)}, also commits that are on no other branch", "repository")
        case "update-ref" if "d" in letters:
            return Loss(f"deletes {listed(operands[:1])}", "repository")
        case "worktree" if operands[:1] == ["remove"] and ("f" in letters or "--force" in options):
            return Loss("deletes a worktree with its changes")
        case "submodule" if operands[:1] == ["deinit"] and ("f" in letters or "--force" in options):
            return Loss("deletes the files of submodules with their changes")
        case _:
            return _always_lost(subcommand, operands, options, letters)


def _always_lost(
    subcommand: str | None, operands: Sequence[str | None], options: set[str], letters: set[str]
) -> Loss | None:
    match subcommand, operands[:1]:
        case "reset", _ if options & {"--hard", "--merge"}:
            return Loss("discards all uncommitted changes", "changes")
        case "clean", _ if "n" not in letters and "--dry-run" not in options:
            kind: LossKind = "repository" if letters & {"x", "X", "e"} or "--exclude" in options else "untracked"
            return Loss("deletes files that git does not track", kind)
        case "stash", ["drop" | "clear"]:
            return Loss("deletes stashed changes", "repository")
        case "reflog", ["expire" | "delete"]:
            return Loss("deletes the record that lost commits are found by", "repository")
        case (("filter-branch" | "filter-repo"), _):
            return Loss("rewrites the whole history", "repository")
        case "gc", _ if "--prune" in options:
            return Loss("deletes commits that no branch contains", "repository")
    return None


def _checkout_loss(words: Sequence[str | None], operands: Sequence[str | None], letters: set[str]) -> Loss | None:
    if "--" in words:
        return _overwritten(words[words.index("--") + 1 :])
    if letters & {"b", "B"} or not operands:
        return None
    # One operand is a branch or a path, the second of several is a path.
    return _overwritten(operands[1:] or operands)


def _overwritten(paths: Sequence[str | None]) -> Loss:
    known = tuple(posixpath.normpath(path) for path in paths if path is not None)
    everything = len(known) < len(paths) or any(path in (".", "/") or path.startswith((":", "..")) for path in known)
    return Loss(f"discards uncommitted changes in {listed(paths)}", "changes", () if everything else known)


def _push_loss(operands: Sequence[str | None], options: set[str], letters: set[str]) -> Loss | None:
    if any(option.startswith("--force") for option in options) or "f" in letters or "--mirror" in options:
        return Loss("overwrites what others see on the remote", "remote")
    if options & {"--delete", "--prune"} or "d" in letters:
        return Loss(f"deletes {listed(operands[1:])} on the remote", "remote")
    if any(word is not None and word.startswith("+") for word in operands[1:]):
        return Loss("overwrites what others see on the remote", "remote")
    if any(word is not None and word.startswith(":") for word in operands[1:]):
        return Loss(f"deletes {listed(operands[1:])} on the remote", "remote")
    return None
