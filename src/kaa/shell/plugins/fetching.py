"""Gets the files of a plugin or marketplace from where the user or an entry of a marketplace says that they are.

Nothing that they contain is executed.
"""

import base64
import io
import re
import tarfile
from collections.abc import Mapping
from hashlib import sha512
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.components.plugins.marketplace import (
    PACKAGE,
    VERSION,
    Git,
    GitHub,
    GitSubdir,
    Npm,
    PluginSource,
    Relative,
    Url,
)
from kaa.host.programs import host_programs
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.extensions.git import FetchedRepository
from kaa.shell.extensions.sources import GitSource, PathSource, parse_source
from kaa.shell.extensions.staging import MAX_BYTES, StagedTree, copy_folder, run_fetching
from kaa.shell.plugins.wheels import WheelSource, plugin_of

_AT_GITHUB = re.compile(r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99})(?P<at>@.+)?")
_SCP = re.compile(r"(?P<host>[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+):(?P<path>[^/].*)")
NPM = "npm:"
_NPM = re.compile(rf"{NPM}(?P<package>{PACKAGE.pattern})(?:@(?P<version>{VERSION.pattern}))?")
_ADDRESS = re.compile(r"(?:git\+)?(?:https|ssh|file)://")


class Fetched(NamedTuple):
    """Files that are there. `pin`: which version they are: a commit, or a version of a package; may be empty."""

    top: Path
    pin: str = ""


class Fetcher:
    """Gets files into a folder.

    Args:
        staging: the folder; it exists and is empty.
    """

    def __init__(self, staging: Path, environ: Mapping[str, str], noun: str = "plugin") -> None:
        self._staging = staging
        self._environ = environ
        self._noun = noun

    def named(self, source: PathSource | GitSource) -> Fetched:
        """What the user names.

        Raises:
            InstallationError: it cannot be had.
        """
        return self._repository(source) if isinstance(source, GitSource) else self._folder(source.path)

    def of_entry(self, source: PluginSource, marketplace: Path) -> Fetched:
        """What an entry of a marketplace names.

        Raises:
            InstallationError: it cannot be had, or is not what the entry says.
        """
        match source:
            case Relative(path=path):
                return self._folder(marketplace / path)
            case Npm():
                return self.of_package(source)
            case Url(url=url):
                raise InstallationError(f"{url} is an archive: kaa installs from folders, git repositories and npm")
            case _:
                fetched = self._repository(repository_of(source))
                if source.sha and fetched.pin != source.sha:
                    raise InstallationError(f"{source.sha} is no commit: the marketplace has another hash")
                return fetched

    def of_wheel(self, source: WheelSource) -> Fetched:
        """The plugin in a package of a project.

        Raises:
            InstallationError: there is none.
        """
        wheel, listing = plugin_of(source)
        tree = self._tree()
        for path in listing.files(""):
            if (data := listing.read(path)) is not None:
                tree.write(path, io.BytesIO(data))
        return Fetched(tree.top, f"{wheel.name} {wheel.version}")

    def _folder(self, folder: Path) -> Fetched:
        if not folder.is_dir():
            raise UnknownNameError(f"{folder} is no folder" if folder.exists() else f"{folder} does not exist")
        tree = self._tree()
        copy_folder(folder, tree)
        return Fetched(tree.top)

    def _repository(self, source: GitSource) -> Fetched:
        repository = FetchedRepository(self._staging / "repository", self._environ)
        commit = repository.fetch(source)
        tree = self._tree()
        repository.write(commit, source, tree)
        return Fetched(tree.top, commit)

    def of_package(self, source: Npm) -> Fetched:
        """The plugin in a package of npm.

        Raises:
            InstallationError: it cannot be had.
        """
        programs = host_programs(self._environ)
        if (npm := programs.find("npm")) is None:
            raise InstallationError(
                programs.refusal("npm") or "npm is not installed: install it to install this plugin"
            )
        environ, told = programs.fetching()
        downloads = self._staging / "downloads"
        downloads.mkdir(0o700)
        package = f"{source.package}@{source.version}" if source.version else source.package
        registry = [f"--registry={source.registry}"] if source.registry else []
        printed = run_fetching(
            [npm, "pack", package, "--json", "--ignore-scripts", "--pack-destination", str(downloads), *registry],
            name="npm",
            environ=environ,
            cwd=downloads,  # a project's .npmrc has no effect here
            max_bytes=MAX_BYTES,
            too_large=f"{package} is larger than {MAX_BYTES // 1024**2} MiB",
            hint=told,
            max_said=500,
        )
        try:
            [packed] = msgspec.json.decode(printed, type=list[_Packed])
        except (msgspec.MsgspecError, ValueError) as error:
            raise InstallationError(f"npm answered in a form that kaa does not know: {error}") from error
        [archive] = downloads.iterdir()
        digest = base64.b64encode(sha512(archive.read_bytes()).digest()).decode()
        if packed.integrity != f"sha512-{digest}":
            raise InstallationError(f"{package} is damaged: it has not the checksum that the registry names")
        tree = self._tree()
        _unpack(archive, tree)
        return Fetched(tree.top, f"{packed.name} {packed.version}")

    def _tree(self) -> StagedTree:
        return StagedTree(self._staging / "files", self._noun)


