"""Makes what extensions are installed from: git repositories and wheels, without a network and without building."""

import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

MANIFEST = """\
name: greeter
version: 1.2.0
runtime: python
entry: main.py
capabilities: [commands]
permissions:
  project: read
  hosts: [api.example.com]
"""

PYTHON = "def extend(kaa):\n    pass\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git without the configuration of this machine. Returns what it printed."""
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(repository: Path, files: Mapping[str, str], *, tag: str = "") -> str:
    """Commit files to a repository, which is made if there is none. Returns the hash of the commit."""
    if not (repository / ".git").exists():
        repository.mkdir(parents=True, exist_ok=True)
        git(repository, "init", "--quiet", "--initial-branch=main")
    write(repository, files)
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--allow-empty", "--message=change")
    if tag:
        git(repository, "tag", "--annotate", "--message=release", tag)
    return git(repository, "rev-parse", "HEAD")


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder. Returns the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    *,
    entry_point: str = "",
    requires: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel for any Python. Returns its path.

    Args:
        folder: for the wheel.
        name: of the distribution.
        version: of it.
        files: contents by path.
        entry_point: `module:function` of the extension.
        requires: what it depends on.
        links: symbolic links, as an attacker could pack them, by path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {one}\n" for one in requires)
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    if entry_point:
        metadata[f"{info}/entry_points.txt"] = f"[kaa.extensions]\n{name} = {entry_point}\n"
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, **metadata}.items():
            archive.writestr(file, text)
        for file, target in (links or {}).items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)
    return path
