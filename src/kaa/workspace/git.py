"""kaa's own questions to git, put so that nothing a repository configures is executed.

A repository's configuration can name programs for nearly everything git does; whoever fetched it as an archive has not
agreed to any of them. Asked are only commands that print facts, and everything they could execute is overridden on
their command line, which git obeys above every file. The user's and the system's own configuration stay in force:
they say which directories of other owners are safe.
"""

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from kaa.workspace.protocol import CommandRequest, CommandResult, Workspace

# The keys that make the commands below execute something, or talk to somebody. Not here, as nothing below leads to
# them: aliases (never those of git's own commands), editors, merge drivers, gpg, bisect, difftool and the like.
_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_FLAGS = ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")

# Of a filter driver (gitattributes(5)); git executes them whenever it has to look at a file's content.
_FILTER_KEYS = ("clean", "smudge", "process")
_MAX_FILTERS = 100

_ENVIRONMENT: dict[str, str | None] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Objects that a partial clone lacks stay away, also with versions of git that do not know the first of these.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PROTOCOL_FROM_USER": "0",
    "LC_ALL": "C",
    # What a hook of git that started kaa has set would lead to another repository.
    **dict.fromkeys(
        (
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_COMMON_DIR",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_NAMESPACE",
            "GIT_PREFIX",
            "GIT_CONFIG",
            "GIT_EXTERNAL_DIFF",
            "GIT_ATTR_SOURCE",
        )
    ),
}

# Facts for a status line or a warning are worth no longer wait; a named pipe as included file would never answer.
_TIMEOUT_SECONDS = 5.0
_MAX_OUTPUT_BYTES = 1024 * 1024

# Warnings would mix with the answer: of a command's output, the workspace makes one stream.
_QUIETLY = 'exec git "$@" 2>/dev/null'


_MAX_DIRECTORIES = 1000  # in one question

# In the repository of the project itself (gitrepository-layout(5)), unless it is a worktree, a submodule or detached.
_HEAD, _CONFIG = ".git/HEAD", ".git/config"
_MAX_HEAD_BYTES = 512
# Other names are left to git; `.invalid` stands where references are in no files.
_BRANCH = re.compile(rb"ref: refs/heads/(?!\.)([A-Za-z0-9._/+@#-]+)\n")


class Head(msgspec.Struct, frozen=True):
    """What is checked out. `name`: the branch, which need not have commits yet, or the hash of a detached head."""

    name: str
    detached: bool = False


class ChangedFiles(msgspec.Struct, frozen=True):
    """Files whose content or staged content is not that of the last commit, relative to the root of the repository.

    Attributes:
        paths: sorted; names are decoded as `os.fsdecode` does.
        mixed: of some, the staged content is neither that of the last commit nor that of the file.
    """

    paths: tuple[str, ...] = ()
    more: bool = False
    mixed: bool = False


