"""The states of directories as git's trees. Git runs in the sandbox: a repository can name programs to execute."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kaa.hands.protected import is_protected
from kaa.host.paths import is_below
from kaa.shell.worktrees.registry import WorktreeError
from kaa.shell.worktrees.written import Written, has_content
from kaa.workspace.blocked import Blocked, visible
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult

_SECONDS = 600.0
_MOST_BYTES = 16 * 1024 * 1024
_MOST_CHECK_OUTS = 8
ABANDONED_MINUTES = 5
"""How old the lock of a branch has to be to be one that a killed git left."""
_GIT = (
    "git() { command git --literal-pathspecs -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0"
    " -c advice.addEmbeddedRepo=false -c core.autocrlf=false -c core.safecrlf=false -c merge.renormalize=false"
    ' "$@"; }\n'
)
# Filters and merge drivers are programs that the configuration names, with files that commands can write; here they
# would have more rights than the conversation. So trees have what is on disk, with Git LFS too.
_GIT += """\
leave_out_programs() {
    number=0
    while IFS= read -r name; do
        case $name in
        "") continue ;;
        *.required) value=false ;;
        merge.*) value='git merge-file --marker-size=%L %A %O %B' ;;
        *) value= ;;
        esac
        export "GIT_CONFIG_KEY_$number=$name" "GIT_CONFIG_VALUE_$number=$value"
        number=$((number + 1))
    done <<END
$(git config --name-only --get-regexp '^(filter\\..*\\.(clean|smudge|process|required)|merge\\..*\\.driver)$' || :)
END
    export GIT_CONFIG_COUNT=$number
}
leave_out_programs
"""
# Attributes, which commands can write, have git convert files: what is shown would not be what is written, and what is
# written not what was there. So git works on the bytes as they are, in a git directory of kaa's own, whose attributes
# are the strongest and switch off every conversion, and every driver of a diff. It has the objects of the repository,
# what that says of its file system, and of what to ignore.
_GIT += """\
own=
line_break='
'
of_repository='filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs|longpaths|sharedrepository|excludesfile'
as_is() {
    test -z "$own" || return 0
    own=$(mktemp -d); trap 'rm -rf "$own"' 0
    stored=$(git rev-parse --show-object-format --git-path objects)
    form=${stored%%$line_break*}; stored=${stored#*$line_break}; exclude=${stored%objects}info/exclude
    while IFS= read -r line; do
        case $line in
        "") continue ;;
        *" "*) value=${line#* } ;;
        *) value=true ;;
        esac
        export "GIT_CONFIG_KEY_$number=${line%% *}" "GIT_CONFIG_VALUE_$number=$value"
        number=$((number + 1))
    done <<END
