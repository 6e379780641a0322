"""The states of directories as git's trees. Git runs in the sandbox: a repository can name programs to execute."""

from collections.abc import Mapping

import msgspec

from kaa.shell.worktrees.registry import WorktreeError
from kaa.workspace.protocol import CommandRequest, Workspace

_SECONDS = 600.0
_MOST_BYTES = 16 * 1024 * 1024
# The guard can move a directory away while git writes below it: then git begins again.
_GIT = (
    "git() { command git --literal-pathspecs -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0"
    ' -c advice.addEmbeddedRepo=false "$@"; }\n'
    "check_out() { for attempt in 1 2 3 4; do ! git checkout-index -q -a -f || return 0; done; return 1; }\n"
)
# Only what goes wrong is told of what is written to stderr; the answer must not mix with it.
_RUN = (
    'errors=$(mktemp) && trap \'rm -f "$errors"\' 0 && sh -euc "$0" sh "$@" 2>"$errors" || { cat "$errors"; exit 1; }'
)
_IDENTITY = {
    "GIT_AUTHOR_NAME": "kaa",
    "GIT_AUTHOR_EMAIL": "kaa@localhost",
    "GIT_COMMITTER_NAME": "kaa",
    "GIT_COMMITTER_EMAIL": "kaa@localhost",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# What a hook of git that started kaa has set would lead elsewhere.
_UNSET = dict.fromkeys(("GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PREFIX"))

# Files that cannot be read, such as secrets that the sandbox hides, stay as the last commit has them.
_SNAPSHOT = """\
cd "$1"; index=$(mktemp -u); trap 'rm -f "$index" "$index.lock"' 0
own=$(env -u GIT_DIR -u GIT_WORK_TREE git rev-parse --git-path index 2>/dev/null) && cp "$own" "$index" 2>/dev/null || :
export GIT_INDEX_FILE="$index" GIT_WORK_TREE="$1"
git add -A --ignore-errors . || :
git write-tree
"""
_COMMIT = 'git commit-tree "$1" ${2:+-p "$2"} -m "$3"'
_HEAD = 'env -u GIT_DIR git -C "$1" rev-parse --verify --quiet "HEAD^{commit}" || :'
_KEEP = 'git update-ref "refs/kaa/worktrees/$1" "$2"'
_BEGIN_STORE = 'test -e "$GIT_DIR/HEAD" || git init -q --bare "$GIT_DIR"'
_FILL = """\
cd "$1"; index=$(mktemp -u); trap 'rm -f "$index" "$index.lock"' 0
export GIT_INDEX_FILE="$index" GIT_WORK_TREE="$1"
git read-tree "$2"; check_out
"""
_ADD = """\
git worktree add -q --no-checkout -b "$2" "$1" "$3"
cd "$1"; unset GIT_DIR
git read-tree --reset "$4"; check_out; git reset -q "$3"
"""
_INCLUDE = """\
cd "$1"; export GIT_WORK_TREE="$1"
test -f .worktreeinclude || exit 0
git ls-files -z --others --ignored --exclude-from=.worktreeinclude | tar -cf - --null -T - | tar -xf - -C "$2"
"""
# In the first line the tree, then the files with conflicts.
_MERGE = """\
if git merge-tree --write-tree --name-only --no-messages "$1" "$2"; then :; else test $? = 1; fi
"""
_APPLY = """\
cd "$1"; index=$(mktemp -u); trap 'rm -f "$index" "$index.lock"' 0
export GIT_INDEX_FILE="$index" GIT_WORK_TREE="$1"
git add -A --ignore-errors . || :
test "$(git write-tree)" = "$2" || { echo "files of the project changed meanwhile: try again" >&2; exit 1; }
git read-tree -m -u "$2" "$3" || { git read-tree --reset -u "$2"; exit 1; }
"""
_DROP = """\
git worktree prune
git update-ref -d "refs/kaa/worktrees/$1" || :
tip=$(git rev-parse --verify --quiet "refs/heads/$2") || exit 0
if test "$tip" = "$3"; then git update-ref -d "refs/heads/$2"; else echo "$tip"; fi
"""


# Files of a tree that are not in the directory, but for links and submodules.
_MISSING = """\
cd "$1"; index=$(mktemp -u); trap 'rm -f "$index" "$index.lock"' 0
export GIT_INDEX_FILE="$index" GIT_WORK_TREE="$1"
git read-tree "$2"; git ls-files -z -d --format='%(objectmode) %(objectname) %(path)'
"""
_BLOB = 'git cat-file blob "$1"'
_MOST_MOVED = 1000
_MOST_MOVED_BYTES = 1024 * 1024  # of each


class MovedFile(msgspec.Struct, frozen=True):
    """A file of a tree that is not where git wrote it. `path`: relative to the directory."""

    path: str
    content: bytes
    is_executable: bool


class States:
    """Trees and commits of a repository.

    Args:
        workspace: in it git runs; the repository and the directories can be written.
        git_directory: of the repository, absolute.
    """

    def __init__(self, workspace: Workspace, git_directory: str) -> None:
        self._workspace = workspace
        self._environment: Mapping[str, str | None] = {**_UNSET, **_IDENTITY, "GIT_DIR": git_directory}

    async def begin_store(self) -> None:
        """Create the repository, unless it is there."""
        await self._run(_BEGIN_STORE)

    async def snapshot(self, directory: str) -> str:
        """The tree of a directory as it is now, without what git ignores."""
        return await self._run(_SNAPSHOT, directory)

    async def head(self, directory: str) -> str:
        """The commit that is checked out in a directory; empty for none."""
        return await self._run(_HEAD, directory)

    async def commit(self, tree: str, parent: str, message: str) -> str:
        """A commit of a tree, on no branch. `parent`: empty for none."""
        return await self._run(_COMMIT, tree, parent, message)

    async def keep(self, name: str, commit: str) -> None:
        """Keep a commit as that of a worktree, so that git never removes it."""
        await self._run(_KEEP, name, commit)

    async def add(self, directory: str, branch: str, start: str, tree: str) -> None:
        """Make an empty directory a worktree of git's, with the files of a tree.

        Args:
            directory: of the worktree.
            branch: a new one.
            start: the commit on which it begins.
            tree: the files; what differs from that commit is not committed.
        """
        await self._run(_ADD, directory, branch, start, tree)

    async def fill(self, directory: str, tree: str) -> None:
        """Write the files of a tree into an empty directory."""
        await self._run(_FILL, directory, tree)

    async def moved(self, directory: str, tree: str) -> list[MovedFile]:
        """Files of a tree that git has just written into a directory, and that are not there any more."""
        found = []
        for entry in (await self._run(_MISSING, directory, tree)).split("\0")[:_MOST_MOVED]:
            mode, _, rest = entry.partition(" ")
            name, _, path = rest.partition(" ")
            if not mode.startswith("100"):
                continue
            content = await self._output(_BLOB, name)
            if len(content) < _MOST_MOVED_BYTES:
                found.append(MovedFile(path, content, mode == "100755"))
        return found

    async def include(self, project: str, directory: str) -> None:
        """Copy the files that `.worktreeinclude` of the project names although git ignores them."""
        await self._run(_INCLUDE, project, directory)

    async def merge(self, base: str, mine: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Merge two trees. Returns the result, and the files with conflicts.

        Args:
            base: the commit from which both come.
            mine: a tree.
            theirs: another one.
        """
        ours = await self.commit(mine, base, "ours")
        answer = await self._run(_MERGE, ours, await self.commit(theirs, base, "theirs"))
        tree, *conflicts = answer.splitlines()
        return tree, tuple(dict.fromkeys(filter(None, conflicts)))

    async def diff(self, one: str, other: str, *options: str) -> str:
        """The difference between two trees or commits."""
        script = 'git --no-pager diff --no-ext-diff --no-textconv --no-renames "$@"'
        return await self._run(script, *options, one, other, "--")

    async def apply(self, directory: str, before: str, after: str) -> None:
        """Turn one state of a directory into another; if a file cannot be written, it stays as it was.

        Args:
            directory: the directory.
            before: its tree, as `snapshot` told it.
            after: another one.
        """
        await self._run(_APPLY, directory, before, after)

    async def drop(self, name: str, branch: str, start: str) -> str:
        """Forget a worktree whose directory is gone. Returns the commit of its branch if the branch stays.

        Args:
            name: of the worktree.
            branch: its branch; it goes if nothing was committed on it.
            start: the commit on which it began; empty if there is no branch.
        """
        return await self._run(_DROP, name, branch, start)

    async def _run(self, script: str, *arguments: str) -> str:
        """Run a script, and return what it prints, as text without the line breaks around it."""
        return (await self._output(script, *arguments)).decode("utf-8", "surrogateescape").strip("\n")

    async def _output(self, script: str, *arguments: str) -> bytes:
        """Run a script, and return what it prints.

        Raises:
            WorktreeError: git refuses, or is missing.
        """
        request = CommandRequest(
            ["/bin/sh", "-c", _RUN, _GIT + script, *arguments],
            env=self._environment,
            timeout=_SECONDS,
            tail_bytes=_MOST_BYTES,
            spill=False,
        )
        try:
            result = await self._workspace.run(request)
        except OSError as error:
            raise WorktreeError(error.strerror or str(error)) from error
        if result.exit_code != 0:
            text = result.tail.decode("utf-8", "surrogateescape").strip("\n")
            raise WorktreeError(text or ("git took too long" if result.timed_out else "git failed"))
        return result.tail
