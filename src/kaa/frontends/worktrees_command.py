"""`kaa worktrees`, and `kaa --worktree`: work in a copy of the project, and take over what was done there."""

import argparse
import asyncio
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import TextIO, TypeVar

from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.shell.trust.configuration import TrustError
from kaa.shell.worktrees.registry import Worktree, WorktreeError
from kaa.shell.worktrees.working import STAT, Worktrees, readable, shortened, users_of
from kaa.tui.sanitize import sanitize
from kaa.workspace.blocked import visible

ResultT = TypeVar("ResultT")

_FAILURES = (WorktreeError, TrustError, OSError)


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa worktrees`. Returns the exit code."""
    description = "Look after the worktrees of this project, which `kaa --worktree` creates."
    return run_subcommand("worktrees", description, SUBCOMMANDS, _FAILURES, arguments, directory)


def enter(name: str, directory: str) -> tuple[str, str] | int:
    """The name and the directory of the worktree in which `kaa --worktree` works, or the exit code if it cannot.

    Args:
        name: of the worktree; empty for a new one.
    """
    try:
        worktrees = Worktrees(directory, Home.of(os.environ), os.environ)
        worktree, is_new, left_out = asyncio.run(worktrees.enter(name))
        inside = worktrees.directory_in(worktree)
    except (*_FAILURES, SettingsError) as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    what = "new worktree" if is_new else "worktree"
    told = f"kaa: {what} {worktree.name} in {worktree.directory}; `kaa worktrees merge {worktree.name}` takes it over\n"
    told += "".join(f"kaa: not in the worktree: {one}\n" for one in left_out)
    deliver(sys.stderr, sanitize(told))
    return worktree.name, inside


def _list(parsed: argparse.Namespace, home: Home) -> int:
    worktrees = _worktrees(parsed, home)
    if not (found := worktrees.registry.all()):
        _print("no worktrees of this project; `kaa --worktree NAME` creates one")
    for worktree in found:
        _print(f"{worktree.name}  {_state(worktrees, worktree)}\n    {worktree.directory}")
    return ExitCode.DONE


def _state(worktrees: Worktrees, worktree: Worktree) -> str:
    if worktrees.registry.is_interrupted(worktree):
        return (
            f"not whole, kaa was killed while creating or removing it: `kaa worktrees drop {worktree.name}` removes it"
        )
    if not worktree.is_whole:
        return "another kaa is creating it"
    if not worktree.exists:
        return "missing: its directory is gone"
    facts = [f"since {worktree.created[:16].replace('T', ' ')} UTC"]
    try:
        standing = _run(worktrees.standing(worktree))
        facts.append(standing.summary or "no changes")
        if standing.summary and standing.is_merged:
            facts.append("merged")
        if standing.left_out:
            facts.append(f"git ignores or cannot add {shortened(standing.left_out)}")
        if standing.only_in_commits:
            facts.append(f"only in commits of its branch: {shortened(standing.only_in_commits)}")
    except WorktreeError as error:
        facts.append(f"cannot be compared: {' '.join(str(error).split())}")
    if users := users_of(worktree.directory):
        facts.append(f"open in process {', '.join(map(str, users))}")
    return "; ".join(facts)


def _diff(parsed: argparse.Namespace, home: Home) -> int:
    worktrees, worktree = _named(parsed, home)
    if parsed.stat or sys.stdout.isatty():
        _print(readable(_run(worktrees.difference(worktree, *([STAT] if parsed.stat else [])))))
        _name_committed(worktree, _run(worktrees.only_in_commits(worktree)))
        return ExitCode.DONE
    deliver(sys.stdout.buffer, _run(worktrees.patch(worktree)))
    _name_committed(worktree, _run(worktrees.only_in_commits(worktree)), sys.stderr)
    return ExitCode.DONE


def _merge(parsed: argparse.Namespace, home: Home) -> int:
    worktrees, worktree = _named(parsed, home)
    merge = _run(worktrees.foresee(worktree, undo=parsed.undo))
    if merge.left_out:
        _print(f"not merged, git ignores or cannot add it: {shortened(merge.left_out)}")
    if not parsed.undo:
        _name_committed(worktree, _run(worktrees.only_in_commits(worktree)))
    if merge.is_done and not merge.conflicts:
        _print("there is nothing to merge" if not parsed.undo else "there is nothing to take back")
        return ExitCode.DONE
    if not merge.conflicts:  # else it counts the marks of conflicts, too
        _print(merge.summary)
    if parsed.dry_run:
        if merge.conflicts:
            _print(f"changed here and in the worktree: {', '.join(map(visible, merge.conflicts))}")
        if merge.obstacles:
            _print(f"git ignores or cannot read what this would replace: {shortened(merge.obstacles)}")
        return ExitCode.FAILED if merge.conflicts or merge.obstacles else ExitCode.DONE
    if not merge.conflicts and not merge.obstacles and not parsed.yes and not _agrees(parsed.undo):
        return ExitCode.DENIED
    _run(worktrees.merge(worktree, merge, undo=parsed.undo))
    again = "" if parsed.undo else f"; `kaa worktrees merge --undo {worktree.name}` takes that back"
    _print(f"{'taken back' if parsed.undo else 'merged'}: nothing is committed{again}")
    return ExitCode.DONE


def _name_committed(worktree: Worktree, paths: Sequence[str], stream: TextIO | None = None) -> None:
    if paths:
        branch, (differ, them) = worktree.branch, ("differs", "that") if len(paths) == 1 else ("differ", "these")
        _print(
            f"{shortened(paths)} {differ} in the commits of {branch}: `git merge {branch}` would bring {them},"
            f" `kaa worktrees merge` does not. `git diff {worktree.start[:12]} {branch}` shows it",
            stream,
        )


def _drop(parsed: argparse.Namespace, home: Home) -> int:
    worktrees, worktree = _named(parsed, home)
    stays = _run(worktrees.drop(worktree, force=parsed.force))
    _print(f"dropped {worktree.name}" + (f"; {stays}" if stays else ""))
    return ExitCode.DONE


def _agrees(undo: bool) -> bool:
    """Whether the person wants it.

    Raises:
        WorktreeError: nobody can be asked.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise WorktreeError("nobody can be asked here: add --yes to do it")
    sys.stdout.write(f"{'Take this back' if undo else 'Merge this into the project'}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _worktrees(parsed: argparse.Namespace, home: Home) -> Worktrees:
    return Worktrees(parsed.directory, home, os.environ)


def _named(parsed: argparse.Namespace, home: Home) -> tuple[Worktrees, Worktree]:
    worktrees = _worktrees(parsed, home)
    worktree = worktrees.registry.find(parsed.name)
    if parsed.command != "drop" and not worktree.is_whole:
        raise WorktreeError(f"worktree {worktree.name}: {_state(worktrees, worktree)}")
    if parsed.command != "drop" and not worktree.exists:
        raise WorktreeError(
            f"the directory {worktree.directory} is gone: `kaa worktrees drop {worktree.name}` forgets it"
        )
    return worktrees, worktree


def _run(work: Coroutine[object, object, ResultT]) -> ResultT:
    return asyncio.run(work)


def _print(text: str, stream: TextIO | None = None) -> None:
    deliver(stream or sys.stdout, sanitize(f"{text}\n"))


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the worktree")


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stat", action="store_true", help="a line for each file")
    _name(parser)


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--undo", action="store_true", help="take back the last merge of this worktree")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    _name(parser)


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="also with changes that are not merged")
    _name(parser)


SUBCOMMANDS = {
    "list": Subcommand("list the worktrees of this project", "", lambda _parser: None, _list),
    "diff": Subcommand(
        "show what changed in one; in a pipe or a file, a patch for `git apply`", "feat", _diff_arguments, _diff
    ),
    "merge": Subcommand(
        "take what changed in one over into the project's files", "feat --dry-run", _merge_arguments, _merge
    ),
    "drop": Subcommand("remove one", "feat", _drop_arguments, _drop),
}