class _Packed(msgspec.Struct):
    """What `npm pack --json` says about the package."""

    name: str
    version: str
    integrity: str


def _unpack(archive: Path, tree: StagedTree) -> None:
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                name = member.name.partition("/")[2]  # below `package`
                if member.issym():
                    tree.link(name, member.linkname)
                elif member.isreg() and (content := packed.extractfile(member)) is not None:
                    tree.write(name, content, executable=bool(member.mode & 0o100))
                elif not member.isdir():
                    raise InstallationError(f"{member.name!r} in the archive is neither a file, a folder nor a link")
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise InstallationError(f"the archive is damaged: {error}") from error
    tree.finish()


def source_in(text: str, directory: str) -> PathSource | GitSource:
    """The folder or repository that a text names.

    Args:
        text: a path that begins with `.`, `/` or `~`, the address of a repository, or OWNER/REPOSITORY at GitHub;
            `@REF` at the end selects a branch, tag or commit.
        directory: that a relative path starts from.

    Raises:
        UnknownNameError: it names none.
    """
    found: object
    if text.startswith((".", "/", "~")):
        found = parse_source(f"{text.rstrip('/')}/", directory)
    elif match := _AT_GITHUB.fullmatch(text):
        found = parse_source(f"git+https://github.com/{match['repository']}.git{match['at'] or ''}", directory)
    elif match := _SCP.fullmatch(text):
        found = parse_source(f"git+ssh://{match['host']}/{match['path']}", directory)
    elif _ADDRESS.match(text):
        found = parse_source(f"git+{text.removeprefix('git+')}", directory)
    else:
        found = None
    if not isinstance(found, PathSource | GitSource):
        raise UnknownNameError(
            f"unknown source {text!r}: use OWNER/REPOSITORY, https://HOST/REPOSITORY.git, or a path such as ./{text}"
        )
    return found


def npm_source(text: str) -> Npm:
    """The package of npm that a text names: `npm:NAME`, or `npm:NAME@VERSION`.

    Raises:
        UnknownNameError: it names none.
    """
    if (found := _NPM.fullmatch(text)) is None:
        raise UnknownNameError(f"invalid package {text!r}: use npm:NAME, npm:@SCOPE/NAME or npm:NAME@VERSION")
    return Npm(found["package"], found["version"] or "")


def repository_of(source: Git | GitSubdir | GitHub) -> GitSource:
    """The repository of an entry; a commit counts more than a branch or tag."""
    wanted = source.sha or source.ref
    if isinstance(source, GitHub):
        return GitSource(f"https://github.com/{source.repository}.git", wanted)
    match = _SCP.fullmatch(source.url)
    url = f"ssh://{match['host']}/{match['path']}" if match else source.url
    return GitSource(url, wanted, source.path if isinstance(source, GitSubdir) else "")