$(git config --get-regexp "^core\\.($of_repository)\\$" || :)
END
    export GIT_CONFIG_COUNT=$number
    (unset GIT_DIR; git init -q --bare --template= --object-format="$form" "$own")
    mkdir "$own/info"
    test ! -f "$exclude" || cp "$exclude" "$own/info/exclude"
    echo '* -text !eol !crlf -ident -filter !working-tree-encoding !diff' >"$own/info/attributes"
    export GIT_DIR="$own" GIT_OBJECT_DIRECTORY="$stored"
}
"""
# Begins an index of kaa's own with what is in the current directory now, also with the ignored files that trees have.
# Of the index of the directory only names count: commands can write it, with flags that keep git from looking at a
# file, or with the size and times of a file beside other contents. So git reads all files: 1.4 s for 20,000 of 8 KB.
# Files that cannot be read, such as secrets that the sandbox hides, stay as they are in that index. A repository in the
# directory is no entry in it: such an entry has none of the files.
_GIT += """\
each_entry() { tr '\\0\\n' '\\n\\0' | sed "$@" | tr '\\n\\0' '\\0\\n'; }
files() { each_entry '/^160000 /d'; }
repositories() { git ls-files -s -z | each_entry -n 's/^160000 [^\t]*\t//p'; }
add() {
    for attempt in 1 2 3; do
        status=0; git add -A --sparse --ignore-errors . 2>"$own/errors" || status=$?
        test $status -gt 1 || break
    done
    sed '/^hint: /d' "$own/errors" >&2
    test $status -le 1
}
look() {
    as_is; export GIT_WORK_TREE="$PWD"
    { (unset GIT_DIR GIT_OBJECT_DIRECTORY GIT_WORK_TREE; git ls-files -s -z 2>/dev/null || :)
    for tree; do git ls-tree -r -z --full-tree "$tree"; done
    } | files >"$own/names"
    git update-index -z --index-info <"$own/names" || :
    add
    repositories | git update-index -z --force-remove --stdin
}
"""
# Commands can replace the repository's objects, and git does not compare an object that it reads with its name. So what
# a merge shows and writes comes from the git directory of kaa's own, in which git itself named the objects: all folders
# of two trees, and the files that differ.
_GIT += """\
hold() {
    as_is
    { git rev-list --objects --no-object-names --filter=blob:none "$1" "$2"
    git diff-tree -r --no-renames --no-abbrev "$1" "$2" | cut -d' ' -f3,4 | tr ' ' '\\n' | sed '/^0*$/d'
    } >"$own/names"
    git pack-objects -q --stdout --window=0 <"$own/names" |
        (unset GIT_OBJECT_DIRECTORY; git index-pack --stdin >"$own/pack.name")
    unset GIT_OBJECT_DIRECTORY
    if git cat-file --batch-check <"$own/names" | grep -q ' missing$'; then
        echo "objects of the repository are not what their names say: run git fsck" >&2
        return 1
    fi
}
compare() {
    as_is
    (unset GIT_WORK_TREE; git --no-pager diff --no-ext-diff --no-textconv --no-renames "$@")
}
"""
# Only what goes wrong is told of what is written to stderr; the answer must not mix with it.
_RUN = """\
{ errors=$(sh -euc "$0" sh "$@" 2>&1 >&3 3>&-); } 3>&1 || { code=$?; printf '%s' "$errors"; exit $code; }
"""
_IDENTITY = {
    "GIT_AUTHOR_NAME": "kaa",
    "GIT_AUTHOR_EMAIL": "kaa@localhost",
    "GIT_COMMITTER_NAME": "kaa",
    "GIT_COMMITTER_EMAIL": "kaa@localhost",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # commands can write `refs/replace`
    "LC_ALL": "C",
}
# What a hook of git that started kaa has set would lead elsewhere.
_UNSET = dict.fromkeys(
    (
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
    )
)

_SNAPSHOT = 'cd "$1"; shift; look "$@"; git write-tree'
# Behind the tree what is not in it, then what git ignores; an empty name ends both.
_LOOK_CLOSELY = """\
cd "$1"; shift; look "$@"; git write-tree | tr '\\n' '\\0'
git ls-files -z --others --modified --exclude-standard 2>"$own/errors"
sed -n "s/^warning: could not open directory '\\(.*\\)': .*/\\1/p" "$own/errors" | tr '\\n' '\\0'
printf '\\0'
git ls-files -z --others --ignored --exclude-standard --directory --no-empty-directory; printf '\\0'
"""
_COMMIT = 'git commit-tree "$1" ${2:+-p "$2"} -m "$3"'
_HEAD = 'env -u GIT_DIR git -C "$1" rev-parse --verify --quiet "HEAD^{commit}" || :'
# Only one kaa at a time changes this name, so what locks it is of one that was killed.
_KEEP = 'rm -f "$GIT_DIR/refs/kaa/worktrees/$1.lock"; git update-ref "refs/kaa/worktrees/$1" "$2"'
_KEEP_MERGE = f"""\
before=$(git commit-tree "$3" -p "$2" -m before); after=$(git commit-tree "$4" -p "$before" -m after)
set -- "$1" "$after"; {_KEEP}
"""
_BEGIN_STORE = 'test -e "$GIT_DIR/HEAD" || git init -q --bare "$GIT_DIR"'
# Behind the tree: what to leave out. The guard moves away names that programs obey while git writes below them, and
# ends a command that creates one again and again.
_CHECK_OUT = """\
cd "$1"; as_is; export GIT_WORK_TREE="$1"
git read-tree "$2"; shift 2
test $# = 0 || git rm -r -q --cached --ignore-unmatch -- "$@"
git checkout-index -q -a -f
"""
_ADD = 'git worktree add -q --no-checkout -b "$2" "$1" "$3"'
_RESET = """\
cd "$1"; unset GIT_DIR; git reset -q "$2"
repositories | git checkout-index -q -f -z --stdin
"""
# A tree without some files.
_WITHOUT = """\
as_is; git read-tree "$1"; shift
none=$(git hash-object --stdin </dev/null | tr 0-9a-f 0)
for path; do printf '0 %s\\t%s\\0' "$none" "$path"; done | git update-index -z --index-info
git write-tree
"""
# So that a commit in the worktree does not remove them.
_SPARE = """cd "$1"; unset GIT_DIR; shift
git ls-files -z -- "$@" | git update-index -z --skip-worktree --stdin
"""
_INCLUDE = """\
cd "$1"; export GIT_WORK_TREE="$1"
test -f .worktreeinclude || exit 0
names=$(mktemp); trap 'rm -f "$names"' 0
git ls-files -z --others --ignored --exclude-from=.worktreeinclude >"$names"
tar -cf - --null -T "$names" | tar -xf - -C "$2" || :
cat "$names"
"""
# First the tree, then the files with conflicts.
_MERGE = """\
ours=$(git commit-tree "$2" -p "$1" -m ours); theirs=$(git commit-tree "$3" -p "$1" -m theirs)
if git merge-tree -z --write-tree --name-only --no-messages "$ours" "$theirs"; then :; else test $? = 1; fi
"""
# A killed git leaves the beginning of the file that it was writing, or has only removed it. What others changed stays.
_COMPLETED = """\
mine=$1; before=$2; after=$3; removed=$4; shift 4
as_is; git read-tree -i -m --aggressive "$before" "$mine" "$after"
none=$(git hash-object --stdin </dev/null | tr 0-9a-f 0)
begins() {
    whole=$(git rev-parse --verify --quiet "$1:$path") || return 1
    size=$(git cat-file -s "$half"); test "$size" -lt "$(git cat-file -s "$whole")" || return 1
    test "$(git cat-file blob "$whole" | head -c "$size" | git hash-object --stdin)" = "$half"
}
for path; do
    from=$mine
    if test "$path" = "$removed"; then from=$after
    elif half=$(git rev-parse --verify --quiet "$mine:$path"); then
        if begins "$after" || begins "$before"; then from=$after; fi
    fi
    { printf '0 %s\\t%s\\0' "$none" "$path"; git ls-tree -z --full-tree "$from" -- "$path"; } |
        git update-index -z --index-info
