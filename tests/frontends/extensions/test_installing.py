"""`kaa ext install` and what follows it, as they are called."""

import json
import os
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from kaa.cli import run
from kaa.ext.loader import load_extension
from kaa.shell.extensions.installer import Installer
from kaa.shell.extensions.records import ExtensionRecords
from kaa.shell.extensions.sources import parse_source
from kaa.shell.home import Home
from tests.frontends.extensions.conftest import needs_pip
from tests.support.extension_sources import MANIFEST, PYTHON, commit, git, wheel, write

PROCESS = {"manifest.yaml": MANIFEST, "main.py": "print()\n"}


class World:
    """A home and a project, and `kaa ext` in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = Home(folder / "home")
        self.project = folder / "project"
        self.project.mkdir()
        self.sources = folder / "sources"
        self.sources.mkdir()
        self.wheels = folder / "wheels"
        self.wheels.mkdir()
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def ext(self, *arguments: str) -> int:
        """Run `kaa ext`. Returns the exit code."""
        code = run(["ext", *arguments])
        printed = self._capsys.readouterr()
        self.out, self.err = printed.out, printed.err
        return code

    def listed(self) -> list[dict[str, Any]]:
        """What `kaa ext list --json` prints."""
        assert self.ext("list", "--json") == 0
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def left(self) -> list[str]:
        """The names of all that is in the folder of extensions."""
        return sorted(os.listdir(self.home.extensions)) if self.home.extensions.exists() else []


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    world = World(tmp_path, capsys)
    monkeypatch.setattr(sys, "path", sys.path[:])  # an extension that is loaded adds its libraries
    monkeypatch.setenv("KAA_DIR", str(world.home.path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(world.wheels))
    monkeypatch.chdir(world.project)
    return world


def test_a_folder_is_copied_and_recorded(world: World) -> None:
    folder = write(world.sources / "rules", {"__init__.py": PYTHON, "more/part.py": "X = 1\n"})

    code = world.ext("install", str(folder), "--yes")

    assert code == 0
    assert "rules: Python extension from" in world.out
    assert "runs inside kaa with your rights" in world.out
    assert "2 files: __init__.py, more/part.py" in world.out
    (record,) = ExtensionRecords(world.home).read().values()
    assert record.installation is not None
    assert (record.installation.origin, record.installation.entry, record.granted) == ("path", "rules", None)
    assert callable(load_extension(world.home.extensions / "rules"))
    assert world.left == ["rules"]


def test_a_file_keeps_its_suffix(world: World) -> None:
    write(world.project, {"house_rules.py": PYTHON})

    assert world.ext("install", "./house_rules.py", "--yes") == 0

    assert world.left == ["house_rules.py"]
    assert world.listed()[0]["name"] == "house_rules"


def test_a_link_uses_the_path_itself(world: World) -> None:
    folder = write(world.sources / "rules", {"__init__.py": PYTHON})

    assert world.ext("install", str(folder), "--link", "--yes") == 0

    assert (world.home.extensions / "rules").resolve() == folder
    assert world.ext("remove", "rules") == 0
    assert world.left == []
    assert (folder / "__init__.py").read_text() == PYTHON


def test_a_process_is_granted_what_its_manifest_asks_for(world: World) -> None:
    folder = write(world.sources / "x", PROCESS)

    assert world.ext("install", str(folder), "--yes") == 0

    assert "greeter 1.2.0: process extension" in world.out
    assert "asks for: read the files of the project; connect to api.example.com" in world.out
    granted = ExtensionRecords(world.home).read()["greeter"].granted
    assert granted is not None
    assert (granted.project, granted.hosts, granted.session) == ("read", ("api.example.com",), "none")


def test_without_a_user_and_without_yes_nothing_is_installed(world: World) -> None:
    folder = write(world.sources / "x", PROCESS)

    code = world.ext("install", str(folder))

    assert code == 1
    assert "nobody can be asked: give --yes" in world.err
    assert world.left == []
    assert ExtensionRecords(world.home).read() == {}


def test_an_upgrade_shows_new_permissions_and_changed_files(world: World) -> None:
    folder = write(world.sources / "x", {**PROCESS, "old.txt": "old\n"})
    world.ext("install", str(folder), "--yes")
    (folder / "old.txt").unlink()
    wider = MANIFEST.replace("project: read", "project: write").replace("1.2.0", "1.3.0")
    write(folder, {"manifest.yaml": f"{wider}  models: true\n", "new.txt": "new\n"})

    assert world.ext("install", str(folder), "--yes", "--diff") == 0

    assert "greeter 1.3.0" in world.out
    assert "replaces greeter 1.2.0" in world.out
    assert "new permission: read and write the files of the project" in world.out
    assert "new permission: call models at your cost" in world.out
    assert "added: new.txt" in world.out
    assert "removed: old.txt" in world.out
    assert "changed: manifest.yaml" in world.out
    assert "+  project: write" in world.out
    granted = ExtensionRecords(world.home).read()["greeter"].granted
    assert granted is not None
    assert (granted.project, granted.models) == ("write", True)


def test_a_commit_of_a_git_repository_is_pinned(world: World) -> None:
    first = commit(world.sources / "hello", {"__init__.py": PYTHON}, tag="v1")
    commit(world.sources / "hello", {"__init__.py": "broken"})

    assert world.ext("install", f"git+file://{world.sources}/hello@v1", "--yes") == 0

    installation = ExtensionRecords(world.home).read()["hello"].installation
    assert installation is not None
    assert installation.commit == first
    assert installation.source.endswith("/hello@v1")
    assert (world.home.extensions / "hello/__init__.py").read_text() == PYTHON
    assert f"commit {first[:12]}" in world.out
    assert world.left == ["hello"]


def test_a_full_hash_and_a_folder_of_a_repository_can_be_named(world: World) -> None:
    first = commit(world.sources / "all", {"one/__init__.py": PYTHON, "two/__init__.py": ""})
    commit(world.sources / "all", {"one/__init__.py": "broken"})

    assert world.ext("install", f"git+file://{world.sources}/all@{first}#subdirectory=one", "--yes") == 0
    assert world.left == ["one"]
    assert (world.home.extensions / "one/__init__.py").read_text() == PYTHON

    assert world.ext("install", f"git+file://{world.sources}/all", "--yes") == 1
    assert "contains extensions: one, two" in world.err
    assert "#subdirectory=FOLDER" in world.err


def test_nothing_of_a_git_repository_is_executed(world: World) -> None:
    canary = world.sources / "canary"
    repository = world.sources / "evil"
    commit(
        repository,
        {
            "__init__.py": f"open({str(canary)!r}, 'w')\n{PYTHON}",
            "setup.py": f"open({str(canary)!r}, 'w')\n",
            ".gitattributes": "* filter=evil\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = file://{repository}\n',
        },
    )
    git(repository, "config", "filter.evil.smudge", f"touch {canary}")
    git(repository, "config", "core.fsmonitor", f"touch {canary}")
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)

    assert world.ext("install", f"git+file://{repository}", "--yes") == 0

    assert not canary.exists()
    assert (world.home.extensions / "evil/.gitattributes").exists()


def test_links_of_a_repository_that_lead_out_are_refused(world: World) -> None:
    repository = world.sources / "evil"
    write(repository, {"__init__.py": PYTHON})
    (repository / "inside").symlink_to("__init__.py")
    (repository / "outside").symlink_to("../../auth.json")
    commit(repository, {})

    assert world.ext("install", f"git+file://{repository}", "--yes") == 1

    assert "the link 'outside' leads out of the extension, to '../../auth.json'" in world.err
    assert world.left == []


def test_a_reference_that_is_not_there_says_so(world: World) -> None:
    commit(world.sources / "hello", {"__init__.py": PYTHON})

    assert world.ext("install", f"git+file://{world.sources}/hello@v9", "--yes") == 1

    assert "git failed: fatal: couldn't find remote ref v9" in world.err
    assert world.left == []


@needs_pip
@pytest.mark.usefixtures("unpacked_pip")
def test_a_wheel_and_its_dependency_get_a_folder_of_their_own(world: World) -> None:
    canary = world.sources / "canary"
    body = (
        f"import acme_helper, pathlib\npathlib.Path({str(canary)!r}).touch()\n"
        "API_VERSION = 1\ndef extend(kaa):\n    return acme_helper.NAME\n"
    )
    wheel(
        world.wheels,
        "acme-rules",
        "2.0",
        {"acme_rules/__init__.py": body},
        entry_point="acme_rules:extend",
        requires=["acme-helper>=1"],
    )
    wheel(world.wheels, "acme-helper", "1.5", {"acme_helper.py": "NAME = 'helped'\n"})

    assert world.ext("install", "acme-rules==2.0", "--yes") == 0, world.err

    assert not canary.exists()
    assert "acme-rules 2.0: Python extension" in world.out
    installation = ExtensionRecords(world.home).read()["acme-rules"].installation
    assert installation is not None
    assert sorted(installation.wheels) == ["acme_helper-1.5-py3-none-any.whl", "acme_rules-2.0-py3-none-any.whl"]
    assert all(len(sha256) == 64 for sha256 in installation.wheels.values())
    assert world.left == ["acme-rules"]
    extend: Any = load_extension(world.home.extensions / "acme-rules")
    assert extend(None) == "helped"
    assert world.ext("doctor") == 0


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_wheel_cannot_replace_a_library_of_kaa(world: World) -> None:
    wheel(
        world.wheels,
        "acme-old",
        "1.0",
        {"acme_old.py": PYTHON},
        entry_point="acme_old",
        requires=["msgspec<0.1"],
    )
    wheel(world.wheels, "msgspec", "0.0.1", {"msgspec/__init__.py": ""})

    assert world.ext("install", "acme-old", "--yes") == 1

    assert "needs msgspec 0.0.1, but kaa runs with msgspec" in world.err
    assert world.left == []


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_module_of_a_wheel_that_kaa_has_is_not_loaded_in_its_place(world: World) -> None:
    wheel(world.wheels, "acme-shadow", "1.0", {"msgspec/__init__.py": PYTHON}, entry_point="msgspec:extend")
    world.ext("install", "acme-shadow", "--yes")

    with pytest.raises(Exception, match="has the same name and comes first"):
        load_extension(world.home.extensions / "acme-shadow")


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_source_distribution_is_not_built(world: World) -> None:
    canary = world.sources / "canary"
    project = write(
        world.sources / "acme_built-1.0",
        {"setup.py": f"open({str(canary)!r}, 'w')\n", "PKG-INFO": "Name: acme-built\n"},
    )
    with tarfile.open(world.wheels / "acme_built-1.0.tar.gz", "w:gz") as archive:
        archive.add(project, "acme_built-1.0")

    assert world.ext("install", "acme-built", "--yes") == 1

    assert "No matching distribution found for acme-built" in world.err
    assert not canary.exists()


@needs_pip
@pytest.mark.usefixtures("forked_pip")
@pytest.mark.parametrize("form", ["archive", "git"])
def test_what_a_wheel_requires_by_address_is_not_built(world: World, form: str) -> None:
    canary = world.sources / "canary"
    files = {"setup.py": f"open({str(canary)!r}, 'w')\nimport setuptools\nsetuptools.setup(name='acme-dep')\n"}
    repository = world.sources / "acme-dep"
    commit(repository, files)
    with tarfile.open(world.sources / "acme-dep-1.0.tar.gz", "w:gz") as archive:
        archive.add(repository, "acme-dep-1.0")
    address = {"archive": f"file://{world.sources}/acme-dep-1.0.tar.gz", "git": "git+https://127.0.0.1:9/acme-dep.git"}[
        form
    ]
    wheel(
        world.wheels,
        "acme-direct",
        "1.0",
        {"acme_direct.py": PYTHON},
        entry_point="acme_direct",
        requires=[f"acme-dep @ {address}"],
    )

    assert world.ext("install", "acme-direct", "--yes") == 1

    assert not canary.exists()
    assert "kaa does not let pip start" in world.err
    assert world.left == []


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_process_in_a_wheel_is_installed_as_a_process(world: World) -> None:
    wheel(world.wheels, "acme-greeter", "3.0", {f"acme_greeter/{name}": text for name, text in PROCESS.items()})

    assert world.ext("install", "acme-greeter", "--yes") == 0

    assert "greeter 3.0: process extension" in world.out
    assert world.listed()[0]["kind"] == "process"
    assert sorted(os.listdir(world.home.extensions / "greeter")) == ["main.py", "manifest.yaml"]


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_wheel_file_is_installed_from_its_path(world: World) -> None:
    file = wheel(world.sources, "acme-file", "1.0", {"acme_file.py": PYTHON}, entry_point="acme_file")

    assert world.ext("install", str(file), "--yes") == 0, world.err

    assert callable(load_extension(world.home.extensions / "acme-file"))


@needs_pip
@pytest.mark.usefixtures("forked_pip")
def test_a_hostile_wheel_is_refused_and_leaves_nothing(world: World) -> None:
    wheel(world.wheels, "acme", "1.0", {"../outside.py": ""}, entry_point="acme:extend")

    assert world.ext("install", "acme", "--yes") == 1

    assert "leads out of the extension" in world.err
    assert world.left == []
    assert not list(world.home.path.rglob("outside.py"))


@pytest.mark.usefixtures("forked_pip")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("https://example.com/x.zip", "write git+https://"),
        ("git+http://example.com/x", "use git+https://, git+ssh://, git+file://"),
        ("git+ext::sh -c touch", "use git+https://"),
        ("git+https://example.com/x@--upload-pack=evil", "invalid reference"),
        ("git+https://example.com/x@a..b", "invalid reference"),
        ("git+https://example.com/x#subdirectory=../y", "write #subdirectory=FOLDER"),
        ("git+https://u:secret@example.com/x", "contains a password"),
        ("--index-url=http://evil", "unknown source"),
        ("acme>=1", "unknown source"),
        ("./missing", "does not exist"),
        pytest.param(
            "acme", "pip failed: Could not find a version that satisfies the requirement acme", marks=needs_pip
        ),
    ],
)
def test_a_source_that_is_none_is_refused(world: World, source: str, said: str) -> None:
    code = world.ext("install", "--yes", "--", source)

    assert code == (1 if said.startswith("pip failed") else 2)
    assert said in world.err
    assert "secret" not in world.err.replace("password", "")
    assert world.left == []


def test_a_name_that_is_also_a_file_here_is_ambiguous(world: World) -> None:
    write(world.project / "acme", {"__init__.py": PYTHON})

    assert world.ext("install", "acme", "--yes") == 2

    assert "write ./acme or pypi:acme" in world.err


def test_a_folder_that_needs_a_build_says_what_to_do(world: World) -> None:
    write(world.project / "acme", {"pyproject.toml": "", "src/acme/code.py": ""})

    assert world.ext("install", "./acme", "--yes") == 1

    assert "build a wheel of it and install that" in world.err


def test_two_installations_at_the_same_time_do_not_collide(world: World) -> None:
    for number in range(4):
        write(world.sources / f"e{number}", {"__init__.py": PYTHON})
    failures: list[BaseException] = []

    def install(number: int) -> None:
        try:
            installer = Installer(world.home, os.environ)
            with installer.prepare(parse_source(f"{world.sources}/e{number}", "/")) as prepared:
                installer.install(prepared, None)
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=install, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert world.left == [f"e{number}" for number in range(4)] == sorted(ExtensionRecords(world.home).read())


def test_of_two_installations_of_one_name_the_second_is_refused(world: World) -> None:
    folder = write(world.sources / "rules", {"__init__.py": PYTHON})
    installer = Installer(world.home, os.environ)
    source = parse_source(str(folder), "/")

    with installer.prepare(source) as slow:
        assert world.ext("install", str(folder), "--yes") == 0
        with pytest.raises(Exception, match="was changed meanwhile: try again"):
            installer.install(slow, None)

    assert world.left == ["rules"]


def test_a_record_that_cannot_be_written_leaves_the_old_version(world: World) -> None:
    folder = write(world.sources / "rules", {"__init__.py": PYTHON})
    assert world.ext("install", str(folder), "--yes") == 0
    write(folder, {"__init__.py": f"# newer\n{PYTHON}"})
    installer = Installer(world.home, os.environ)

    with installer.prepare(parse_source(str(folder), "/")) as prepared:
        (world.home.path / "extensions.json").unlink()
        (world.home.path / "extensions.json").mkdir()
        with pytest.raises(Exception, match=r"extensions\.json"):
            installer.install(prepared, None)

    assert (world.home.extensions / "rules/__init__.py").read_text() == PYTHON
    assert world.left == ["rules"]


def test_the_list_shows_state_version_and_source(world: World) -> None:
    write(world.sources / "x", PROCESS)
    world.ext("install", str(world.sources / "x"), "--yes")
    write(world.home.extensions, {"mine.py": PYTHON})
    world.ext("disable", "mine")

    assert world.ext("list") == 0

    rows = [line.split() for line in world.out.splitlines()]
    pinned = world.listed()[0]["pinned"]
    assert rows == [
        ["name", "state", "kind", "version", "pinned", "source"],
        ["greeter", "enabled", "process", "1.2.0", pinned[:10], str(world.sources / "x")],
        ["mine", "disabled", "Python", "-", "-", "-"],
    ]
    assert world.listed()[0]["permissions"] == {"project": "read", "hosts": ["api.example.com"]}


def test_a_disabled_extension_can_be_enabled_again(world: World) -> None:
    write(world.home.extensions, {"mine.py": PYTHON})

    assert world.ext("disable", "mine") == 0
    assert world.out == "mine is disabled\n"
    assert not ExtensionRecords(world.home).read()["mine"].enabled
    assert world.ext("enable", "mine") == 0
    assert ExtensionRecords(world.home).read() == {}
    assert world.ext("enable", "other") == 2
    assert "there is no extension 'other'" in world.err


def test_a_removed_extension_is_gone_with_its_record(world: World) -> None:
    write(world.sources / "x", PROCESS)
    world.ext("install", str(world.sources / "x"), "--yes")

    assert world.ext("remove", "greeter") == 0

    assert world.left == []
    assert ExtensionRecords(world.home).read() == {}
    assert world.ext("remove", "greeter") == 2


def test_the_doctor_finds_changed_and_missing_files_and_missing_permissions(world: World) -> None:
    write(world.sources / "x", PROCESS)
    world.ext("install", str(world.sources / "x"), "--yes")
    wider = MANIFEST.replace("project: read", "project: write")
    write(world.home.extensions / "greeter", {"manifest.yaml": wider})

    assert world.ext("doctor") == 1
    assert "its files changed after the installation" in world.out
    assert "you have not permitted what it asks for (read and write the files of the project)" in world.out
    assert "`kaa ext permit greeter` permits it" in world.out

    assert world.ext("doctor", "--json") == 1
    checked = [json.loads(line) for line in world.out.splitlines()]
    assert [(one["name"], one["kind"], len(one["problems"])) for one in checked] == [("greeter", "process", 2)]

    (world.home.extensions / "greeter").rename(world.sources / "away")
    assert world.ext("doctor", "greeter") == 1
    assert f"its files are gone: run kaa ext install {world.sources}/x" in world.out


def test_an_extension_is_there_at_every_moment_of_an_upgrade(world: World) -> None:
    """kaa can be killed at each of them."""
    entry = world.home.extensions / "rules" / "__init__.py"
    folder = write(world.sources / "rules", {"__init__.py": PYTHON})
    assert world.ext("install", str(folder), "--yes") == 0
    missing: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            if not entry.exists():
                missing.append(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(100):
        write(folder, {"__init__.py": f"# {number}\n{PYTHON}"})
        installer = Installer(world.home, os.environ)
        with installer.prepare(parse_source(str(folder), "/")) as prepared:
            installer.install(prepared, None)
    is_over.set()
    watcher.join()

    assert missing == []
    assert entry.read_text().startswith("# 99\n")


def test_a_full_disk_is_named_and_leaves_the_old_version(world: World) -> None:
    folder = write(world.sources / "rules", {"__init__.py": PYTHON, "data": "1" * 600_000})
    world.home.path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(world.home.path)], check=False).returncode:
        pytest.skip("only root can mount a small file system")
    try:
        assert world.ext("install", str(folder), "--yes") == 0
        write(folder, {"data": "2" * 600_000})

        assert world.ext("install", str(folder), "--yes") == 1

        assert world.err == f"kaa: {world.home.extensions}: No space left on device\n"
        assert (world.home.extensions / "rules" / "data").read_text() == "1" * 600_000
        assert world.left == ["rules"]
    finally:
        subprocess.run(["umount", str(world.home.path)], check=True)
