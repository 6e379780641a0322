"""Gets one commit of a git repository that nobody vouches for. Nothing that it contains is executed.

git downloads the objects; kaa writes the files itself. Without a checkout no hook, filter, attribute or submodule of
the repository has an effect. The user's own configuration stays in force: it has the credentials and the proxy; but not
where links of the home lead it into a project.
"""

import io
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import NamedTuple
from urllib.parse import urlsplit

from kaa.host.programs import host_programs
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.sources import GitSource
from kaa.shell.extensions.staging import FETCHING_SECONDS, MAX_BYTES, MAX_FILES, StagedTree, run_fetching

_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.alternateRefsCommand": "false",
    "fetch.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "maintenance.auto": "false",
    "gc.auto": "0",
    "fetch.unpackLimit": "1",  # all in one file, whose size is limited
    "protocol.allow": "never",
}
# What a hook of git that started kaa has set, or a project's environment could, would lead to another repository.
_KEPT_VARIABLES = re.compile(r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_.*|CONFIG_GLOBAL|CONFIG_SYSTEM|EXEC_PATH)")
_MAX_DOWNLOAD_BYTES = 2 * 1024 * 1024 * 1024  # compressed; a plugin may be a folder of a large repository
_MOST_LISTED_BYTES = MAX_FILES * 1_200  # with the longest names that are taken


class _Entry(NamedTuple):
    mode: str
    object_name: str
    name: str


class FetchedRepository:
    """An empty repository that gets one commit.

    Args:
        folder: for it; it must not exist.

    Raises:
        InstallationError: there is no git.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        programs = host_programs(environ)
        found = programs.find("git")
        if found is None:
            raise InstallationError(
                programs.refusal("git") or "git is not installed: install it, or use another source"
            )
        self._git = found
        self._folder = folder
        kept, self._told = programs.fetching()
        self._environ = {name: value for name, value in kept.items() if not name.startswith("GIT_") or _is_kept(name)}
        self._environ |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
        self._run("init", "--quiet", "--bare", "--template=", str(folder), repository=False)

    def fetch(self, source: GitSource) -> str:
        """Download what `source` refers to. Returns the full hash of the commit.

        Raises:
            InstallationError: git cannot get it.
        """
        scheme = urlsplit(source.url).scheme
        self._run(
            *("-c", f"protocol.{scheme}.allow=always"),
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
            *(source.url, f"+{source.reference or 'HEAD'}:refs/kaa/wanted"),
        )
        return self._run("rev-parse", "--verify", "refs/kaa/wanted^{commit}").decode().strip()

    def tags(self, url: str, beginning: str) -> list[str]:
        """The names of the tags of a repository that begin so; of very many, some.

        Raises:
            InstallationError: git cannot get them.
        """
        listed = self._listed(
            *("-c", f"protocol.{urlsplit(url).scheme}.allow=always"),
            *("ls-remote", "--tags", "--refs", url, f"refs/tags/{beginning}*"),
        )
        lines = listed.decode(errors="replace").splitlines()
        return [name.removeprefix("refs/tags/") for line in lines if (name := line.partition("\t")[2])]

    def write(self, commit: str, source: GitSource, tree: StagedTree) -> None:
        """Write the files of a commit.

        Raises:
            InstallationError: the folder is not there, or the files exceed a limit or leave it.
        """
        entries = list(self._entries(commit, source))
        contents = self._contents([entry.object_name for entry in entries])
        for entry, content in zip(entries, contents, strict=True):
            if entry.mode == "120000":
                tree.link(entry.name, os.fsdecode(content))
            else:
                tree.write(entry.name, io.BytesIO(content), executable=entry.mode == "100755")
        tree.finish()

    def _entries(self, commit: str, source: GitSource) -> Iterator[_Entry]:
        """The files and links of a commit; submodules are left out, as their commits are in other repositories."""
        try:
            listed = self._listed("ls-tree", "-r", "-z", "-l", "--full-tree", f"{commit}:{source.folder}")
        except InstallationError as error:
            raise InstallationError(
                f"{source}: there is no folder {source.folder!r} in commit {commit[:12]}"
            ) from error
        if len(listed) > _MOST_LISTED_BYTES:
            raise InstallationError(f"{source} has more than {MAX_FILES:,} files")
        records = listed.split(b"\0")[:-1]
        if len(records) > MAX_FILES:
            raise InstallationError(f"{source} has more than {MAX_FILES:,} files")
        size = 0
        for record in records:
            facts, _, name = record.partition(b"\t")
            mode, kind, object_name, length = facts.decode().split()
            if kind != "blob":
                continue
            size += int(length)
            if size > MAX_BYTES:
                raise InstallationError(f"{source} is larger than {MAX_BYTES // 1024 // 1024} MiB")
            yield _Entry(mode, object_name, os.fsdecode(name))

    def _contents(self, names: list[str]) -> Iterator[bytes]:
        answer = io.BytesIO(self._run("cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode()))
        for name in names:
            found, kind, length = answer.readline().decode().split()
            if (found, kind) != (name, "blob"):
                raise InstallationError(f"git has no content of object {name}")
            yield answer.read(int(length))
            answer.read(1)

    def _listed(self, *arguments: str) -> bytes:
        """What git lists, up to the first byte that is too many: equal trees in trees take a repository no space."""
        try:
            process = subprocess.Popen(
                self._words(arguments),
                env=self._environ,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise InstallationError(f"git cannot be started ({error.strerror})") from error
        late = Timer(FETCHING_SECONDS, process.kill)
        late.start()
        try:
            with process:
                assert process.stdout is not None
                listed = process.stdout.read(_MOST_LISTED_BYTES + 1)
                if len(listed) > _MOST_LISTED_BYTES:
                    process.kill()
                elif process.wait():
                    raise InstallationError(f"git failed: exit code {process.returncode}")
        finally:
            late.cancel()
        return listed

    def _words(self, arguments: Sequence[str], *, repository: bool = True) -> list[str]:
        overrides = [word for key, value in _OVERRIDES.items() for word in ("-c", f"{key}={value}")]
        place = [f"--git-dir={self._folder}"] if repository else []
        return [self._git, "--no-pager", *place, *overrides, *arguments]

    def _run(self, *arguments: str, given: bytes = b"", repository: bool = True) -> bytes:
        return run_fetching(
            self._words(arguments, repository=repository),
            name="git",
            environ=self._environ,
            cwd=self._folder if repository else self._folder.parent,
            max_bytes=_MAX_DOWNLOAD_BYTES,
            too_large=f"the repository is larger than {_MAX_DOWNLOAD_BYTES // 1024**3} GiB",
            hint=self._told,
            given=given,
        )


def _is_kept(name: str) -> bool:
    return _KEPT_VARIABLES.fullmatch(name) is not None