done
git write-tree
"""
_DIFF = 'compare "$@"'
_CHANGES = 'hold "$1" "$2"; git diff-tree -r -z --no-renames --no-abbrev "$1" "$2"'
# Unlike `git read-tree -u`, `git checkout` leaves files alone that git ignores. It does not fail if it cannot write a
# file, so the answer is what is not as in its index.
_APPLY = """\
cd "$1"; before=$2; after=$3; shift 3; look "$@"
test "$(git write-tree)" = "$before" || { echo "files of the project changed meanwhile: try again" >&2; exit 1; }
hold "$before" "$after"
commit=$(git commit-tree "$before" -m before); echo "$commit" >"$own/HEAD"
commit=$(git commit-tree "$after" -m after)
git -c core.sparseCheckout=false -c checkout.workers=1 checkout -q --no-overwrite-ignore \
    --no-recurse-submodules --detach "$commit"
git diff-files -z --name-only
"""
# What was written becomes as it was; what somebody else changed meanwhile stays.
_PUT_BACK = """\
cd "$1"; before=$2; after=$3; shift 3; hold "$before" "$after"
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$stored"
look "$@" "$after" "$before"
git read-tree -m --aggressive -u "$after" "$(git write-tree)" "$before"
"""
_DISCARD = """\
cd "$1"; shift; rm -f -- "$@"
for path; do rmdir -p -- "$(dirname -- "$path")" 2>/dev/null || :; done
"""
# What the branch of a worktree changes, and how it differs from a tree; an empty name is between both.
_COMMITTED = """\
tip=$(git rev-parse --verify --quiet "refs/heads/$1^{commit}") || exit 0
git diff-tree -r -z --no-renames --name-only "$2" "$tip"; printf '\\0'
git diff-tree -r -z --no-renames --name-only "$3" "$tip"; printf '\\0'
git diff-tree -r -z --no-renames --name-only "$4" "$3"
"""
# A killed git leaves the lock of the branch; a git that works has it for less than a second.
_DROP = """\
rm -f "$GIT_DIR/refs/kaa/worktrees/$1.lock"
lock=$(git rev-parse --git-path "refs/heads/$2.lock")
if test -e "$lock"; then find "$lock" -prune -mmin +"$4" -exec rm -f {} +; fi
git update-ref -d "refs/kaa/worktrees/$1" || :
tip=$(git rev-parse --verify --quiet "refs/heads/$2") || exit 0
if test "$tip" = "$3"; then git update-ref -d "refs/heads/$2"; else echo "$tip"; fi
"""


# Files of a tree that are not in the directory, but for links and submodules.
_MISSING = """\
cd "$1"; as_is; export GIT_WORK_TREE="$1"
git read-tree "$2"; git ls-files -z -d --format='%(objectmode) %(path)'
"""


class DirectoryState(NamedTuple):
    """What is in a directory.

    Attributes:
        tree: the files that git adds.
        left_out: what git does not add, such as repositories; a path that ends with a slash is a directory.
        ignored: what git ignores, likewise.
    """

    tree: str
    left_out: tuple[str, ...]
    ignored: tuple[str, ...]


class TooMuchError(WorktreeError):
    """An answer of git is longer than kaa takes in."""


class _FailedError(WorktreeError):
    """Git failed.

    Args:
        text: what it says.

    Attributes:
        blocked: what the sandbox stopped.
        is_ended: whether something stopped it in the middle of its work; if git refuses to begin, its exit code is 1.
    """

    def __init__(self, text: str, result: CommandResult) -> None:
        self.blocked = result.blocked
        self.is_ended = result.exit_code != 1
        stopped = ", ".join(dict.fromkeys(one.what for one in result.blocked if one.what))
        why = f"the sandbox stopped git at {stopped}" if stopped else "git failed"
        super().__init__(text or ("git took too long" if result.timed_out else why))


class States:
    """Trees and commits of a repository.

    Args:
        workspace: in it git runs; the repository and the directories can be written.
        git_directory: of the repository, absolute.
    """

    def __init__(self, workspace: LocalWorkspace, git_directory: str) -> None:
        self._workspace = workspace
        self._known_changes: dict[tuple[str, str], list[Written]] = {}
        self._environment: Mapping[str, str | None] = {**_UNSET, **_IDENTITY, "GIT_DIR": git_directory}

    async def begin_store(self) -> None:
        """Create the repository, unless it is there."""
        await self._run(_BEGIN_STORE)

    def hides(self, path: str) -> bool:
        """True if git may not read a path, which is absolute."""
        return self._workspace.sandbox.denials().of_read(path) is not None

    async def snapshot(self, directory: str, *known: str) -> str:
        """Return the tree of a directory as it is now, without what git ignores.

        Args:
            known: commits or trees whose files are not left out, although git may ignore them.
        """
        return await self._run(_SNAPSHOT, directory, *known)

    async def look_closely(self, directory: str, *known: str) -> DirectoryState:
        """Return the tree of a directory, as `snapshot`, and what there is besides."""
        tree, *names = (await self._run(_LOOK_CLOSELY, directory, *known)).split("\0")
        end = names.index("")
        left_out = (path for path in names[:end] if not self.hides(os.path.join(directory, path)))
        return DirectoryState(tree, tuple(dict.fromkeys(left_out)), tuple(filter(None, names[end:])))

    async def head(self, directory: str) -> str:
        """The commit that is checked out in a directory; empty for none."""
        return await self._run(_HEAD, directory)

    async def commit(self, tree: str, parent: str, message: str) -> str:
        """A commit of a tree, on no branch. `parent`: empty for none."""
        return await self._run(_COMMIT, tree, parent, message)

    async def keep(self, name: str, commit: str) -> None:
        """Keep a commit as that of a worktree, so that git never removes it."""
        await self._run(_KEEP, name, commit)

    async def keep_merge(self, name: str, base: str, before: str, after: str) -> None:
        """Keep both trees of a merge as `keep` does, as commits after that with which the worktree began."""
        await self._run(_KEEP_MERGE, name, base, before, after)

    async def add(self, directory: str, branch: str, start: str, tree: str) -> None:
        """Make an empty directory a worktree of git's, with the files of a tree.

        Args:
            directory: of the worktree.
            branch: a new one.
            start: the commit on which it begins.
            tree: the files; what differs from that commit is not committed.
        """
        await self._run(_ADD, directory, branch, start)
        await self.fill(directory, tree)
        await self._run(_RESET, directory, start)

    async def fill(self, directory: str, tree: str) -> None:
        """Write the files of a tree into an empty directory, but for names that the guard moves away."""
        moved: dict[str, None] = {}
        for attempt in range(1, _MOST_CHECK_OUTS + 1):
            try:
                await self._run(_CHECK_OUT, directory, tree, *moved)
                return
            except _FailedError as error:
                if attempt == _MOST_CHECK_OUTS:
                    raise
                below = f"{directory}/"
                names = (one.what.removeprefix(below) for one in error.blocked if one.what.startswith(below))
                moved |= dict.fromkeys(names)

    async def missing(self, directory: str, tree: str) -> list[str]:
        """Return the paths of files and links of a tree that are not in a directory, although git just wrote them."""
        entries = (await self._run(_MISSING, directory, tree)).split("\0")
        named = (entry.partition(" ") for entry in entries)
        return [path for mode, _, path in named if mode.startswith(("100", "120"))]

    async def without(self, base: str, directory: str, paths: Sequence[str], *, is_copy: bool) -> str:
        """Return a commit like the one that a worktree began with, but without files that could not be copied into it.

        Args:
            base: the commit.
            directory: of the worktree.
            paths: of the files.
            is_copy: it is no worktree of git's.
        """
        if not is_copy:
            await self._run(_SPARE, directory, *paths)
        return await self.commit(await self._run(_WITHOUT, base, *paths), base, "without what is not in the worktree")

    async def include(self, project: str, directory: str) -> list[str]:
        """Copy the ignored files that `.worktreeinclude` of the project names. Returns their paths."""
        return list(filter(None, (await self._run(_INCLUDE, project, directory)).split("\0")))

    async def merge(self, base: str, mine: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Merge two trees. Returns the result, and the files with conflicts.

        Args:
            base: the commit from which both come.
            mine: a tree.
            theirs: another one.
        """
        tree, *conflicts = (await self._run(_MERGE, base, mine, theirs)).split("\0")
        return tree, tuple(dict.fromkeys(filter(None, conflicts)))

    async def completed(self, mine: str, before: str, after: str) -> str:
        """Return a tree as it would be had `apply` not been killed.

        Args:
            mine: the tree of the directory as it is.
            before: the tree that `apply` began with.
            after: the tree that it would have led to.
        """
        change = {path: kind for kind, path in await self.changes(before, after)}
        missed = {path: kind for kind, path in await self.changes(mine, after) if path in change}
        # Git writes one file after another, in this order: only the first that it did not write can be just removed.
        first = next((path for path in missed if change[path] != "D"), "")
        removed = first if missed.get(first) == "A" else ""
        different = [path for _, path in await self.changes(before, mine) if path in missed]
        return await self._run(_COMPLETED, mine, before, after, removed, *different)

    async def diff(self, one: str, other: str, *options: str) -> str:
        """The difference between two trees or commits.

        Raises:
            TooMuchError: it is longer than kaa takes in.
            WorktreeError: git fails.
        """
        return await self._run(_DIFF, *options, one, other, "--")

    async def merge_diff(self, before: str, after: str, *options: str) -> str:
        """The difference that `apply` makes.

        Raises:
            TooMuchError: it is longer than kaa takes in.
            WorktreeError: besides other reasons, somebody replaced objects of the repository.
        """
        return await self._run(f'hold "$1" "$2"; shift 2; {_DIFF}', before, after, *options, before, after, "--")

    async def only_in_commits(self, branch: str, start: str, base: str, tree: str) -> tuple[str, ...]:
        """Return the paths that a branch changes otherwise than a worktree does, and of which no difference tells.

        Args:
            branch: of the worktree.
            start: the commit on which it began.
            base: the state of the project then.
            tree: of the worktree.
        """
        names = iter((await self._run(_COMMITTED, branch, start, tree, base)).split("\0"))
        committed, different, told = (list(iter(partial(next, names, ""), "")) for _ in range(3))
        found = set(different) - {path for path in told if not is_protected(path.split("/"))}
        return tuple(path for path in committed if path in found)

    async def changes(self, before: str, after: str) -> list[tuple[str, str]]:
        """Return the files that differ between two trees, each with git's letter for what happens to it (`A`, `D`)."""
        return [(change.kind, change.path) for change in await self._changes(before, after)]

    async def _changes(self, before: str, after: str) -> list[Written]:
        known = self._known_changes.get((before, after))
        if known is None:  # trees do not change: that their objects are what their names say is checked once
            fields = iter((await self._run(_CHANGES, before, after)).split("\0"))
            entries = ((entry.split(" "), path) for entry, path in zip(fields, fields, strict=False))
            known = [Written(kind, path, mode, blob) for (_, mode, _, blob, kind), path in entries]
            self._known_changes[before, after] = known
        return known

    async def apply(self, directory: str, before: str, after: str, known: Sequence[str]) -> None:
        """Turn one state of a directory into another; if a file cannot be written, it stays as it was.

        Args:
            before: its tree, as `snapshot` told it.
            after: another one.
            known: as for `snapshot`.

        Raises:
            WorktreeError: the directory has changed, a file cannot be written, or somebody replaced objects.
        """
        try:
            answer, blocked = await self._told(_APPLY, directory, before, after, *known)
        except _FailedError as error:
            if error.is_ended:  # perhaps by the guard, when it had written half
                await self._take_back(directory, before, after, known, error.blocked)
            raise
        different = set(answer.split("\0"))
        # The guard may have moved files away, or restored others, after git had looked at them.
        guarded = [one.what for one in blocked if one.kept_as]

        def has_failed(change: Written) -> bool:
            path = os.path.join(directory, change.path)
            if is_below(path, guarded):
                return True
            if change.kind == "D":
                return _is_file(path)
            return change.path in different or not has_content(directory, change)

        changes = await self._changes(before, after)
        failed = await asyncio.to_thread(lambda: [change.path for change in changes if has_failed(change)])
        if failed:
            await self._take_back(directory, before, after, known, blocked)
            raise WorktreeError(f"{', '.join(map(visible, failed))} cannot be written: nothing was merged")

    async def _take_back(
        self, directory: str, before: str, after: str, known: Sequence[str], blocked: Sequence[Blocked]
    ) -> None:
        """Undo a change of a directory that failed, with what the guard has kept of it."""
        await self._run(_PUT_BACK, directory, before, after, *known)
        kept = await asyncio.to_thread(_kept, directory, await self._changes(before, after), blocked)
        if kept:
            await self._run(_DISCARD, directory, *kept)

    async def drop(self, name: str, branch: str, start: str) -> str:
        """Forget the states of a worktree. Returns the commit of its branch if the branch stays.

        Args:
            branch: its branch; it goes if nothing was committed on it.
            start: the commit on which it began; empty if there is no branch.

        Raises:
            WorktreeError: besides other reasons, git locked the branch less than `ABANDONED_MINUTES` ago.
        """
        return await self._run(_DROP, name, branch, start, str(ABANDONED_MINUTES - 1))

    async def _run(self, script: str, *arguments: str) -> str:
        """Run a script, and return what it prints, as text without the line breaks around it.

        Raises:
            WorktreeError: git refuses, or is missing.
        """
        text, _ = await self._told(script, *arguments)
        return text

    async def _told(self, script: str, *arguments: str) -> tuple[str, Sequence[Blocked]]:
        """Run a script, and return what it prints, and what the sandbox stopped although it succeeded."""
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
        text = result.tail.decode("utf-8", "surrogateescape").strip("\n")
        if result.exit_code != 0:
            raise _FailedError(text, result)
        if result.output_bytes > len(result.tail):
            raise TooMuchError(f"git says more than {_MOST_BYTES // 1024 // 1024} MiB")
        return text, result.blocked


def _is_file(path: str) -> bool:
    return os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path))


def _kept(directory: str, changes: Sequence[Written], blocked: Sequence[Blocked]) -> list[str]:
    """Return where the guard has kept what git was to write, as far as it is that."""
    below = f"{directory}/"
    moved = [(one.what.removeprefix(below), one.kept_as.removeprefix(below)) for one in blocked if one.kept_as]
    kept = (
        change._replace(path=place + change.path.removeprefix(path))
        for path, place in moved
        for change in changes
        if is_below(change.path, (path,))
    )
    return [change.path for change in kept if has_content(directory, change)]
