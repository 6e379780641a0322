"""What the manifests of packages and jars refer to elsewhere: path dependencies, members of workspaces, files."""

import glob
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kaa.host.regular_files import text_of
from kaa.shell.mcp.deciding_files import LISTS_OF_PACKAGES

# Names of manifests, and what is a path in them, relative to their folder. Sources are the manuals of the tools.
_PATHS_IN = (
    (
        r"pyproject\.toml|uv\.toml|pixi\.toml|Cargo\.toml|Pipfile",
        r"""\b(?:path|editable|directory)\s*=\s*["']([^"'\n]+)|file://(?:\$\{PROJECT_ROOT\}|\{root:uri\})?/*([^"'\s]+)""",
    ),
    (r"go\.(?:mod|work)", r"(?:=>|\buse|^)\s*(\.{1,2}/\S*|\.\.)(?=\s|$)"),
    (r"Gemfile|.+\.gemspec|gems\.rb|mix\.exs", r"""\bpath(?::|\s*=>)\s*["']([^"'\n]+)|\bgemspec\s+["']([^"'\n]+)"""),
    (r".+\.(?:cs|fs|vb)proj|.+\.(?:props|targets)", r"""\b(?:Include|Project|HintPath)\s*[=>]\s*["']?([^"'<*\n]+)"""),
    (r"(?:settings|build)\.gradle(?:\.kts)?", r"""["']:?([\w.:/-]+)["']"""),
    (r"pom\.xml", r"<(?:module|relativePath|systemPath)>\s*([^<\s]+)"),
    (r"package\.json", r'"(?:file|link|portal):([^"\n]+)"'),
    (r"composer\.json", r'"url"\s*:\s*"([^"\n]+)"'),
)
# In every manifest, and in those that have no entry above.
_UPWARD = r"""(?<![\w./-])((?:\.\./)+(?!\.\.)[^\s"'()<>,;:|&\]}]+)"""
_OTHERS = re.compile(
    r"[tj]sconfig[\w.-]*\.json|deno\.jsonc?|(?:GNU)?[mM]akefile|[jJ]ustfile|Taskfile\.ya?ml|setup\.(?:py|cfg)|\.npmrc"
)
_KINDS = tuple((re.compile(names), re.compile(f"{paths}|{_UPWARD}", re.MULTILINE)) for names, paths in _PATHS_IN)
_OTHER_PATHS = re.compile(_UPWARD)
_PROJECT = re.compile(r".+\.(?:cs|fs|vb)proj")  # it means its folder
_MEMBERS = re.compile(r"\bmembers\s*=\s*\[([^\]]*)\]")
_QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
_ALL_ARE_USED = re.compile(r"settings\.gradle(?:\.kts)?")  # Gradle executes the build of each
_NAMED = re.compile(r"""^(?:name\s*=\s*["']|module\s+|\s*"name"\s*:\s*")([^"'\s]+)""", re.MULTILINE)
_EQUAL = re.compile(r"[-_]+")
# Of an archive of Java: the manifest has a class path, whose paths begin where the archive is.
_MANIFEST_OF_JAR = "META-INF/MANIFEST.MF"
_MAX_MANIFEST_BYTES = 1024 * 1024
_CONTINUED = re.compile(r"\r?\n ")  # lines have at most 72 bytes
_CLASS_PATH = re.compile(r"^Class-Path:(.*)$", re.IGNORECASE | re.MULTILINE)
_HAVE_NAMES = ("pyproject.toml", "Cargo.toml", "go.mod", "package.json")


class _Reference(NamedTuple):
    """A folder, or a file, that a manifest refers to.

    Attributes:
        path: its real path.
        is_used: the package of the manifest uses it, whatever its other manifests name.
    """

    path: str
    is_used: bool


class PackageManifests:
    """The manifests of code, and of the folders above it."""

    def __init__(self) -> None:
        self._references: dict[str, tuple[_Reference, ...]] = {}

    def add(self, path: str) -> None:
        """Add a file, if it is a manifest."""
        name = os.path.basename(path)
        is_known = any(names.fullmatch(name) for names, _ in _KINDS)
        if is_known or _OTHERS.fullmatch(name) or LISTS_OF_PACKAGES.fullmatch(name):
            self._references[path] = tuple(_references(path))
        elif name.endswith(".jar"):
            paths = filter(os.path.exists, _class_path(path))
            self._references[path] = tuple(_Reference(os.path.realpath(one), is_used=True) for one in paths)

    def referred(self, is_own: Callable[[str], bool]) -> set[str]:
        """Real paths of the folders and files that manifests refer to.

        Args:
            is_own: whether a manifest is one of the code itself. Of the others only that counts which those of the code
                mention by name.
        """
        own = set(filter(is_own, self._references))
        texts = (_text(path) for path in sorted(own) if not path.endswith(".jar"))
        mentions = _normalized("\n".join(texts))
        return {
            path
            for manifest, found in self._references.items()
            for path, is_used in found
            if manifest in own or is_used or any(_is_mentioned(name, mentions) for name in _names_of(path))
        }


def _references(manifest: str) -> Iterator[_Reference]:
    """What a manifest refers to outside of its own folder, or as a member of its workspace."""
    folder, name = os.path.split(manifest)
    text = _text(manifest)
    paths = next((pattern for names, pattern in _KINDS if names.fullmatch(name)), _OTHER_PATHS)
    found = {next(filter(None, match.groups()), "") for match in paths.finditer(text)}
    if name.endswith((".gradle", ".kts")):
        found |= {one.replace(":", "/") for one in found}
    found |= {one.replace("\\", "/") for one in found}
    members = {one for listed in _MEMBERS.findall(text) for one in _QUOTED.findall(listed)}
    found = {one.partition("*")[0] for one in found}  # `"paths": {"@shared/*": ["../shared/*"]}` of TypeScript
    for one in sorted(filter(None, found | members)):
        path = os.path.join(glob.escape(folder), one) if one in members else os.path.join(folder, one)
        for target in glob.iglob(path) if one in members else (path,):
            if os.path.exists(target):
                led = os.path.dirname(target) if _PROJECT.fullmatch(target) else target
                yield _Reference(os.path.realpath(led), _ALL_ARE_USED.fullmatch(name) is not None)


def _class_path(archive: str) -> list[str]:
    """The paths that the manifest of an archive names; none if it cannot be read."""
    try:
        with (
            open(os.open(archive, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file,
            zipfile.ZipFile(file) as jar,
        ):
            content = jar.open(_MANIFEST_OF_JAR).read(_MAX_MANIFEST_BYTES)
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):  # Java reads no such archive
        return []
    found = _CLASS_PATH.search(_CONTINUED.sub("", content.decode(errors="replace")))
    urls = found[1].split() if found else []
    return [os.path.join(os.path.dirname(archive), unquote(urlsplit(url).path)) for url in urls]


def _names_of(folder: str) -> set[str]:
    """The names by which manifests may mention a package."""
    manifests = (os.path.join(folder, one) for one in _HAVE_NAMES)
    return {os.path.basename(folder)}.union(*(_NAMED.findall(_text(one)) for one in manifests if os.path.isfile(one)))


def _is_mentioned(name: str, normalized: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(_normalized(name))}(?![\w-])", normalized) is not None


def _normalized(text: str) -> str:
    """A text in which names of packages that mean the same are the same."""
    return _EQUAL.sub("-", text).lower()


def _text(path: str) -> str:
    """The text of a manifest; empty if it cannot be read, or is gone meanwhile."""
    try:
        return text_of(path).decode(errors="replace")
    except OSError:
        return ""