class ProjectRepository:
    """The repository that a project is in, or is not."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def head(self) -> Head | None:
        """What is checked out, None if git does not know: no repository, no git, or not ours to look at.

        The name of a branch is mostly in a file; git, and all that holds it, starts for the rest.
        """
        files = await self._workspace.read_existing([_HEAD, _CONFIG], _MAX_HEAD_BYTES)
        if _CONFIG in files and (found := _BRANCH.fullmatch(files.get(_HEAD, b""))) is not None:
            return Head(found[1].decode("ascii"))
        if not files and not await self._may_be_in_repository():
            return None
        branch = await self.ask("symbolic-ref", "--quiet", "--short", "HEAD")
        if branch is not None:
            return Head(line_of(branch))
        commit = await self.ask("rev-parse", "--verify", "--quiet", "HEAD")
        return Head(line_of(commit), detached=True) if commit is not None else None

    async def _may_be_in_repository(self) -> bool:
        """Whether git would find one in the project or above, with a `.git` or, without a working tree, as a `HEAD`."""
        directory = self._workspace.root
        while True:
            for name in (".git", "HEAD"):
                if await self._workspace.stat(os.path.join(directory, name)) is not None:
                    return True
            directory, former = os.path.dirname(directory), directory
            if directory == former:
                return False

    async def changed_files(self, limit: int = 100, *, untracked: bool = False) -> ChangedFiles | None:
        """Files that differ from the last commit, None if git does not know.

        Content filters do not run, so a file whose filter matters counts as changed as soon as it was touched.
        Submodules are not looked into: they have configurations of their own.

        Args:
            limit: paths at most.
            untracked: whether files count that git does not know and does not ignore.
        """
        switched_off = await self._filters_off()
        if switched_off is None:
            return None
        answer = await self.ask(
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--no-ahead-behind",
            "--ignore-submodules=all",
            f"--untracked-files={'all' if untracked else 'no'}",
            overrides=switched_off,
            whole=False,
        )
        if answer is None:
            return None
        records = answer.tail.split(b"\0")[:-1]
        cut = answer.output_bytes > len(answer.tail)
        # Each record is two letters, a blank and a path; the first may be only the end of one.
        whole = records[1:] if cut else records
        paths = sorted(os.fsdecode(record[3:]) for record in whole)
        mixed = any(b" " not in record[:2] and record[:2] != b"??" for record in whole)
        return ChangedFiles(tuple(paths[:limit]), more=cut or len(paths) > limit, mixed=mixed)

    async def ignores(self, directories: Sequence[str]) -> bool:
        """Whether git ignores all of some directories below the project, and tracks nothing in them."""
        if len(directories) > _MAX_DIRECTORIES or any(directory.startswith("/") for directory in directories):
            return False
        answer = await self.ask(
            *("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--", *directories)
        )
        found = set() if answer is None else {os.fsdecode(name) for name in answer.tail.split(b"\0")}
        return all(any(f"{above}/" in found for above in _and_above(directory)) for directory in directories)

    async def commit(self, name: str) -> str | None:
        """The hash of the commit that a branch, a tag or the beginning of a hash names; None if there is none."""
        answer = await self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return line_of(answer) if answer is not None else None

    async def merge_base(self, one: str, other: str) -> str | None:
        """The hash of the commit from which two commits, given by their hashes, went apart; None if there is none."""
        answer = await self.ask("merge-base", one, other)
        return line_of(answer) if answer is not None else None

    async def branches(self, limit: int = 1000) -> tuple[str, ...]:
        """Names of local and remote branches, those with the newest commits first; none if git does not know."""
        answer = await self.ask(
            "for-each-ref",
            "--sort=-committerdate",
            f"--count={limit}",
            "--format=%(refname:short)",
            "refs/heads",
            "refs/remotes",
        )
        return tuple(os.fsdecode(answer.tail).splitlines()) if answer is not None else ()

    async def diff(self, *revisions: str, stat: bool = False) -> str | None:
        """The difference between two commits, or between one and the files; None if git does not know, or too long.

        Args:
            revisions: one hash or two.
            stat: a line for each file instead of the changes.
        """
        switched_off = await self._filters_off()
        if switched_off is None:
            return None
        form = ("--stat=100",) if stat else ()
        answer = await self.ask(
            *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", *form),
            *(*revisions, "--"),
            overrides=switched_off,
        )
        return answer.tail.decode("utf-8", "replace") if answer is not None else None

    async def _filters_off(self) -> list[str] | None:
        """Settings without which git would execute filters; None if not all can be switched off."""
        names = await self._filters()
        if names is None:
            return None
        settings = [f"filter.{name}.{key}=" for name in names for key in _FILTER_KEYS]
        return [*settings, *(f"filter.{name}.required=false" for name in names)]

    async def _filters(self) -> list[str] | None:
        """Names of the filter drivers that are configured anywhere; None if not all can be switched off."""
        answer = await self.ask("config", "-z", "--name-only", "--get-regexp", r"^filter\.", silent=True)
        if answer is None:
            return None
        keys = (os.fsdecode(key) for key in answer.tail.split(b"\0") if key)
        names = sorted({key.removeprefix("filter.").rpartition(".")[0] for key in keys})
        # `-c` takes what follows the first `=` for the value.
        return None if len(names) > _MAX_FILTERS or any("=" in name for name in names) else names

    async def ask(
        self, *arguments: str, overrides: Sequence[str] = (), whole: bool = True, silent: bool = False
    ) -> CommandResult | None:
        """What git says, None if it refuses.

        Args:
            overrides: more of the configuration, as `key=value`.
            whole: only a complete answer will do.
            silent: to refuse (exit code 1) is an answer.
        """
        configuration = [*(f"{key}={value}" for key, value in _OVERRIDES.items()), *overrides]
        options = [word for setting in configuration for word in ("-c", setting)]
        try:
            result = await self._workspace.run(
                CommandRequest(
                    ["/bin/sh", "-c", _QUIETLY, "git", *_FLAGS, *options, *arguments],
                    env=_ENVIRONMENT,
                    timeout=_TIMEOUT_SECONDS,
                    tail_bytes=_MAX_OUTPUT_BYTES,
                    spill=False,
                    carries_findings=False,
                    finds_installed=False,
                )
            )
        except OSError:  # the project's directory is gone, or the hands are
            return None
        if result.timed_out or result.exit_code not in ((0, 1) if silent else (0,)):
            return None
        return None if whole and result.output_bytes > len(result.tail) else result


def _and_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def line_of(answer: CommandResult) -> str:
    return os.fsdecode(answer.tail).strip("\n")
