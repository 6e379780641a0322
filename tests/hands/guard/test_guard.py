"""The guard as the brain sees it: served over a socket, with real files, real git and writers that do not wait."""

import binascii
import mmap
import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kaa.hands import guard, wire
from kaa.hands.confinement import named
from kaa.hands.connection import WireConnection
from kaa.hands.digest import new_digest
from kaa.hands.executed_names import CHOICES
from kaa.hands.guard import directories, git_directory, room, service, watcher
from kaa.hands.guard.git_directory import GitDirectory, GitDirectoryContent, read_links
from kaa.hands.guard.judged import JUDGES
from kaa.hands.guard.quarantine import MountedError, move_away
from kaa.hands.inotify import watches_of_user
from kaa.hands.policy import GUARDED_DEPTH, PROTECTED_NAMES, Policy
from kaa.hands.protected import JUDGED_PATHS
from kaa.hands.settings import HandsSettings
from tests.support.full_disk import files_limited_to
from tests.support.patience import HANG_SECONDS

_TOLD, _ON_ITS_OWN = "told by inotify", "on its own"
_LOOKS = 200  # at something that changes: enough to come upon it in between
_COMES_AND_GOES = """
import os, sys
name, content = sys.argv[1], sys.argv[2].encode()
while True:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, content)
    os.close(descriptor)
    os.unlink(name)
"""
_EVIL = "[core]\n\tfsmonitor = ./evil\n"
_needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


class Brain:
    """Asks a guard."""

    def __init__(self, root: Path, policy: Policy, *, begins: bool = True) -> None:
        ours, theirs = socket.socketpair()
        self._ours = ours
        self.busy_at: list[str] = []  # what it has told of
        self._connection, self._theirs = WireConnection(ours), WireConnection(theirs)
        self._thread = threading.Thread(
            target=guard.serve, args=(self._theirs, HandsSettings(str(root), "/"), policy), daemon=True
        )
        self._thread.start()
        self._root = root
        if begins:
            assert self.check() == {}  # whatever is there at the start is in order

    def ask(self, op: str, **fields: object) -> dict[str, Any]:
        self._connection.send({"op": op, **fields})
        while True:
            frame = self._connection.receive()
            assert frame is not None
            if "busy" not in frame.header:
                return frame.header
            self.busy_at.append(str(frame.header["busy"]))

    def signs(self) -> Sequence[int]:
        """What the guard gives to poll; the caller closes the last one."""
        self._connection.send({"op": "signs"})
        _, descriptors = wire.receive(self._ours)
        wire.close_all(descriptors[:-1])
        return descriptors

    def check(self) -> dict[str, str]:
        """What was moved: old paths and new ones, relative to the project."""
        findings = self.ask("check")["findings"]
        return {self._relative(finding["path"]): self._relative(finding["kept_as"]) for finding in findings}

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root)

    def hang_up(self) -> None:
        if not self._thread.is_alive():
            return
        self._connection.close()
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive()
        self._theirs.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project; things are made beside it and moved in, because the guard is quicker than their maker."""
    (tmp_path / "stage").mkdir()
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture(params=[_TOLD, _ON_ITS_OWN])
def start(
    request: pytest.FixtureRequest, project: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Brain]]:
    """Starts a guard once the test has prepared it."""
    if request.param == _ON_ITS_OWN:
        monkeypatch.setattr(service, "_inotify", lambda: None)
    brains = []

    def start(*, begins: bool = True, **policy: Any) -> Brain:
        chosen = {"tier": "landlock", "mode": "workspace-write", "writable": (str(project),), **policy}
        brains.append(Brain(project, Policy(**chosen), begins=begins))
        return brains[-1]

    yield start
    for brain in brains:
        brain.hang_up()


def _git(*arguments: str, cwd: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.example",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.example",
    }
    subprocess.run(["git", *arguments], cwd=cwd, env=environment, check=True, capture_output=True)


def _repository(path: Path, config: str = "") -> Path:
    """Move a directory to `path` that git takes for a repository."""
    stage = _stage_for(path)
    for name in ("objects", "refs", "hooks"):
        (stage / name).mkdir(parents=True)
    (stage / "HEAD").write_text("ref: refs/heads/main\n")
    (stage / "config").write_text(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    return stage.rename(path)


def _write(path: Path, content: str) -> None:
    """Move a file to `path`."""
    stage = _stage_for(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    stage.write_text(content)
    stage.rename(path)


def _write_link(path: Path, target: str) -> None:
    """Move a symlink to `path`."""
    stage = _stage_for(path)
    stage.symlink_to(target)
    stage.rename(path)


def _stage_for(path: Path) -> Path:
    """A free name on the same filesystem."""
    stage = next(parent / "stage" for parent in path.parents if (parent / "stage").is_dir())
    return stage / os.urandom(4).hex()


def test_new_protected_names_are_moved_away_and_kept(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    names = [*PROTECTED_NAMES, "evil.code-workspace", "evil.sublime-project", "mise.ci.toml", ".mise.ci.local.toml"]

    moved: dict[str, str] = {}
    for start_of_batch in range(0, len(names), 10):  # one check reports a few dozen findings
        for name in names[start_of_batch : start_of_batch + 10]:
            stage = _stage_for(project / name)
            stage.mkdir()
            (stage / "tasks.json").write_text("evil")
            stage.rename(project / name)
        moved |= brain.check()

    assert moved == {name: f"{name}.kaa-blocked" for name in names}
    assert not [name for name in names if (project / name).exists()]
    assert {(project / f"{name}.kaa-blocked" / "tasks.json").read_text() for name in names} == {"evil"}
    assert brain.check() == {}


def test_a_new_directory_stays_as_long_as_it_is_empty(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    directories = [project / ".vscode", project / ".claude" / "commands", project / "sub" / ".idea"]

    for directory in directories:
        directory.mkdir(parents=True)
        assert brain.check() == {}
    for directory in directories:
        (directory / "a").write_text("evil")

    names = [".claude", ".vscode", "sub/.idea"]
    assert brain.check() == {name: f"{name}.kaa-blocked" for name in names}
    assert not [name for name in names if (project / name).exists()]
    assert (project / ".claude.kaa-blocked" / "commands" / "a").read_text() == "evil"
    assert brain.check() == {}


def test_who_fills_a_new_directory_is_not_interrupted(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    for name in ("settings.json", "tasks.json", "snippets/a"):
        (project / ".vscode" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / ".vscode" / name).write_text(name)
        brain.ask("news")  # everything has been dealt with
        assert not (project / ".vscode" / name).exists()
    brain.check()

    kept = project / ".vscode.kaa-blocked"
    assert sorted(os.listdir(kept)) == ["settings.json", "snippets", "tasks.json"]
    assert (kept / "snippets" / "a").read_text() == "snippets/a"
    assert not (project / ".vscode").exists()
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").touch()
    assert brain.check() == {".vscode": ".vscode.kaa-blocked-2"}


def test_a_new_directory_with_more_than_is_looked_at_is_moved_away_as_a_whole(
    project: Path, start: Callable[..., Brain]
) -> None:
    brain = start()
    (project / ".cursor").mkdir()
    brain.ask("news")

    deep = Path("1/2/3/4/5/6")
    (project / deep).mkdir(parents=True)
    (project / "1").rename(project / ".cursor" / "1")
    for number in range(60):
        _write(project / "prepared" / str(number), "evil")
    (project / "prepared").rename(project / ".zed")

    assert brain.check() == {".cursor": ".cursor.kaa-blocked", ".zed": ".zed.kaa-blocked"}
    assert (project / ".cursor.kaa-blocked" / deep).is_dir()
    assert not (project / ".cursor").exists()
    assert not (project / ".zed").exists()


def test_many_new_directories_take_no_watches_from_others(project: Path, start: Callable[..., Brain]) -> None:
    """All in one directory are moved away with it, so that the thread hears what comes into the next one."""
    brain = start()

    for number in range(40):
        (project / "prepared" / str(number)).mkdir(parents=True)
    (project / "prepared").rename(project / ".zed")
    (project / ".vscode").mkdir()

    assert brain.check() == {".zed": ".zed.kaa-blocked"}
    assert (project / ".vscode").exists()


def test_what_is_kept_is_never_overwritten(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    for number in range(12):
        _write(project / ".envrc", str(number))
        assert ".envrc" in brain.check()

    kept = sorted(path.read_text() for path in project.iterdir())
    assert kept == sorted(str(number) for number in range(12))


def test_a_finding_says_what_it_is_about(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    (project / ".envrc").touch()
    _repository(project / "sub" / ".git", _EVIL)
    _repository(project / ".git")

    by_name = {os.path.basename(finding["path"]): finding for finding in brain.ask("check")["findings"]}
    assert by_name[".envrc"]["kind"] == "protected"
    assert by_name[".git"]["kind"] == "git"  # with git writes allowed it may be there
    assert by_name["config"]["kind"] == "protected"
    assert "execute" in by_name["config"]["why"]


def test_names_that_nobody_obeys_there_and_ordinary_files_stay(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    (project / "sub" / ".husky").mkdir(parents=True)
    (project / "sub" / ".gitmodules").touch()
    (project / "a" / "node_modules" / "x" / ".vscode").mkdir(parents=True)
    (project / "config").write_text(_EVIL)
    (project / ".gitignore").touch()

    assert brain.check() == {}


@pytest.mark.parametrize(
    "path",
    ["sub/.vscode", "a/b/c/d/e/f/g/h/.envrc", "a/.claude", "x.code-workspace", "sub/X.Code-Workspace", "a/.VSCode"],
)
def test_names_that_are_obeyed_anywhere_are_moved_away(project: Path, start: Callable[..., Brain], path: str) -> None:
    brain = start()

    (project / path).parent.mkdir(parents=True, exist_ok=True)
    _write(project / path, "evil")

    assert brain.check() == {path: f"{path}.kaa-blocked"}


def test_a_change_further_down_is_undone(project: Path, start: Callable[..., Brain]) -> None:
    settings = project / "sub" / ".vscode" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("mine")
    brain = start()

    settings.write_text("evil")

    assert list(brain.check()) == ["sub/.vscode/settings.json"]
    assert settings.read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".yarnrc.yml", "yarnPath: .yarn/evil.cjs\n"),
        (".yarnrc.yml", '"yarn\\x50ath": evil'),
        ("sub/.yarnrc.yml", "plugins:\n  - evil\n"),
        (".yarnrc", "yarn-path evil\n"),
        (".cargo/config.toml", '[build]\nrustc-wrapper = "evil"'),
        (".cargo/config.toml", '[target.x86_64-unknown-linux-gnu]\nrunner = "evil"'),
        (".cargo/config.toml", '[alias]\nt = ["--config=build.rustc=evil", "test"]'),
        (".cargo/config.toml", 'registries.x.credential-provider = "evil"'),
        ("sub/.cargo/config", "= not read by cargo either"),
        (".hg/hgrc", "[hooks]\nupdate = evil\n"),
        (".hg/hgrc", "[paths]\n%include ../evil\n"),
        ("sub/.hg/sharedpath", "../evil\n"),
        (".jj/repo/config.toml", '[ui]\npager = "evil"'),
        (".github/hooks/x.json", "{}"),
        (".github/mcp.json", "{}"),
        (".vim/coc-settings.json", "{}"),
        (".github/lsp.json", "{}"),
        (".github/extensions/x/extension.mjs", ""),
        (".github/copilot/settings.json", "{}"),
        (".config/mise.toml", "[env]"),
        ("sub/.config/mise/conf.d/x.toml", "[env]"),
        ("mise/config.toml", "[env]"),
        ("rust-toolchain.toml", '[toolchain]\npath = "evil"\n'),
        ("rust-toolchain.toml", 'toolchain.path = "evil"\n'),
        ("sub/rust-toolchain", '[toolchain]\n"p\\u0061th" = "evil"\n'),
        (".tool-versions", "nodejs path:evil\n"),
        (".tool-versions", "nodejs {{exec(command='evil')}}\n"),
        (".python-version", "path:/project/evil\n"),
        (".python-version", "# path:/project/evil\n"),
        (".python-version", "./evil/bin/python3\n"),
        ("sub/.nvmrc", "../../evil\n"),
        (".ruby-version", "evil/ruby\n"),
        ("global.json", '{"sdk": {"paths": ["evil"]}}'),
        ("global.json", '{"sdk": {"p\\u0061ths": ["evil"]}}'),
        (".luarc.json", '{"runtime.plugin": "evil.lua"}'),
        ("hie.yaml", "cradle:\n  bios:\n    program: evil\n"),
        ("hie.yaml", 'cradle: {"b\\x69os": {"pr\\x6fgram": "evil"}}'),
        (".sl/config", "[hooks]\nupdate = evil\n"),
        (".pijul/config", "[hooks]"),
        (".bzr/branch/branch.conf", "push_location = ../x\npost_commit = evil\n"),
        (".bzr/branch/branch.conf", "gpg_signing_command=evil\n"),
        ("_darcs/prefs/defaults", "apply posthook evil\n"),
        (".gitmodules", '[submodule "x"]\n\tpath = x\n\tupdate = !evil\n'),
        (".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = ext::evil\n'),
        (".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = -uevil\n'),
        (".gitmodules", '[submodule "../../x"]\n\tpath = x\n'),
        (".gitmodules", '[submodule "x"]\n\tpath = .GIT/hooks\n'),
        (".gitmodules", "[core]\n\tfsmonitor = evil\n"),
        (".gitmodules", "evil"),
    ],
)
def test_what_a_file_would_make_others_execute_is_moved_away(
    project: Path, start: Callable[..., Brain], path: str, content: str
) -> None:
    brain = start()

    (project / path).parent.mkdir(parents=True, exist_ok=True)
    _write(project / path, content)

    assert brain.check() == {path: f"{path}.kaa-blocked"}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".yarnrc.yml", "nodeLinker: node-modules\n"),
        (".bzr/branch/branch.conf", "parent_location = http://example.org/x/\npush_location = ../x\n"),
        (".yarnrc", 'registry "https://registry.example"\n'),
        (
            ".cargo/config.toml",
            '[build]\ntarget-dir = "x"\n[alias]\nxtask = "run --package xtask --"\n[net]\noffline = true',
        ),
        (".hg/hgrc", "# example\n[paths]\ndefault = https://example.org/x\n"),
        (".github/workflows/test.yml", "on: push\n"),
        (".jj/repo/store/type", "git"),
        (
            "rust-toolchain.toml",
            '# ours\n[toolchain]\nchannel = "1.90"\ncomponents = [\n  "clippy",\n]\nprofile = "minimal"\n',
        ),
        ("rust-toolchain", "nightly-2026-01-01\n"),
        (".tool-versions", "nodejs 22.1.0\npython 3.13.1 # ours\n"),
        (".python-version", "# ours\n3.13.1\n3.12/envs/kaa # its\ncpython-3.11.2-linux-x86_64-gnu\n"),
        (".nvmrc", "lts/*\n"),
        (".node-version", ">=20 <23\n"),
        (".ruby-version", "ruby-3.4.1@kaa\n"),
        (".sdkmanrc", "java=21.0.5-tem\n"),
        ("global.json", '{"sdk": {"version": "10.0.100", "rollForward": "latestFeature"}}'),
        (".luarc.json", '{"runtime.version": "LuaJIT"}'),
        ("hie.yaml", "cradle:\n  cabal:\n    - path: src\n      component: lib:x\n"),
        (".gitmodules", '[submodule "a/b"]\n\tpath = a/b\n\turl = ../b.git\n\tbranch = main\n\tupdate = merge\n'),
        ("sub/.gitmodules", "not read there"),
        (".config/dotnet-tools.json", "{}"),
        (".config/nextest.toml", ""),
        ("mise.md", "how we use mise"),
        ("rust-toolchain.md", ""),
    ],
)
def test_what_toolchains_write_by_themselves_stays(
    project: Path, start: Callable[..., Brain], path: str, content: str
) -> None:
    brain = start()

    (project / path).parent.mkdir(parents=True, exist_ok=True)
    _write(project / path, content)

    assert brain.check() == {}


def test_a_chosen_version_may_change_until_it_executes(project: Path, start: Callable[..., Brain]) -> None:
    _write(project / "rust-toolchain.toml", '[toolchain]\nchannel = "1.89"\n')
    brain = start()

    (project / "rust-toolchain.toml").write_text('[toolchain]\nchannel = "1.90"\n')
    harmless = brain.check()
    (project / "rust-toolchain.toml").write_text('[toolchain]\npath = "evil"\n')
    harmful = brain.check()

    assert harmless == {}
    assert list(harmful) == ["rust-toolchain.toml"]
    assert "evil" not in (project / "rust-toolchain.toml").read_text()


def test_every_judged_path_has_a_judge() -> None:
    assert set(JUDGES) == {*JUDGED_PATHS, *CHOICES}


def test_a_change_below_a_protected_name_is_undone(project: Path, start: Callable[..., Brain]) -> None:
    settings = project / ".vscode" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("mine")
    settings.chmod(0o640)
    (project / ".envrc").write_text("mine")
    brain = start()

    settings.write_text("evil")
    (project / ".envrc").write_text("evil")
    (settings.parent / "tasks.json").write_text("evil")

    assert brain.check() == {
        ".envrc": ".envrc.kaa-blocked",
        ".vscode/settings.json": ".vscode/settings.json.kaa-blocked",
        ".vscode/tasks.json": ".vscode/tasks.json.kaa-blocked",
    }
    assert settings.read_text() == (project / ".envrc").read_text() == "mine"
    assert settings.stat().st_mode & 0o777 == 0o640
    assert brain.check() == {}


def test_the_guards_of_two_kaa_do_not_move_what_the_other_one_keeps_for_ever(
    project: Path, start: Callable[..., Brain]
) -> None:
    (project / ".vscode").mkdir()
    first, second = start(), start()

    (project / ".vscode" / "tasks.json").write_text("evil")
    for _ in range(3):
        first.check()
        second.check()

    [kept] = (project / ".vscode").iterdir()
    assert kept.name in ("tasks.json.kaa-blocked", "tasks.json.kaa-blocked-2")
    assert (first.check(), second.check(), kept.read_text()) == ({}, {}, "evil")
    kept.rename(project / ".vscode" / "tasks.json")
    first.check()
    second.check()
    assert not (project / ".vscode" / "tasks.json").exists()


@pytest.mark.parametrize("path", [".vscode/tasks.json", ".envrc"])
def test_what_another_kaa_moves_on_at_once_is_left_alone(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def move_twice(directory: int, name: str, ending: str = "") -> str | None:
        kept = move_away(directory, name, ending)
        assert kept is not None
        move_away(directory, kept, ending)
        return kept

    monkeypatch.setattr(watcher, "move_away", move_twice)
    (project / ".vscode").mkdir()
    brain = start()

    (project / path).write_text("evil")

    assert brain.check() == {path: f"{path}.kaa-blocked"}
    assert brain.check() == {}
    assert (project / f"{path}.kaa-blocked-2").read_text() == "evil"


@pytest.mark.parametrize("swap", ["link", "directory"])
def test_a_protected_name_that_becomes_something_else_is_moved_away(
    project: Path, start: Callable[..., Brain], swap: str
) -> None:
    (project / ".vscode").mkdir()
    (project / "evil").mkdir()
    (project / "evil" / "tasks.json").write_text("evil")
    brain = start()

    (project / ".vscode").rename(project / "old")
    if swap == "link":
        (project / ".vscode").symlink_to("evil")
    else:
        (project / "evil").rename(project / ".vscode")

    assert list(brain.check()) == ([".vscode"] if swap == "link" else [".vscode/tasks.json"])
    assert not (project / ".vscode" / "tasks.json").exists()


def test_removing_and_putting_back_the_same_is_no_change(project: Path, start: Callable[..., Brain]) -> None:
    (project / ".envrc").write_text("mine")
    brain = start()

    (project / ".envrc").unlink()
    assert brain.check() == {}
    _write(project / ".envrc", "mine")
    assert brain.check() == {}
    _write(project / ".envrc", "evil")

    assert list(brain.check()) == [".envrc"]
    assert (project / ".envrc").read_text() == "mine"


@_needs_git
@pytest.mark.parametrize("place", ["node_modules/x/y", ".venv/lib/x", "1/2/3/4/5/6/7/8/9"])
@pytest.mark.parametrize("first", ["repository", "index"])
def test_where_an_index_leads_is_guarded_however_far_down(
    project: Path, start: Callable[..., Brain], place: str, first: str
) -> None:
    _git("init", cwd=project)
    (project / place).parent.mkdir(parents=True)
    brain = start(git_writable=True)

    if first == "repository":
        _repository(project / place / ".git", _EVIL)
        assert brain.check() == {}
    _git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{place}", cwd=project)
    assert ".git/index" not in brain.check()
    if first == "index":
        _repository(project / place / ".git", _EVIL)
        brain.check()

    assert not (project / place / ".git" / "config").exists()
    assert (project / place / ".git" / "config.kaa-blocked").read_text() == _EVIL
    (project / place).parent.rename(project / "aside")
    _repository(project / place / ".git", _EVIL)
    assert brain.check() == {f"{place}/.git/config": f"{place}/.git/config.kaa-blocked"}


@_needs_git
def test_where_the_index_of_a_submodule_leads_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", "dependency", cwd=project.parent)
    _git("commit", "--allow-empty", "-m", "x", cwd=project.parent / "dependency")
    _git("init", cwd=project)
    brain = start(git_writable=True)
    _git("-c", "protocol.file.allow=always", "submodule", "add", "../dependency", "module", cwd=project)
    assert brain.check() == {}

    _git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},venv/x/y", cwd=project / "module")
    _repository(project / "module" / "venv" / "x" / "y" / ".git", _EVIL)

    assert list(brain.check()) == ["module/venv/x/y/.git/config"]


@pytest.mark.parametrize("inner", ["v/x/y/z/w/u/t", "a/modules/b/modules/c/modules/d/modules/e/modules/f"])
def test_a_submodule_with_a_long_name_is_guarded(project: Path, start: Callable[..., Brain], inner: str) -> None:
    git = _repository(project / ".git")
    for name in inner.split("/modules/"):
        git = git / "modules" / name
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
    brain = start(git_writable=True)

    _write(git / "config", _EVIL)

    assert list(brain.check()) == [f".git/modules/{inner}/config"]


@_needs_git
def test_the_repository_elsewhere_of_a_worktree_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    allow = ("-c", "protocol.file.allow=always")
    dependency, main = project.parent / "dependency", project.parent / "main"
    for path in (dependency, main):
        _git("init", str(path), cwd=project)
        _git("commit", "--allow-empty", "-m", "x", cwd=path)
    _git(*allow, "submodule", "add", "../dependency", "module", cwd=main)
    _git("commit", "-m", "x", cwd=main)
    _git("worktree", "add", str(project), cwd=main)
    brain = start(git_writable=True)

    _git(*allow, "submodule", "update", "--init", cwd=project)
    assert brain.check() == {}
    module = main / ".git" / "worktrees" / "project" / "modules" / "module"
    with (module / "config").open("a") as file:
        file.write("[core]\n\tworktree = /etc\n")
    (main / ".git" / "hooks" / "post-commit").touch()

    assert sorted(brain.check()) == [
        "../main/.git/hooks/post-commit",
        "../main/.git/worktrees/project/modules/module/config",
    ]


@_needs_git
@pytest.mark.parametrize("before", [0, 60])
def test_more_repositories_than_can_be_watched_are_reported(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    def add(numbers: range) -> None:
        lines = (f"160000 {'1' * 40}\tvenv/{number}/x\n" for number in numbers)
        subprocess.run(["git", "update-index", "--index-info"], cwd=project, input="".join(lines).encode(), check=True)

    monkeypatch.setattr(directories, "_MAX_LINKED", 50)
    _git("init", cwd=project)
    add(range(before))
    brain = start(git_writable=True)
    (project / "a").touch()
    _git("add", "a", cwd=project)
    assert brain.check() == {}

    add(range(before, 61))

    assert list(brain.check()) == [".git/index"]


@_needs_git
def test_an_index_with_thousands_of_repositories_is_watched(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    lines = (f"160000 {'1' * 40}\tvenv/{number}/x\n" for number in range(2000))
    subprocess.run(["git", "update-index", "--index-info"], cwd=project, input="".join(lines).encode(), check=True)
    assert brain.check() == {}
    _repository(project / "venv" / "1999" / "x" / ".git", _EVIL)

    assert list(brain.check()) == ["venv/1999/x/.git/config"]


@_needs_git
def test_a_link_in_a_git_directory_is_moved_away(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    _git("init", "--bare", ".git/modules/m", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project)
    _git("worktree", "add", "w", cwd=project)
    brain = start(git_writable=True)
    for path in (
        *("COMMIT_EDITMSG", "packed-refs", "logs/HEAD", "logs/refs/heads/a/b", "refs/heads/x", "objects/ab"),
        *("objects/pack", "subtree-cache/1/x", "rebase-merge/message", "info", "index.lock", "x.kaa-blocked"),
        *("worktrees/w/logs/HEAD", "modules/m/COMMIT_EDITMSG", "gc.pid", "shallow.lock", "objects/info/commit-graph"),
        *("objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index", "objects/info/packs"),
        *("objects/info/alternates.lock", "objects/tmp/x", "modules/m/objects/info/commit-graph"),
        *("lfs/cache/locks/x", "annex/index.lock", "annex/objects"),
    ):
        link = project / ".git" / path
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.exists():
            link.rename(link.with_name(f"former-{link.name}"))
            brain.check()

        link.symlink_to("/home/me/.bashrc")

        # git takes nothing for a branch whose name ends in `.lock`.
        assert brain.check() == {f".git/{path}": f".git/{path.removesuffix('.kaa-blocked')}.kaa-blocked.lock"}
        assert brain.check() == {}


def _many_directories(path: Path, count: int) -> None:
    """Move a directory with many in it to `path`."""
    stage = _stage_for(path)
    for number in range(count):
        (stage / f"{number:04}").mkdir(parents=True)
    stage.rename(path)


def _few_directories(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Have the guard look into so many directories at the start, and let commands make half of them."""
    for module, name in ((directories, "_MAX_DIRECTORIES_READ"), (git_directory, "_MAX_DIRECTORIES")):
        monkeypatch.setattr(module, name, most)
        monkeypatch.setattr(module, "_MAX_WITH_NEW", most // 2)
        monkeypatch.setattr(module, "_MAX_NEW", most // 8)


def test_more_directories_at_once_than_the_guard_reads_are_moved_away(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_directories(monkeypatch, 32)
    (project / "src" / "mine").mkdir(parents=True)
    brain = start()

    _many_directories(project / "src" / "many", 40)

    assert brain.check() == {"src/many": "src/many.kaa-blocked"}
    assert brain.check() == {}
    assert (project / "src" / "mine").is_dir()


def test_many_directories_of_an_earlier_run_hide_nothing(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_directories(monkeypatch, 32)
    (project / "src" / "pkg" / "conf").mkdir(parents=True)
    for name in ("d1", "d2", "d3", "d4"):
        brain = start()
        _many_directories(project / name, 14)
        brain.check()
        brain.hang_up()
    brain = start(begins=False)
    assert brain.ask("check")["unchecked"] == [str(project / "d3.kaa-blocked")]

    _write(project / "src" / "pkg" / "conf" / ".envrc", "evil")

    assert brain.check() == {"src/pkg/conf/.envrc": "src/pkg/conf/.envrc.kaa-blocked"}


def test_a_few_directories_in_each_of_many_runs_hide_nothing(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_directories(monkeypatch, 64)
    (project / "src" / "pkg" / "conf").mkdir(parents=True)
    for run in range(10):
        brain = start()
        _many_directories(project / f"d{run}", 7)
        brain.check()
        brain.hang_up()
    brain = start(begins=False)
    assert [path for path in brain.ask("check")["unchecked"] if not path.endswith(".kaa-blocked")] == []

    _write(project / "src" / "pkg" / "conf" / ".envrc", "evil")

    assert brain.check() == {"src/pkg/conf/.envrc": "src/pkg/conf/.envrc.kaa-blocked"}


def test_the_users_many_directories_are_told_at_each_start_and_stay(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_directories(monkeypatch, 16)
    for number in range(20):
        (project / "mine" / f"{number}").mkdir(parents=True)

    for number in range(2):
        brain = start(begins=False)
        answer = brain.ask("check")
        (project / f"new{number}").mkdir()

        assert answer["findings"] == []
        assert answer["unchecked"] == [str(project / "mine")]
        assert brain.ask("check")["unchecked"] == []
        assert brain.check() == {}
        brain.hang_up()


@_needs_git
def test_a_link_that_replaces_a_file_of_git_is_moved_away(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project)
    brain = start(git_writable=True)

    _write_link(project / ".git" / "logs" / "HEAD", "/home/me/.bashrc")

    assert brain.check() == {".git/logs/HEAD": ".git/logs/HEAD.kaa-blocked.lock"}


@_needs_git
def test_what_git_does_all_the_time_is_let_alone(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", "-b", "main", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project)
    _git("clone", str(project), str(project.parent / "other"), cwd=project)
    brain = start(git_writable=True)

    (project / "file").write_text("x")
    _git("add", "file", cwd=project)
    _git("commit", "-m", "x", cwd=project)
    _git("switch", "-c", "a/b/c", cwd=project)
    (project / "file").write_text("y")
    _git("stash", cwd=project)
    _git("stash", "pop", cwd=project)
    for name in ("index2", "tmp-index", "indexbak"):
        (project / ".git" / name).write_bytes((project / ".git" / "index").read_bytes())
    (project / ".git" / "index2").rename(project / ".git" / "index")
    _git("commit", "-am", "y", cwd=project)
    _git("tag", "-a", "-m", "one", "one", cwd=project)
    _git("notes", "add", "-m", "note", cwd=project)
    _git("switch", "main", cwd=project)
    _git("merge", "--no-ff", "-m", "merge", "a/b/c", cwd=project)
    _git("branch", "-D", "a/b/c", cwd=project)
    _git("fetch", str(project.parent / "other"), cwd=project)
    _git("revert", "--no-edit", "-m", "1", "HEAD", cwd=project)
    _git("update-index", "--split-index", cwd=project)
    _git("commit", "--allow-empty", "-m", "z", cwd=project)
    _git("gc", cwd=project)
    _git("symbolic-ref", "-m", "x", "HEAD", "refs/heads/main", cwd=project)

    assert brain.check() == {}


@_needs_git
def test_a_head_that_is_a_link_to_a_branch_is_let_alone(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    _git("-c", "core.preferSymlinkRefs=true", "symbolic-ref", "HEAD", "refs/heads/x", cwd=project)
    assert (project / ".git" / "HEAD").is_symlink()
    assert brain.check() == {}
    _write_link(project / ".git" / "HEAD", "refs/heads/../../../x")

    assert list(brain.check()) == [".git/HEAD"]


@_needs_git
@pytest.mark.parametrize("path", ["objects/info/alternates", "remotes/origin", "branches/origin"])
def test_what_leads_git_to_another_repository_is_moved_away(
    project: Path, start: Callable[..., Brain], path: str
) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    (project / ".git" / path).parent.mkdir(exist_ok=True)
    _write(project / ".git" / path, "/home/me/other/.git\n")

    assert brain.check() == {f".git/{path}": f".git/{path}.kaa-blocked"}


@_needs_git
@pytest.mark.parametrize("path", ["../../x", "a/.git/xx"])
def test_an_index_that_leads_out_of_the_working_tree_is_moved_away(
    project: Path, start: Callable[..., Brain], path: str
) -> None:
    _git("init", cwd=project)
    harmless = "z" * len(path)
    (project / harmless).touch()
    _git("add", harmless, cwd=project)
    brain = start(git_writable=True)

    index = (project / ".git" / "index").read_bytes().replace(harmless.encode(), path.encode())
    stage = _stage_for(project / ".git")
    stage.write_bytes(index)
    stage.rename(project / ".git" / "index")

    assert brain.check() == {".git/index": ".git/index.kaa-blocked"}


@_needs_git
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("rebase-merge/git-rebase-todo", "pick 123456 x\nexec touch evil\n"),
        ("rebase-merge/git-rebase-todo", " \tx\ttouch evil"),
        ("rebase-merge/strategy", "evil\n"),
        ("rebase-apply/strategy", "index"),
        ("sequencer/todo", "x touch evil"),
        ("sequencer/opts", "[options]\n\tstrategy = evil\n"),
        ("worktrees/w/rebase-merge/git-rebase-todo", "exec evil"),
        ("rebase-merge/strategy_opts", " '--index-output=/home/me/file'"),
        ("rebase-merge/gpg_sign_opt", "-S/home/me/.ssh/id_rsa"),
        ("rebase-merge/author-script", "GIT_AUTHOR_NAME='x'\nGIT_DIR='/home/me/x'\n"),
        ("rebase-merge/autostash", "--index\n"),
        ("rebase-merge/something", "new"),
        ("rebase-apply/apply-opt", " '--build-fake-ancestor=/home/me/file'"),
        ("rebase-apply/apply-opt", " '--directory=../x'"),
        ("rebase-apply/apply-opt", " '"),
        ("rebase-apply/apply-opt", "a" * 4_000_000),  # to take the words apart would take minutes
        ("rebase-apply/strategy_opts", "--index-output=/home/me/file"),
        ("sequencer/opts", "[options]\n\tstrategy-option = index-output=/home/me/file\n"),
        ("sequencer/opts", "[options]\n\tgpg-sign = /home/me/.ssh/id_rsa\n"),
        ("sequencer/something", "new"),
        ("worktrees/w/gitdir", "/home/me/.git\n"),
        ("worktrees/w/gitdir", "/home/me/kaa/worktrees/project-0123abcd/w/x/.git\n"),
        ("worktrees/w/gitdir", "/home/me/kaa/worktrees/.git\n"),
        ("BISECT_START", "--pathspec-from-file=/home/me/file\n"),
        ("MERGE_AUTOSTASH", "-x\n"),
        ("MERGE_RR", f"{'1' * 40}\t../.bashrc\0"),
        ("worktrees/w/MERGE_RR", f"{'1' * 40}\t../.bashrc\0"),
        ("lazygit.yml", "x"),
        (".dir-locals.el", ""),
        ("git-daemon-export-ok", ""),
        ("Hooks", ""),
        ("info/mark", ""),
        ("mark-of-a-plugin", "x"),
        (".envrc", "x"),
        ("worktrees/w/.envrc", "x"),
        ("info/.envrc", "x"),
        ("HOOKS", "x"),
    ],
)
def test_what_going_on_would_execute_is_moved_away(
    project: Path, start: Callable[..., Brain], path: str, content: str
) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    (project / ".git" / path).parent.mkdir(parents=True, exist_ok=True)
    _write(project / ".git" / path, content)

    assert brain.check() == {f".git/{path}": f".git/{path}.kaa-blocked"}


@_needs_git
@pytest.mark.parametrize("place", ["", "worktrees/w", "modules/m"])
def test_an_empty_mark_of_a_plugin_stays_until_something_is_in_it(
    project: Path, start: Callable[..., Brain], place: str
) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)
    git = project / ".git" / place
    git.mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/x\n")

    mark = git / "sg-hook-once-toolu_01"
    mark.touch(mode=0o755)
    assert brain.check() == {}
    mark.write_text("now it says something")

    path = str(mark.relative_to(project))
    assert brain.check() == {path: f"{path}.kaa-blocked"}


@_needs_git
def test_an_empty_mark_with_another_name_is_moved_away(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    stage = _stage_for(project / ".git" / "mark")
    stage.touch()
    os.link(stage, project / ".git" / "mark")

    assert brain.check() == {".git/mark": ".git/mark.kaa-blocked"}


@_needs_git
def test_a_worktree_of_kaas_that_git_is_about_to_make_is_left_alone(
    project: Path, start: Callable[..., Brain], tmp_path: Path
) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)
    link = tmp_path / "kaa" / "worktrees" / "project-0123abcd" / "w" / ".git"
    link.parent.mkdir(parents=True)

    (project / ".git/worktrees/w").mkdir(parents=True)
    _write(project / ".git/worktrees/w/gitdir", f"{link}\n")
    assert brain.check() == {}
    link.touch()
    assert brain.check() == {}
    link.unlink()
    link.mkdir()  # how the sandbox shows one that commands do not see
    _write(project / ".git/worktrees/w/gitdir", f"{link}\n")
    assert brain.check() == {}
    link.rmdir()
    link.write_text("gitdir: /home/me/.git\n")
    assert list(brain.check()) == [".git/worktrees/w/gitdir"]


@_needs_git
def test_a_worktree_keeps_what_makes_it_one(project: Path, start: Callable[..., Brain], tmp_path: Path) -> None:
    _git("init", cwd=project)
    _git("commit", "--allow-empty", "-m", "first", cwd=project)
    for name in ("kept", "gone"):
        _git("worktree", "add", str(tmp_path / name), cwd=project)
    git = project / ".git" / "worktrees"
    brain = start(git_writable=True)

    for name in ("HEAD", "gitdir", "commondir"):
        (git / "kept" / name).unlink()
    _git("worktree", "remove", str(tmp_path / "gone"), cwd=project)
    brain.check()

    _git("status", cwd=tmp_path / "kept")
    assert not (git / "gone").exists()


@_needs_git
@pytest.mark.parametrize("name", ["rr-cache", "safe", ".vscode", "worktrees/w/rr-cache", "rebase-merge/x"])
def test_a_directory_that_is_not_of_gits_data_is_moved_away(
    project: Path, start: Callable[..., Brain], name: str
) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    (project / ".git" / name).mkdir(parents=True)

    assert brain.check() == {f".git/{name}": f".git/{name}.kaa-blocked"}


@_needs_git
def test_what_was_there_before_stays_until_it_changes(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    (project / ".git" / "lazygit.yml").write_text("mine")
    (project / ".git" / "svn").mkdir()
    brain = start(git_writable=True)

    (project / ".git" / "lazygit.yml").write_text("evil")

    assert brain.check() == {".git/lazygit.yml": ".git/lazygit.yml.kaa-blocked"}
    assert (project / ".git" / "lazygit.yml").read_text() == "mine"


@_needs_git
def test_the_link_that_git_makes_to_see_whether_it_can_is_let_alone(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    brain = start(git_writable=True)

    (project / ".git" / "tX7bsXQ").symlink_to("testing")

    assert brain.check() == {}


@_needs_git
def test_ordinary_work_in_a_repository_is_let_alone(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", "-b", "main", cwd=project)
    for text in ("base", "two", "three"):
        (project / "file").write_text(f"{text}\n")
        _git("add", "file", cwd=project)
        _git("commit", "-m", text, cwd=project)
    _git("format-patch", "-o", "../patches", "HEAD~2", cwd=project)
    patches = sorted(map(str, (project.parent / "patches").iterdir()))
    _git("switch", "-c", "other", "HEAD~2", cwd=project)
    (project / "file").write_text("other\n")
    _git("commit", "-am", "other", cwd=project)
    brain = start(git_writable=True)

    def stops(*arguments: str) -> None:
        with pytest.raises(subprocess.CalledProcessError):
            _git(*arguments, cwd=project)
        assert brain.check() == {}

    for start_of_it, what in (
        (["merge", "main"], "merge"),
        (["rebase", "-i", "--autostash", "-Xpatience", "main"], "rebase"),
        (["rebase", "--apply", "main"], "rebase"),
        (["cherry-pick", "-x", "-Xignore-all-space", "main~1", "main"], "cherry-pick"),
        (["revert", "main"], "revert"),
        (["am", "-3", "--whitespace=nowarn", "--ignore-whitespace", *patches], "am"),
    ):
        stops("-c", "core.editor=true", *start_of_it)
        _git(what, "--abort", cwd=project)
        assert brain.check() == {}, start_of_it
    _git("-c", "sequence.editor=sed -i s/pick/reword/", "-c", "core.editor=true", "rebase", "-i", "HEAD~1", cwd=project)
    _git("-c", "sequence.editor=perl -pi -e s/pick/edit/", "rebase", "-i", "HEAD~1", cwd=project)
    _git("rebase", "--abort", cwd=project)
    _git("bisect", "start", "HEAD", "HEAD~1", cwd=project)
    _git("bisect", "reset", cwd=project)
    _git("worktree", "add", "tree", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project / "tree")
    assert brain.check() == {}
    _git("worktree", "remove", "tree", cwd=project)
    _git("sparse-checkout", "set", "--no-cone", "file", cwd=project)
    _git("fsck", "--lost-found", cwd=project)
    _git("gc", "--prune=now", cwd=project)

    assert brain.check() == {}


@_needs_git
def test_a_rebase_that_stops_and_goes_on_is_let_alone(project: Path, start: Callable[..., Brain]) -> None:
    _git("init", cwd=project)
    for text in ("base", "exec is what x does", "x"):
        (project / "file").write_text(text)
        _git("add", "file", cwd=project)
        _git("commit", "-m", text, cwd=project)
    brain = start(git_writable=True)

    with pytest.raises(subprocess.CalledProcessError):  # a conflict
        _git("rebase", "-s", "ort", "--onto", "HEAD~2", "HEAD~1", cwd=project)
    assert brain.check() == {}
    (project / "file").write_text("x")
    _git("add", "file", cwd=project)
    _git("-c", "core.editor=true", "rebase", "--continue", cwd=project)

    assert brain.check() == {}


@pytest.mark.parametrize(
    ("name", "content"), [(".git/rebase-merge/git-rebase-todo", "pick 123456 x\n"), (".hg/hgrc", "[paths]\n")]
)
def test_a_harmless_file_that_comes_and_goes_while_it_is_looked_at_is_let_alone(
    project: Path, start: Callable[..., Brain], name: str, content: str
) -> None:
    _repository(project / ".git")
    file = project / name
    file.parent.mkdir()
    brain = start(git_writable=True)
    writer = subprocess.Popen([sys.executable, "-I", "-S", "-c", _COMES_AND_GOES, file, content])

    try:
        for _ in range(_LOOKS):
            assert brain.check() == {}
    finally:
        writer.kill()
        writer.wait()


def test_a_command_that_the_user_planned_stays(project: Path, start: Callable[..., Brain]) -> None:
    todo = _repository(project / ".git") / "rebase-merge" / "git-rebase-todo"
    todo.parent.mkdir()
    todo.write_text("pick 123456 x\nexec make test\npick 234567 y\n")
    brain = start(git_writable=True)

    _write(todo, "exec make test\npick 234567 y\n")
    assert brain.check() == {}
    _write(todo, "exec make test\nexec evil\n")

    assert list(brain.check()) == [".git/rebase-merge/git-rebase-todo"]


@_needs_git
@pytest.mark.parametrize("value", ["/etc", "../..", "../sub", "../link"])
def test_a_working_tree_elsewhere_is_foreign(project: Path, start: Callable[..., Brain], value: str) -> None:
    (project / "link").symlink_to("/etc")
    config = _repository(project / ".git") / "config"
    brain = start(git_writable=True)

    config.write_text("[core]\n\tworktree = ..\n")
    assert brain.check() == {}
    config.write_text(f"[core]\n\tworktree = {value}\n")

    assert list(brain.check()) == [".git/config"]


@_needs_git
def test_repositories_made_below_the_project_stay(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    _git("init", "a", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project / "a")
    _git("clone", "a", "deep/b", cwd=project)
    _git("clone", "--bare", "a", "c.git", cwd=project)
    _git("worktree", "add", "../w", cwd=project / "a")
    assert brain.check() == {}

    _git("worktree", "add", "../v", cwd=project / "a")  # its repository is known by now
    _git("config", "user.name", "b", cwd=project / "a")
    _git("remote", "add", "x", "../a", cwd=project / "a")
    assert brain.check() == {}
    _git("status", cwd=project / "v")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("config", _EVIL),
        ("hooks/pre-commit", "#!/bin/sh\nevil"),
        ("commondir", "../../evil"),
        ("config.worktree", "[core]\npager = evil"),
        ("modules/x/config", _EVIL),
        ("modules/a/b/hooks/post-checkout", "evil"),
        ("worktrees/x/commondir", "../../../evil"),
        ("worktrees/x/config.worktree", _EVIL),
    ],
)
@pytest.mark.parametrize("repository", ["sub/.git", "a/b/c/.git", "bare", ".git"])
def test_what_git_would_execute_of_a_repository_is_moved_away(
    project: Path, start: Callable[..., Brain], repository: str, path: str, content: str
) -> None:
    at_the_top = repository == ".git"
    if at_the_top:  # the project's own, of which all but this may be written
        _repository(project / ".git")
    brain = start(git_writable=at_the_top)

    if not at_the_top:
        _repository(project / repository)
    target = project / repository / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.startswith("modules"):
        root = target.parent.parent if "hooks" in path else target.parent
        (root / "HEAD").touch()
    _write(target, content)

    # Seen half made, as when the machine is busy, a directory above it may have been moved instead.
    (moved,) = brain.check()
    assert f"{repository}/{path}".startswith(moved)
    assert len(moved) > len(repository)
    assert not target.exists() or target.read_text() == ""
    assert brain.check() == {}


def test_a_configuration_that_gets_worse_is_put_back(project: Path, start: Callable[..., Brain]) -> None:
    config = _repository(project / ".git", "[core]\npager = less\n") / "config"
    brain = start(git_writable=True)

    config.write_text("[core]\npager = less\n[user]\nname = x\n")
    assert brain.check() == {}
    config.write_text("[core]\npager = less\n[user]\nname = x\n" + _EVIL)

    assert list(brain.check()) == [".git/config"]
    assert config.read_text() == "[core]\npager = less\n[user]\nname = x\n"


def test_what_cannot_be_put_back_as_a_whole_is_not_there_at_all(project: Path, start: Callable[..., Brain]) -> None:
    config = _repository(project / ".git", "[core]\npager = less\n") / "config"
    brain = start(git_writable=True)
    config.write_text("[core]\npager = less\n" + _EVIL)

    with files_limited_to(8):
        moved = brain.check()

    assert list(moved) == [".git/config"]
    assert not config.exists()
    assert (project / moved[".git/config"]).read_text().endswith(_EVIL)


def test_a_configuration_of_a_new_repository_that_gets_worse_is_put_back(
    project: Path, start: Callable[..., Brain]
) -> None:
    brain = start()
    config = _repository(project / "sub" / ".git", "[user]\nname = x\n") / "config"
    assert brain.check() == {}

    _write(config, "[user]\nname = x\n" + _EVIL)

    assert list(brain.check()) == ["sub/.git/config"]
    assert config.read_text() == "[user]\nname = x\n"
    assert brain.check() == {}


def test_a_repository_at_the_top_needs_git_writes(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    _repository(project / ".git")

    assert brain.check() == {".git": ".git.kaa-blocked"}


@_needs_git
def test_with_git_writes_a_repository_at_the_top_may_be_made(project: Path, start: Callable[..., Brain]) -> None:
    brain = start(git_writable=True)

    _git("init", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project)
    _git("worktree", "add", "w", cwd=project)

    assert brain.check() == {}


@pytest.mark.parametrize("target", ["evil", "../evil", "/evil", "sub/../evil", "known/.git/evil", "known/.git"])
def test_a_git_file_that_points_elsewhere_is_moved_away(
    project: Path, start: Callable[..., Brain], target: str
) -> None:
    _repository(project / "known" / ".git")
    (project / "sub").mkdir()
    brain = start()

    _write(project / "sub" / ".git", f"gitdir: {target}\n")

    assert brain.check() == {"sub/.git": "sub/.git.kaa-blocked"}


@pytest.mark.parametrize(
    "inner",
    [
        *("modules", "worktrees", "objects", "logs/x", "modules/m/lfs", "modules/m/objects", "modules/m/logs/a"),
        *("worktrees/w/logs", "modules/m/modules", "modules/m/worktrees/w/refs", f"modules/{'x/' * 16}y"),
    ],
)
def test_a_git_file_that_points_to_data_of_a_repository_is_moved_away(
    project: Path, start: Callable[..., Brain], inner: str
) -> None:
    git = _repository(project / ".git")
    for repository in ("modules/m", "modules/m/worktrees/w", "worktrees/w"):
        (git / repository).mkdir(parents=True)
        (git / repository / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "sub").mkdir()
    brain = start(git_writable=True)

    (git / inner).mkdir(parents=True, exist_ok=True)
    (git / inner / "config").write_text(_EVIL)
    _write(project / "sub" / ".git", f"gitdir: ../.git/{inner}\n")

    assert brain.check()["sub/.git"] == "sub/.git.kaa-blocked"


@pytest.mark.parametrize("inner", ["modules/m", "modules/a/b", "worktrees/w", "modules/m/worktrees/w", "modules/new"])
def test_a_git_file_may_point_to_a_submodule_or_worktree(
    project: Path, start: Callable[..., Brain], inner: str
) -> None:
    git = _repository(project / ".git")
    for repository in ("modules/m", "modules/a/b", "modules/m/worktrees/w", "worktrees/w"):
        (git / repository).mkdir(parents=True)
        (git / repository / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "sub").mkdir()
    brain = start(git_writable=True)

    _write(project / "sub" / ".git", f"gitdir: ../.git/{inner}\n")

    assert brain.check() == {}


def test_the_content_of_all_that_is_moved_away_is_given_to_save(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    for number in range(45):
        _write(project / f"d{number:02}" / ".envrc", f"content {number}")

    answer = brain.ask("check")

    given = [*answer["findings"], *answer["saved"]]
    contents = sorted(binascii.a2b_base64(finding["content"]).decode() for finding in given)
    assert len(answer["findings"]) == 32
    assert contents == sorted(f"content {number}" for number in range(45))


def test_the_content_of_a_long_file_is_given_to_save(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    content = "export A=1\n" * 50_000
    _write(project / "sub" / ".envrc", content)

    [finding] = brain.ask("check")["findings"]

    assert binascii.a2b_base64(finding["content"]).decode() == content


def test_the_files_of_a_new_protected_directory_are_given_to_save(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    for place in (project / ".vscode", project / "sub" / ".vscode"):
        _write(place / "settings.json", "settings")
        _write(place / "snippets" / "a", "snippet")

    findings = brain.ask("check")["findings"]

    assert {(finding["below"], binascii.a2b_base64(finding["content"])) for finding in findings} == {
        ("settings.json", b"settings"),
        ("snippets/a", b"snippet"),
    }
    assert len(findings) == 4


class _Saving:
    """Somebody who saves a file in place, in parts."""

    def __init__(self, brain: Brain, path: Path) -> None:
        self._brain, self._path = brain, path
        self.first: list[bytes] = []
        self.later: list[bytes] = []

    def ask(self, op: str) -> None:
        answer = self._brain.ask(op)
        self.first += [binascii.a2b_base64(finding["content"]) for finding in answer["findings"]]
        self.later += [binascii.a2b_base64(finding["content"]) for finding in answer["later"]]

    def save(self, parts: Sequence[str], op: str) -> None:
        """Write a file; after each part the guard is asked something, the first time until the file is moved away."""
        with self._path.open("w") as file:
            for part in parts:
                file.write(part)
                file.flush()
                self.ask(op)
                while self._path.exists():
                    self.ask(op)


@pytest.mark.parametrize("path", [".envrc", "sub/.envrc", ".vscode/settings.json", "sub/.vscode/settings.json"])
def test_what_is_written_after_a_file_was_moved_away_is_given_to_save_as_well(
    project: Path, start: Callable[..., Brain], path: str
) -> None:
    brain = start()
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    saving = _Saving(brain, project / path)

    saving.save(["the first half, ", "the second half"], "news")
    saving.ask("check")

    assert saving.later[-1:] == [b"the first half, the second half"]
    assert saving.first in ([b""], [b"the first half, "])  # as it was when it was moved
    saving.ask("check")
    assert len(saving.later) <= 2


def test_what_is_written_after_the_command_has_ended_is_given_to_save_as_well(
    project: Path, start: Callable[..., Brain]
) -> None:
    brain = start()
    saving = _Saving(brain, project / ".envrc")

    saving.save(["the first half, "], "check")
    brain.ask("expect", path=str(project))
    kept = project / ".envrc.kaa-blocked"
    kept.write_text("the first half, the second half")
    saving.ask("news")

    assert saving.later[-1:] == [b"the first half, the second half"]


def test_the_guard_says_when_somebody_writes_in_a_file_that_was_moved_away(
    project: Path, start: Callable[..., Brain]
) -> None:
    brain = start()
    *_, alarm = brain.signs()
    try:
        _Saving(brain, project / ".envrc").save(["half"], "news")

        (project / ".envrc.kaa-blocked").write_text("whole")

        assert select.select([alarm], [], [], HANG_SECONDS)[0]
        assert [finding["path"] for finding in brain.ask("news")["later"]] == [str(project / ".envrc")]
    finally:
        os.close(alarm)


def test_a_command_that_writes_in_moved_files_gets_few_copies_and_no_other_file(
    project: Path, start: Callable[..., Brain]
) -> None:
    (project.parent / "secret").write_text("secret")
    brain = start()
    saving = _Saving(brain, project / ".envrc")
    saving.save(["mine"], "news")
    kept = project / ".envrc.kaa-blocked"

    for number in range(30):
        kept.write_text(f"evil {number}")
        saving.ask("check")
    written = len(saving.later)
    _write(project / "sub" / ".envrc", "mine")
    saving.ask("check")
    (project / "sub" / ".envrc.kaa-blocked").unlink()
    (project / "sub" / ".envrc.kaa-blocked").symlink_to(project.parent / "secret")
    saving.ask("check")

    assert written <= 9
    assert len(saving.later) == written
    assert b"mine" in saving.first + saving.later


@pytest.mark.parametrize("levels", [16, 17, 18])
def test_what_is_too_deep_for_a_path_is_moved_once(project: Path, start: Callable[..., Brain], levels: int) -> None:
    _write(project / "sub" / ".claude" / "settings.json", "{}")
    brain = start()

    elsewhere = project.parent / "deep"  # where the guard moves nothing away before it is complete
    elsewhere.mkdir()
    above = os.open(elsewhere, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("x" * 255, dir_fd=above)
        below = os.open("x" * 255, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.symlink("evil", "link", dir_fd=above)
    os.close(above)
    (elsewhere / ("x" * 255)).rename(project / "sub" / ".claude" / ("x" * 255))

    assert len(brain.ask("check")["findings"]) == 1
    assert brain.check() == {}
    assert len(list(project.glob("sub/.claude*"))) == 2


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".git/rebase-merge/strategy_opts", "a" * 4_000_000),
        (".git/rebase-apply/apply-opt", "'" + "a" * 4_000_000),
        ("sub/.tool-versions", "{{" + "sub-" * 32_000),
        ("sub/rust-toolchain", "targets=[" + " " * 130_000 + "!"),
        ("sub/rust-toolchain.toml", '"x"' + " " * 130_000 + "!"),
    ],
    ids=lambda value: value[:12],
)
def test_no_file_keeps_the_guard_from_others(
    project: Path, start: Callable[..., Brain], path: str, content: str
) -> None:
    _repository(project / ".git")
    brain = start(git_writable=True)

    _write(project / path, content)
    _write(project / ".git" / "commondir", "evil\n")

    assert {path, ".git/commondir"} <= set(brain.check())


def test_many_harmless_links_hide_nothing(project: Path, start: Callable[..., Brain]) -> None:
    git = _repository(project / ".git")
    _make_directories(git / "logs", 3000)
    for number in range(3000):
        os.symlink("refs/heads/a", f"{git}/logs/{number}/HEAD")
    brain = start(git_writable=True)

    _write(git / "commondir", "../evil\n")

    assert list(brain.check()) == [".git/commondir"]


def test_many_files_in_a_protected_directory_hide_nothing(project: Path, start: Callable[..., Brain]) -> None:
    claude = project / "sub" / ".claude"
    for number in range(600):
        (claude / "agents").mkdir(parents=True, exist_ok=True)
        (claude / "agents" / f"a{number}.md").write_text("mine")
    deep = claude / "skills" / "x" / "scripts" / "y" / "z"
    deep.mkdir(parents=True)
    (deep / "run.sh").write_text("mine")
    brain = start()

    _write(claude / "settings.local.json", "evil")
    (deep / "run.sh").write_text("evil")

    assert sorted(brain.check()) == ["sub/.claude/settings.local.json", "sub/.claude/skills/x/scripts/y/z/run.sh"]
    assert (deep / "run.sh").read_text() == "mine"


@pytest.mark.parametrize("name", ["skills/evil", "commands/evil"])
def test_a_link_in_a_protected_directory_is_in_force_under_no_name(
    project: Path, start: Callable[..., Brain], name: str
) -> None:
    claude = project / "sub" / ".claude"
    for folder in ("skills/ok", "commands"):
        (claude / folder).mkdir(parents=True)
        (claude / folder / "SKILL.md").write_text("mine")
    (project / "evil").mkdir()
    (project / "evil" / "SKILL.md").write_text("evil")
    brain = start()

    (claude / name).symlink_to(project / "evil")

    assert brain.check() == {f"sub/.claude/{name}": f"sub/.claude.kaa-blocked/{name}"}
    assert not [path for path in claude.rglob("*") if path.is_symlink()]
    assert (claude / "skills" / "ok" / "SKILL.md").read_text() == "mine"
    assert (project / "sub" / ".claude.kaa-blocked" / name).is_symlink()


def _few_items(monkeypatch: pytest.MonkeyPatch, *, read: int) -> None:
    """Have the guard read so many files of a subject, and note a few more."""
    monkeypatch.setattr(room, "_MAX_READ", read)
    monkeypatch.setattr(room, "_MAX_NEW", read)
    monkeypatch.setattr(room, "_MAX_WITH_NEW", 4 * read)
    monkeypatch.setattr(room, "_MAX_NOTED", 8 * read)


@pytest.mark.parametrize("place", ["sub/.claude", "sub/.claude/agents", ".git/hooks"])
def test_more_than_can_be_checked_leaves_what_the_user_has(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    _few_items(monkeypatch, read=4)
    _repository(project / ".git")
    (project / place).mkdir(parents=True, exist_ok=True)
    (project / place / "m").write_text("mine")
    brain = start(git_writable=True)

    many = project.parent / "stage" / "many"
    for number in range(40):
        (many / f"{number:02}").mkdir(parents=True)
    many.rename(project / place / "a")
    for number in range(40):
        _write(project / place / f"n{number:02}", "evil")
    brain.check()
    brain.check()

    assert (project / place / "m").read_text() == "mine"
    assert not list((project / place).glob("n??"))
    (project / place / "m").write_text("evil")
    assert f"{place}/m" in brain.check()


def test_what_was_too_much_at_the_start_stays_until_it_changes(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_items(monkeypatch, read=8)
    claude = project / "sub" / ".claude"
    claude.mkdir(parents=True)
    for number in range(40):
        (claude / f"{number:02}").write_text("mine")
    brain = start()

    _write(claude / "n", "evil")
    (claude / "00").write_text("evil")
    (claude / "35").write_text("evil")

    assert sorted(brain.check()) == ["sub/.claude/00", "sub/.claude/35", "sub/.claude/n"]
    assert (claude / "00").read_text() == "mine"
    assert len(list(claude.glob("??"))) == 39


def test_what_nobody_can_look_at_is_told_at_each_start_and_when_it_changes(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_items(monkeypatch, read=1)
    claude = project / "sub" / ".claude"
    claude.mkdir(parents=True)
    for number in range(20):
        (claude / f"{number:02}").write_text("mine")

    for content in ("first", "second"):
        brain = start(begins=False)
        assert brain.ask("check")["unchecked"] == [str(claude)]
        (claude / "19").write_text(content)

        [finding] = brain.ask("check")["findings"]
        assert finding["path"] == str(claude / "19")
        assert finding["kept_as"] == ""
        assert brain.check() == {}
        brain.hang_up()


@pytest.mark.parametrize("place", ["sub/.claude", "sub/.vscode", ".github"])
def test_empty_directories_of_an_earlier_run_hide_nothing(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    _few_items(monkeypatch, read=8)
    file = project / place / "hooks" / "x.json"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    for run in range(12):
        brain = start(begins=False)
        assert brain.ask("check")["unchecked"] == []
        for number in range(10):
            (project / place / f"0{run:02}{number}").mkdir()
        brain.check()
        brain.hang_up()
    brain = start()

    file.write_text("evil")

    assert list(brain.check()) == [f"{place}/hooks/x.json"]
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("start", "place", "ending"),
    [
        *((_TOLD, "worktrees", ""), (_ON_ITS_OWN, "modules", ""), (_TOLD, "lfs", "")),
        *((_ON_ITS_OWN, "worktrees", ".kaa-blocked"), (_TOLD, "modules", ".kaa-blocked-a.lock")),
        (_ON_ITS_OWN, "lfs", ".kaa-blocked"),
    ],
    indirect=["start"],
)
def test_harmless_files_of_an_earlier_run_hide_nothing_of_a_submodule(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, place: str, ending: str
) -> None:
    _few_items(monkeypatch, read=8)
    git = _repository(project / ".git")
    module = _repository(git / "modules" / "m", "[user]\n\tname = a\n")
    (module / "hooks" / "h").write_text("mine")
    for run in range(10 if ending else 6):
        brain = start(git_writable=True, begins=False)
        unchecked = brain.ask("check")["unchecked"]
        assert [path for path in unchecked if ".kaa-blocked" not in path] == []
        for number in range(4):
            fake = git / place / f"a{run}{number}{ending}"
            stage = _stage_for(fake)
            for name in ("objects", "refs"):
                (stage / name).mkdir(parents=True)
            for name in ("config", "config.worktree", "BISECT_START", "BISECT_TERMS", "HEAD"):
                (stage / name).touch()
            fake.parent.mkdir(exist_ok=True)
            stage.rename(fake)
        brain.check()
        brain.hang_up()
    brain = start(git_writable=True)

    _write(module / "commondir", "evil\n")
    (module / "hooks" / "h").write_text("evil")
    (module / "config").write_text(_EVIL)

    found = brain.check()
    assert sorted(found) == [f".git/modules/m/{name}" for name in ("commondir", "config", "hooks/h")]


@pytest.mark.parametrize("start", [_TOLD], indirect=True)  # the limits are the same for both
def test_many_submodules_worktrees_and_branches_at_once_stay(project: Path, start: Callable[..., Brain]) -> None:
    brain = start(git_writable=True)

    git = _repository(project.parent / "stage" / "tool" / ".git")
    for number in range(300):
        worktree, module = git / "worktrees" / f"w{number}", git / "modules" / f"m{number}"
        for path in (worktree, module / "objects", module / "refs", module / "hooks"):
            path.mkdir(parents=True)
        for name, content in (("HEAD", "ref: refs/heads/a"), ("commondir", "../..\n"), ("gitdir", "../../../a/.git\n")):
            (worktree / name).write_text(content)
        (module / "HEAD").write_text("ref: refs/heads/a\n")
        (module / "config").write_text("[user]\n\tname = a\n")
        for sample in range(8):
            (module / "hooks" / f"{sample}.sample").touch()
    for number in range(1500):
        for place in ("refs/heads", "logs/refs/heads", "lfs/tmp"):
            (git / place / f"{number}").mkdir(parents=True)
    (project.parent / "stage" / "tool").rename(project / "tool")

    assert brain.check() == {}
    brain.hang_up()
    brain = start(git_writable=True, begins=False)
    answer = brain.ask("check")
    assert (answer["findings"], answer["unchecked"]) == ([], [])


@pytest.mark.parametrize("kind", ["worktrees", "modules"])
def test_what_is_too_much_among_worktrees_and_submodules_is_not_kept_there(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    _few_items(monkeypatch, read=2)
    git = _repository(project / ".git")
    brain = start(git_writable=True)
    for name in ("w1", "w2", "w3"):
        stage = _stage_for(git / kind / name)
        stage.mkdir(parents=True)
        for file in ("HEAD", "commondir", "config", "config.worktree"):
            (stage / file).touch()
        (git / kind).mkdir(exist_ok=True)
        stage.rename(git / kind / name)

    found = brain.check()

    assert found[f".git/{kind}/w3"] == ".git/w3.kaa-blocked.lock"


def test_a_link_among_worktrees_is_not_kept_there(project: Path, start: Callable[..., Brain]) -> None:
    git = _repository(project / ".git")
    (git / "worktrees").mkdir()
    brain = start(git_writable=True)

    (git / "worktrees" / "w").symlink_to("/elsewhere")

    assert brain.check() == {".git/worktrees/w": ".git/w.kaa-blocked"}


def test_what_comes_into_a_directory_that_was_moved_away_in_a_repository_is_judged(
    project: Path, start: Callable[..., Brain]
) -> None:
    git = _repository(project / ".git")
    brain = start(git_writable=True)
    (project.parent / "stage" / "tool").mkdir()
    (project.parent / "stage" / "tool").rename(git / "tool")
    [kept] = brain.check().values()

    (project / kept / "link").symlink_to("/home/me/.bashrc")

    assert list(brain.check()) == [f"{kept}/link"]


def test_what_is_moved_away_in_a_repository_cannot_be_the_name_of_a_branch(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_directory, "_MAX_DEPTH", 6)
    git = _repository(project / ".git")
    (git / "info").mkdir()
    (git / "logs").mkdir()
    brain = start(git_writable=True)

    deep = project.parent / "stage" / "deep"
    (deep / "a" / "b" / "c" / "d" / "e" / "f" / "g").mkdir(parents=True)
    deep.rename(git / "logs" / "deep")

    [moved] = brain.check().values()
    assert moved.endswith(".kaa-blocked.lock")  # git-check-ref-format(1): no part of a name ends so
    assert (git / "info").is_dir()


@pytest.mark.parametrize(("place", "kept"), [("lfs", "lfs.kaa-blocked.lock"), ("logs/a", "logs/a.kaa-blocked.lock")])
def test_more_directories_in_a_repository_than_can_be_checked_are_moved_away(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, place: str, kept: str
) -> None:
    _few_directories(monkeypatch, 32)
    git = _repository(project / ".git")
    for name in ("info", "logs/refs/heads"):
        (git / name).mkdir(parents=True)
    before = set(git.rglob("*"))
    brain = start(git_writable=True)

    (git / place).parent.mkdir(exist_ok=True)
    _many_directories(git / place, 40)
    (git / "logs" / "refs" / "heads" / "main").symlink_to("/home/me/.bashrc")

    link = ".git/logs/refs/heads/main"
    assert brain.check() == {f".git/{place}": f".git/{kept}", link: f"{link}.kaa-blocked.lock"}
    assert brain.check() == {}
    assert before <= set(git.rglob("*"))


@pytest.mark.parametrize("place", ["lfs", "logs/refs/heads/a"])
def test_directories_in_a_repository_from_earlier_runs_hide_no_link(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    _few_directories(monkeypatch, 64)
    git = _repository(project / ".git")
    (git / "logs" / "refs" / "heads" / "z").mkdir(parents=True)
    (git / place).mkdir(exist_ok=True)
    for run in range(4):
        brain = start(git_writable=True, begins=False)
        assert brain.ask("check")["unchecked"] in ([], [str(git / place / "2.kaa-blocked.lock")])
        _many_directories(git / place / f"{run}", 20)
        brain.check()
        brain.hang_up()
    brain = start(git_writable=True)

    (git / "logs" / "refs" / "heads" / "z" / "main").symlink_to("/home/me/.bashrc")

    assert list(brain.check()) == [".git/logs/refs/heads/z/main"]


def test_directories_of_a_repository_that_stay_as_they_are_are_read_once(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_directory, "_SETTLED_NS", -HANG_SECONDS * 1_000_000_000)  # they are new
    read: list[str] = []

    def noted(place: GitDirectory) -> GitDirectoryContent:
        read.append(place.path)
        return read_links(place)

    monkeypatch.setattr(git_directory, "read_links", noted)
    git = _repository(project / ".git")
    for path in ("lfs/a/b", "logs/refs/heads/x"):
        (git / path).mkdir(parents=True)
    brain = start(git_writable=True)
    assert {"lfs/a/b", "logs/refs/heads/x"} <= set(read)
    assert brain.check() == {}
    read.clear()

    (git / "file").write_text("x")
    (git / "lfs" / "a" / "c").mkdir()
    assert brain.check() == {".git/file": ".git/file.kaa-blocked"}
    assert {"lfs/a", "lfs/a/c"} <= set(read)
    assert {"lfs/a/b", "logs/refs", "logs/refs/heads/x"}.isdisjoint(read)
    (git / "lfs" / "a" / "b" / "link").symlink_to("/home/me/.bashrc")
    (git / "logs" / "refs" / "heads" / "x").rename(git / "logs" / "refs" / "heads" / "y")
    (git / "logs" / "refs" / "heads" / "x").symlink_to("y")
    assert sorted(brain.check()) == [".git/lfs/a/b/link", ".git/logs/refs/heads/x"]


@pytest.mark.parametrize("ending", ["", ".kaa-blocked"])
def test_a_few_directories_in_each_of_many_runs_hide_no_link(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    _few_directories(monkeypatch, 64)
    git = _repository(project / ".git")
    (git / "logs" / "refs" / "heads" / "z" / "z").mkdir(parents=True)
    for run in range(10):
        brain = start(git_writable=True, begins=False)
        unchecked = brain.ask("check")["unchecked"]
        assert [path for path in unchecked if not path.endswith(".kaa-blocked.lock")] == []
        _many_directories(git / "logs" / f"{run}{ending}", 7)
        brain.check()
        brain.hang_up()
    brain = start(git_writable=True)

    (git / "logs" / "refs" / "heads" / "z" / "z" / "main").symlink_to("/home/me/.bashrc")

    assert list(brain.check()) == [".git/logs/refs/heads/z/z/main"]


def test_the_users_many_directories_in_a_repository_are_told_at_each_start_and_stay(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_directories(monkeypatch, 32)
    git = _repository(project / ".git")
    for number in range(50):
        (git / "lfs" / "tmp" / f"{number}").mkdir(parents=True)
    (git / "logs" / "refs").mkdir(parents=True)

    for number in range(2):
        brain = start(git_writable=True, begins=False)
        assert brain.ask("check")["unchecked"] == [str(git / "lfs" / "tmp")]
        (git / "lfs" / "tmp" / f"new{number}").mkdir()
        assert brain.check() == {}
        _write_link(git / "logs" / "refs" / "stash", "/home/me/.bashrc")
        assert list(brain.check()) == [".git/logs/refs/stash"]
        brain.hang_up()


@pytest.mark.parametrize("content", ["gitdir: {} \n", "gitdir: {}\t", "gitdir:{}\n", "gitdir: {}\nx\n", " gitdir: {}"])
def test_a_git_file_means_what_git_takes_it_for(project: Path, start: Callable[..., Brain], content: str) -> None:
    git = _repository(project / ".git")
    _repository(git / "modules" / "m")
    (project / "sub").mkdir()
    (project / "link").symlink_to(".git/modules/m")
    brain = start(git_writable=True)

    _write(project / "sub" / ".git", content.format("../link"))

    assert brain.check() == {"sub/.git": "sub/.git.kaa-blocked"}


@pytest.mark.parametrize("content", ["/usr/bin/ls\n", "/a\0b\n", "/proc/self/mem\n"])
def test_what_cannot_be_judged_hides_nothing_else(project: Path, start: Callable[..., Brain], content: str) -> None:
    git = _repository(project / ".git")
    (git / "worktrees" / "w").mkdir(parents=True)
    brain = start(git_writable=True)

    _write(git / "worktrees" / "w" / "gitdir", content)
    found = brain.check()
    _write(git / "commondir", "evil\n")

    assert list(found) in ([], [".git/worktrees/w/gitdir"])
    assert ".git/commondir" in brain.check()


def test_a_directory_that_gets_the_number_of_a_kept_file_is_looked_at(
    project: Path, start: Callable[..., Brain]
) -> None:
    skills = project / "sub" / ".claude" / "skills"
    skills.mkdir(parents=True)
    brain = start()
    _write(skills / "f", "evil")
    [kept] = brain.check().values()
    brain.ask("news")

    (project / kept).unlink()
    (skills / "evil.kaa-blocked").mkdir()  # on many file systems with the same inode
    (skills / "evil.kaa-blocked" / "SKILL.md").write_text("evil")

    assert list(brain.check()) == ["sub/.claude/skills/evil.kaa-blocked/SKILL.md"]


def test_what_is_deeper_than_can_be_checked_leaves_the_rest_as_it_is(
    project: Path, start: Callable[..., Brain]
) -> None:
    claude = project / "sub" / ".claude"
    deep = claude / "/".join("d" * 17)
    deep.mkdir(parents=True)
    (deep / "x").write_text("mine")
    (claude / "settings.json").write_text("mine")
    brain = start()

    (claude / "settings.json").write_text("evil")
    (claude / "/".join("n" * 17)).mkdir(parents=True)

    found = brain.check()
    assert "sub/.claude/settings.json" in found
    assert (claude / "settings.json").read_text() == (deep / "x").read_text() == "mine"


@pytest.mark.parametrize("name", ["deps/toolkit", "deps/lfs", "deps/a/b", "deps/logs"])
@pytest.mark.parametrize("above", ["modules/deps", "modules"])
def test_a_submodule_is_guarded_below_what_a_command_makes_a_repository(
    project: Path, start: Callable[..., Brain], name: str, above: str
) -> None:
    git = _repository(project / ".git")
    module = _repository(git / "modules" / name)
    brain = start(git_writable=True)

    (git / above / "HEAD").write_text("ref: refs/heads/main\n")
    assert list(brain.check()) in ([], [".git/modules/deps/HEAD"])
    _write(module / "commondir", "gd\n")
    (module / "config").write_text(_EVIL)

    assert {f".git/modules/{name}/commondir", f".git/modules/{name}/config"} <= brain.check().keys()


@pytest.mark.parametrize("name", ["a/objects/ab", "a/lfs/objects", "a/deps/toolkit", "a/HEAD"])
def test_a_directory_named_head_makes_no_repository(project: Path, start: Callable[..., Brain], name: str) -> None:
    """An earlier run made it: the next one must not take the directory above for the repository."""
    git = _repository(project / ".git")
    module = _repository(git / "modules" / name)
    head = git / "modules" / "a" / "HEAD"
    head.mkdir(exist_ok=True)
    brain = start(git_writable=True)

    _write(module / "commondir", "gd\n")
    assert list(brain.check()) == [f".git/modules/{name}/commondir"]
    shutil.rmtree(head)
    head.write_text("ref: refs/heads/main\n")
    assert list(brain.check()) == [".git/modules/a/HEAD"]


def test_a_repository_among_the_data_of_another_one_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    git = _repository(project / ".git")
    (git / "logs").mkdir()
    brain = start(git_writable=True)

    _repository(git / "logs" / "gd", _EVIL)

    assert ".git/logs/gd/config" in brain.check()


@pytest.mark.parametrize("is_link", [True, False])
def test_what_was_moved_away_in_a_repository_is_no_branch_under_another_name(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    monkeypatch.setattr(git_directory, "_MAX_DEPTH", 3)
    heads = _repository(project / ".git") / "logs" / "refs"
    heads.mkdir(parents=True)
    brain = start(git_writable=True)

    if is_link:
        (heads / "evil").symlink_to("/evil")
    else:
        (heads / "evil" / "deeper").mkdir(parents=True)
    [kept] = brain.check().values()
    (project / kept).rename(project / kept.removesuffix(".lock"))

    assert list(brain.check()) == [kept.removesuffix(".lock")]
    assert not (project / kept.removesuffix(".lock")).is_symlink()


@_needs_git
def test_the_repository_elsewhere_is_guarded_while_something_is_missing_in_it(
    project: Path, start: Callable[..., Brain]
) -> None:
    main = project.parent / "main"
    _git("init", str(main), cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=main)
    _git("worktree", "add", str(project), cwd=main)
    brain = start(git_writable=True)

    (main / ".git" / "HEAD").rename(main / ".git" / "index.x")
    (main / ".git" / "commondir").write_text("logs/evil\n")
    meanwhile = brain.check()
    (main / ".git" / "index.x").rename(main / ".git" / "HEAD")

    assert "../main/.git/commondir" in {**meanwhile, **brain.check()}
    assert not (main / ".git" / "commondir").exists()


def test_a_bare_repository_is_guarded_while_something_was_missing_in_it(
    project: Path, start: Callable[..., Brain]
) -> None:
    bare = _repository(project / "bare.git")
    brain = start(git_writable=True)

    (bare / "HEAD").rename(bare / "index.x")
    _write(bare / "commondir", "logs/evil\n")
    meanwhile = brain.check()
    (bare / "index.x").rename(bare / "HEAD")

    assert list({**meanwhile, **brain.check()}) == ["bare.git/commondir"]


def test_a_git_link_is_moved_away(project: Path, start: Callable[..., Brain]) -> None:
    (project / "sub").mkdir()
    brain = start(git_writable=True)

    (project / "sub" / ".git").symlink_to("../evil")
    (project / ".git").symlink_to("evil")

    assert brain.check() == {"sub/.git": "sub/.git.kaa-blocked", ".git": ".git.kaa-blocked"}


def _user_with_bare_repository(project: Path, layout: str) -> Path:
    """Make a repository whose git directory is no `.git`, with a worktree. Returns its git directory."""
    _git("init", "-q", "../source", cwd=project)
    _git("commit", "--allow-empty", "-m", "x", cwd=project.parent / "source")
    if layout == "bare":
        _git("clone", "--bare", "../source", ".bare", cwd=project)
        _write(project / ".git", "gitdir: ./.bare\n")
        _git("worktree", "add", "-b", "first", "first", cwd=project)
        return project / ".bare"
    (project / "store").mkdir()
    _git("clone", "--separate-git-dir", "store/it.git", "../source", "main", cwd=project)
    _git("worktree", "add", "-b", "first", "../first", cwd=project / "main")
    return project / "store" / "it.git"


@_needs_git
@pytest.mark.parametrize("layout", ["bare", "separate"])
def test_a_repository_whose_git_directory_is_elsewhere_in_the_project_gets_worktrees(
    project: Path, start: Callable[..., Brain], layout: str
) -> None:
    git = _user_with_bare_repository(project, layout)
    brain = start(git_writable=True)

    _git("worktree", "add", "-b", "second", str(project / "second"), cwd=project / "first")
    _git("commit", "--allow-empty", "-m", "y", cwd=project / "second")
    _git("worktree", "move", str(project / "second"), str(project / "third"), cwd=project / "first")
    assert brain.check() == {}

    _write(git / "worktrees" / "second" / "commondir", "evil\n")
    _write(git / "worktrees" / "evil" / "commondir", "evil\n")
    assert len(brain.check()) == 2


@_needs_git
@pytest.mark.parametrize("layout", ["bare", "separate"])
def test_its_worktrees_are_guarded_while_something_is_missing_in_it(
    project: Path, start: Callable[..., Brain], layout: str
) -> None:
    git = _user_with_bare_repository(project, layout)
    brain = start(git_writable=True)

    (git / "HEAD").rename(git / "index.x")
    _write_link(git / "worktrees" / "first" / "COMMIT_EDITMSG", "/canary")
    _write_link(git / "packed-refs.lock", "/canary")

    assert len(brain.check()) == 2
    assert (project / "first" / ".git").exists()


def test_a_git_file_that_points_into_a_repository_that_commands_made_is_moved_away(
    project: Path, start: Callable[..., Brain]
) -> None:
    brain = start(git_writable=True)

    bare = _repository(project / ".bare")
    _write(bare / "worktrees" / "first" / "HEAD", "ref: refs/heads/first\n")
    _write(project / "first" / ".git", "gitdir: ../.bare/worktrees/first\n")
    _write(project / ".git", "gitdir: ./.bare\n")

    assert set(brain.check()) == {".git", "first/.git"}


def test_the_project_itself_becomes_no_bare_repository(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    away = _repository(project.parent / "away", _EVIL)
    for path in away.iterdir():
        path.rename(project / path.name)

    assert "config" in brain.check()
    assert not (project / "config").exists()


def test_directories_that_are_moved_into_place_are_looked_into(project: Path, start: Callable[..., Brain]) -> None:
    deep = project.joinpath(*"123456789")
    _repository(deep / "x" / ".git", _EVIL)
    brain = start()

    deep.rename(project / "here")
    assert brain.check() == {"here/x/.git/config": "here/x/.git/config.kaa-blocked"}

    (project / "here").rename(project / "there")
    (project / "there" / "x" / ".git" / "hooks" / "update").touch()
    assert brain.check() == {"there/x/.git/hooks/update": "there/x/.git/hooks/update.kaa-blocked"}


def test_links_to_directories_are_not_followed(project: Path, start: Callable[..., Brain]) -> None:
    outside = project.parent / "outside"
    _repository(outside / ".git", _EVIL)
    brain = start()

    (project / "sub").symlink_to(outside)

    assert brain.check() == {}
    assert (outside / ".git" / "config").exists()


def test_a_harmless_file_with_another_name_is_not_trusted(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    _repository(project / "sub" / ".git")
    (project / "other").write_text("")
    (project / "sub" / ".git" / "config").unlink()
    os.link(project / "other", project / "sub" / ".git" / "config")

    assert "sub/.git/config" in brain.check()


def test_a_file_that_is_written_by_another_name_is_noticed(project: Path, start: Callable[..., Brain]) -> None:
    config = _repository(project / "sub" / ".git") / "config"
    other = project / "1" / "2" / "3" / "4" / "5"
    other.parent.mkdir(parents=True)
    brain = start()
    os.link(config, other)

    other.write_text(_EVIL)

    assert "sub/.git/config" in brain.check()
    assert config.read_text() == ""


@pytest.mark.parametrize("adopts", [True, False])
def test_a_guard_that_is_kept_ready_moves_nothing(project: Path, start: Callable[..., Brain], adopts: bool) -> None:
    """Another one may be at work. What came meanwhile is the user's, unless commands ran."""
    ready = start(begins=False)
    at_work = start()  # by now the first one looks around, or has
    at_work.ask("expect", path=str(project))
    _write(project / ".vscode" / "settings.json", "mine")
    assert at_work.check() == {}
    assert (project / ".vscode" / "settings.json").exists()

    found = ready.ask("news", adopts=adopts)["findings"]

    assert not (found and adopts)  # otherwise it depends on whether it looked around before
    assert (project / ".vscode" / "settings.json").exists() is not bool(found)
    _write(project / ".envrc", "evil")
    assert ready.check() == {".envrc": ".envrc.kaa-blocked"}


def _written(content: str, path: str = ".vscode/settings.json") -> dict[str, object]:
    return {"path": path, "digest": new_digest(content.encode()).hexdigest(), "size": len(content)}


def test_what_kaa_writes_stays(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    brain.ask("expect", path=".vscode/settings.json")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text("approved")
    (project / ".envrc").touch()
    assert list(brain.check()) == [".envrc"]
    brain.ask("written", **_written("approved"))
    assert brain.check() == {}

    (project / ".vscode" / "settings.json").write_text("evil")
    assert list(brain.check()) == [".vscode/settings.json"]
    assert (project / ".vscode" / "settings.json").read_text() == "approved"


def test_a_directory_that_kaa_makes_with_its_file_stays(project: Path, start: Callable[..., Brain]) -> None:
    settings = ".vscode/settings.json"
    brain = start()

    for path in (".vscode", settings):
        brain.ask("expect", path=path)
    _write(project / settings, "approved")
    brain.ask("written", **_written("approved", settings))
    brain.ask("written", **_written("", ".vscode"))

    assert brain.check() == {}
    assert (project / settings).read_text() == "approved"
    (project / settings).write_text("evil")
    assert brain.check() == {settings: f"{settings}.kaa-blocked"}


def test_files_that_kaa_writes_at_the_same_time_all_stay(project: Path, start: Callable[..., Brain]) -> None:
    """As when several protected files go back at once."""
    names = [".vscode/settings.json", ".vscode/tasks.json"]
    _write(project / ".vscode" / "settings.json", "mine")
    brain = start()

    for name in names:
        brain.ask("expect", path=name)
    for name in names:
        (project / name).write_text(f"approved {name}")
    for name in names:
        brain.ask("written", **_written(f"approved {name}", name))

    assert brain.check() == {}
    assert [(project / name).read_text() for name in names] == [f"approved {name}" for name in names]


@pytest.mark.parametrize(
    ("file", "removed"),
    [
        (".vscode/settings.json", [".vscode/settings.json"]),
        (".vscode/settings.json", [".vscode", ".vscode/settings.json"]),
        ("sub/.vscode/settings.json", ["sub/.vscode", "sub/.vscode/settings.json"]),
    ],
)
def test_what_kaa_removes_does_not_come_back(
    project: Path, start: Callable[..., Brain], file: str, removed: list[str]
) -> None:
    """As when the user takes back what kaa wrote with their permission."""
    top = project / file.partition("/")[0]
    directory = os.path.dirname(file)
    brain = start()
    brain.ask("expect", path=file)
    _write(project / file, "approved")
    brain.ask("written", **_written("approved", file))
    for path in removed:
        brain.ask("expect", path=path)
    shutil.rmtree(top)
    for path in reversed(removed):
        brain.ask("written", **_written("", path))

    _write(project / file, "evil")

    assert brain.check() == {directory: f"{directory}.kaa-blocked"}
    assert not (project / file).exists()


@pytest.mark.parametrize("directory", [".vscode", "sub/.vscode"])
def test_what_the_user_removes_does_not_come_back(project: Path, start: Callable[..., Brain], directory: str) -> None:
    file = project / directory / "settings.json"
    _write(file, "mine")
    brain = start()
    brain.ask("expect", path=str(project))
    shutil.rmtree(project / directory.partition("/")[0])
    brain.ask("accept", path=str(project))

    _write(file, "evil")

    assert brain.check() == {directory: f"{directory}.kaa-blocked"}
    assert not file.exists()


@pytest.mark.parametrize("content", ["evil", "x" * 200_000])
def test_what_a_command_makes_of_it_meanwhile_does_not(
    project: Path, start: Callable[..., Brain], content: str
) -> None:
    brain = start()

    brain.ask("expect", path=".vscode/settings.json")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text("approved")
    assert brain.check() == {}
    (project / ".vscode" / "settings.json").write_text(content)
    (project / ".vscode" / "tasks.json").write_text("evil")
    found = [finding["path"] for finding in brain.ask("written", **_written("approved"))["findings"]]

    assert sorted(os.path.basename(path) for path in found) == ["settings.json", "tasks.json"]
    assert [path.name for path in (project / ".vscode").iterdir() if ".kaa-blocked" not in path.name] == []


@pytest.mark.parametrize("name", [f"{'n' * 240}.code-workspace", f"{'é' * 120}.code-workspace"])
def test_what_has_a_long_name_is_moved_away(project: Path, start: Callable[..., Brain], name: str) -> None:
    brain = start()

    (project / name).write_text("evil")

    [kept] = brain.check().values()
    assert not (project / name).exists()
    assert (project / kept).read_text() == "evil"
    assert brain.check() == {}


@pytest.mark.parametrize("size", [300_000, 9_000_000])
def test_a_change_behind_the_beginning_of_a_long_file_is_noticed(
    project: Path, start: Callable[..., Brain], size: int
) -> None:
    settings = project / "sub" / ".vscode" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_bytes(b"x" * size)
    brain = start()

    with settings.open("r+b") as file:
        file.seek(200_000)
        file.write(b"EVIL")
        file.flush()
        os.utime(file.fileno(), (0, 0))  # the guard may have moved it by now

    assert list(brain.check()) == ["sub/.vscode/settings.json"]


def test_a_long_file_that_kaa_writes_stays(project: Path, start: Callable[..., Brain]) -> None:
    brain, content = start(), b"x" * 200_000
    digest = new_digest(content[: 128 * 1024 + 1]).hexdigest()

    brain.ask("expect", path=".envrc")
    (project / ".envrc").write_bytes(content)
    brain.ask("written", path=".envrc", digest=digest, size=len(content))

    assert brain.check() == {}
    assert (project / ".envrc").exists()


def test_between_commands_the_user_may_do_anything(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    brain.ask("expect", path=str(project))
    (project / ".idea").mkdir()
    config = _repository(project / ".git", _EVIL) / "config"
    brain.ask("accept", path=str(project))
    (project / ".envrc").touch()
    config.write_text(_EVIL + "[core]\neditor = worse")

    assert sorted(brain.check()) == [".envrc", ".git/config"]
    assert (project / ".idea").is_dir()
    assert config.read_text() == _EVIL


def test_a_flood_is_counted_and_leaves_nothing_behind(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    for number in range(60):
        _repository(project / f"x{number}" / ".git", _EVIL)

    answer = brain.ask("check")
    assert len(answer["findings"]) + answer["more"] == 60
    assert len(answer["findings"]) < 60
    assert not list(project.glob("x*/.git/config"))
    (project / ".envrc").touch()
    assert list(brain.check()) == [".envrc"]


def test_a_new_name_at_the_top_does_not_wait_for_a_busy_guard(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    brain = start()
    if not brain.ask("check")["scans"]:  # without inotify nothing is told
        done = threading.Event()
        act = watcher.Guard.act
        monkeypatch.setattr(watcher.Guard, "act", lambda self: done.wait(HANG_SECONDS) and act(self))

        (project / ".vscode" / "snippets").mkdir(parents=True)
        names = (".vscode/tasks.json", ".vscode/snippets/a", ".envrc")
        for name in names:
            time.sleep(0.01)  # the directories are watched then, mostly
            (project / name).touch()
        (project / "src").mkdir()
        (project / "src" / ".envrc").touch()
        deadline = time.monotonic() + HANG_SECONDS
        while any((project / name).exists() for name in names):
            assert time.monotonic() < deadline
            time.sleep(0.001)

        assert (project / "src" / ".envrc").exists()
        done.set()
        assert sorted(brain.check()) == [".envrc", ".vscode", "src/.envrc"]


@pytest.mark.parametrize("op", ["news", "check"])
def test_the_same_name_again_and_again_is_a_flood(project: Path, start: Callable[..., Brain], op: str) -> None:
    """Also if commands end meanwhile, which checks."""
    brain = start()

    floods = []
    for name in (*(f".mise.{number}.toml" for number in range(20)), *[".zed"] * 20):
        (project / name).touch()
        floods.append(brain.ask(op)["flooded"])

    assert not any(floods[:20])
    assert any(floods[20:])


def test_more_happenings_than_the_kernel_remembers_are_survived(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    for number in range(40):  # flooded, so that nobody reads the queue any more
        _repository(project / f"x{number}" / ".git", _EVIL)
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(most // 2 + 1000):  # at least two each
        file = f"{project}/f{number % 7}"
        os.close(os.open(file, os.O_CREAT))
        os.unlink(file)
    (project / ".envrc").touch()

    brain.ask("check")
    assert (project / ".envrc.kaa-blocked").exists()
    assert brain.check() == {}


def test_huge_trees_are_watched_at_their_first_level_only(project: Path, start: Callable[..., Brain]) -> None:
    (project / "node_modules" / "x").mkdir(parents=True)
    brain = start()

    _repository(project / "node_modules" / ".git", _EVIL)
    _repository(project / "node_modules" / "x" / ".git", _EVIL)

    assert list(brain.check()) == ["node_modules/.git/config"]


def test_without_a_writable_project_there_is_nothing_to_guard(project: Path, start: Callable[..., Brain]) -> None:
    brain = start(mode="read-only")

    (project / ".envrc").touch()

    assert brain.check() == {}


def test_every_writable_directory_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    roots = [project / "a", project / "b"]
    for root in roots:
        root.mkdir()
    brain = start(writable=(*map(str, roots), str(project / "missing")))

    for root in roots:
        (root / ".envrc").touch()

    assert sorted(brain.check()) == ["a/.envrc", "b/.envrc"]


def test_it_acts_before_it_is_asked(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    (project / "sub").mkdir()
    _repository(project / "sub" / ".git", _EVIL)

    deadline = time.monotonic() + HANG_SECONDS
    while not (project / "sub" / ".git" / "config.kaa-blocked").exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert list(brain.check()) == ["sub/.git/config"]


@pytest.mark.parametrize("is_stuck", [False, True])
def test_it_says_that_there_is_something_to_tell(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch, is_stuck: bool
) -> None:
    def mounted(*_: object) -> str:
        raise MountedError

    brain = start()
    *_, alarm = brain.signs()
    try:
        with monkeypatch.context() as patched:
            if is_stuck:
                patched.setattr(watcher, "move_away", mounted)
            _write(project / ".envrc", "evil")

            assert select.select([alarm], [], [], HANG_SECONDS)[0]
            assert brain.ask("news")["stuck"] == is_stuck
        brain.ask("retry")
        assert not (project / ".envrc").exists()
    finally:
        os.close(alarm)


def test_what_goes_as_it_is_moved_away_is_not_in_order_when_it_comes_back(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(directory: int, name: str, ending: str = "") -> str | None:
        os.unlink(name, dir_fd=directory)
        return move_away(directory, name, ending)

    brain = start()
    with monkeypatch.context() as patched:
        patched.setattr(watcher, "move_away", late)
        _write(project / ".envrc", "evil")
        assert brain.check() == {}
    _write(project / ".envrc", "evil")

    assert brain.check() == {".envrc": ".envrc.kaa-blocked"}


@pytest.mark.parametrize("start", ["told by inotify"], indirect=True)
def test_a_writer_in_a_hurry_does_not_get_past(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    over = time.monotonic() + 0.5

    while time.monotonic() < over:
        for name in (".vscode", ".envrc", "a/b/.git"):
            try:
                (project / name).mkdir(parents=True, exist_ok=True)
                (project / name / "config").write_text(_EVIL)
            except OSError:
                continue  # the guard was quicker

    brain.check()
    assert not (project / ".vscode").exists()
    assert not (project / ".envrc").exists()
    assert not (project / "a" / "b" / ".git" / "config").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_directory_is_no_refuge(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    git = _repository(project / "sub" / ".git", _EVIL)
    git.chmod(0o500)

    assert list(brain.check()) == ["sub/.git/config"]
    assert git.stat().st_mode & 0o777 == 0o500
    git.chmod(0o700)


def test_what_the_configuration_names_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    config = "[core]\n\thooksPath = build/hooks\n[diff]\n\texternal = ./tools/diff.sh\n"
    _repository(project / ".git", config)
    tools = project / "tools"
    tools.mkdir()
    (tools / "diff.sh").write_text("exit 0\n")
    brain = start()

    stage = _stage_for(tools)
    stage.write_text("evil\n")
    stage.replace(tools / "diff.sh")
    (tools / "other.sh").write_text("harmless\n")
    (project / "build" / "hooks").mkdir(parents=True)
    (project / "build" / "hooks" / "pre-commit").touch()

    assert brain.check() == {
        "build/hooks": "build/hooks.kaa-blocked",
        "tools/diff.sh": "tools/diff.sh.kaa-blocked",
    }
    assert (tools / "diff.sh").read_text() == "exit 0\n"


def test_what_the_configuration_of_the_repository_above_names_is_guarded(
    project: Path, start: Callable[..., Brain]
) -> None:
    _repository(project.parent / ".git", "[core]\n\thooksPath = project/hooks\n")
    brain = start()

    _write(project / "hooks" / "pre-commit", "evil")

    assert brain.check() == {"hooks": "hooks.kaa-blocked"}


def test_a_name_of_the_configuration_is_guarded_where_it_would_not_be_otherwise(
    project: Path, start: Callable[..., Brain]
) -> None:
    _repository(project / "sub" / ".git", "[core]\n\thooksPath = .husky\n")
    brain = start()

    (project / "sub" / ".husky").mkdir()
    (project / "sub" / ".husky" / "pre-commit").touch()

    assert brain.check() == {"sub/.husky": "sub/.husky.kaa-blocked"}


def test_repository_far_down_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()

    _repository(project / "a" / "b" / "c" / "d" / "e" / "f" / "g" / ".git", _EVIL)

    assert brain.check() == {"a/b/c/d/e/f/g/.git/config": "a/b/c/d/e/f/g/.git/config.kaa-blocked"}


def test_a_worktree_of_the_deepest_repository_that_is_guarded_stays(project: Path, start: Callable[..., Brain]) -> None:
    deepest = project.joinpath(*map(str, range(GUARDED_DEPTH)))
    deepest.mkdir(parents=True)
    brain = start()

    _git("init", cwd=deepest)
    _git("commit", "--allow-empty", "-m", "x", cwd=deepest)
    _git("worktree", "add", str(project / "worktree"), cwd=deepest)

    assert brain.check() == {}


def test_what_others_name_as_if_it_were_kept_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    _repository(project / ".git")
    (project / "sub").mkdir()
    brain = start(git_writable=True)

    _repository(project / ".git" / "modules" / "evil.kaa-blocked", _EVIL)
    _write(project / "sub" / ".git", "gitdir: ../.git/modules/evil.kaa-blocked\n")
    _write(project / ".git" / "hooks" / "pre-commit.kaa-blocked", "#!/bin/sh\nevil\n")

    brain.check()
    assert not (project / ".git" / "modules" / "evil.kaa-blocked" / "config").exists()
    assert not (project / "sub" / ".git").exists()
    assert not (project / ".git" / "hooks" / "pre-commit.kaa-blocked").exists()


def test_what_is_kept_is_guarded_again_under_its_old_name(project: Path, start: Callable[..., Brain]) -> None:
    (project / ".vscode").mkdir()
    brain = start()
    for _ in range(3):
        _write(project / ".vscode" / "tasks.json", "evil")
        assert len(brain.check()) == 1
    kept = project / ".vscode" / "tasks.json.kaa-blocked"
    assert kept.read_text() == "evil"

    kept.rename(project / ".vscode" / "tasks.json")

    assert brain.check() == {".vscode/tasks.json": ".vscode/tasks.json.kaa-blocked"}
    assert brain.check() == {}


def test_what_is_kept_of_a_former_guard_is_in_order(project: Path, start: Callable[..., Brain]) -> None:
    (project / ".vscode").mkdir()
    brain = start()
    _write(project / ".vscode" / "tasks.json", "evil")
    assert len(brain.check()) == 1

    assert start().check() == {}


def _make_directories(path: Path, count: int) -> None:
    path.mkdir()
    for number in range(count):
        os.mkdir(f"{path}/{number}")  # a third of the time of `Path.mkdir`


def test_thousands_of_directories_are_watched_and_not_read_at_every_check(
    project: Path, start: Callable[..., Brain]
) -> None:
    if watches_of_user() < 20_000:
        pytest.skip("the system gives too few watches")
    scans = start().ask("check")["scans"]  # without inotify
    _make_directories(project / "many", 5000)

    assert start().ask("check")["scans"] == scans


def test_more_directories_than_can_be_watched_are_read(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_MAX_DIRECTORIES", 1024)
    _make_directories(project / "many", 1040)
    brain = start()

    _repository(project / "tool" / ".git", _EVIL)

    assert brain.check() == {"tool/.git/config": "tool/.git/config.kaa-blocked"}
    assert brain.ask("check")["scans"]
    _repository(project / "many" / "410" / ".git", _EVIL)
    assert len(brain.check()) == 1


@pytest.mark.parametrize("new", [False, True])
def test_what_is_written_in_memory_is_found_while_the_mapping_is_there(
    project: Path, start: Callable[..., Brain], new: bool
) -> None:
    harmless = "" if new else "[user]\n\tname = someone\n"
    (project / "sub").mkdir()
    if not new:
        _repository(project / "sub" / ".git", harmless + "#" * 100)
    brain = start()
    if new:
        _repository(project / "sub" / ".git", "#" * 100)
        assert brain.check() == {}
    config = project / "sub" / ".git" / "config"

    with config.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[: len(_EVIL)] = _EVIL.encode()

        assert brain.check() == {"sub/.git/config": "sub/.git/config.kaa-blocked"}
        assert config.read_text().startswith(harmless or "#")


def test_what_is_written_in_memory_is_found_without_being_asked(project: Path, start: Callable[..., Brain]) -> None:
    _repository(project / "sub" / ".git", "#" * 100)
    start()
    config = project / "sub" / ".git" / "config"

    with config.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[: len(_EVIL)] = _EVIL.encode()
        # It is moved away and then written as it was before.
        while not (config.with_name("config.kaa-blocked").exists() and config.exists()):
            time.sleep(0.01)

    assert "evil" not in config.read_text()


@pytest.mark.parametrize("count", [3_000, 60_000])
def test_a_key_with_too_many_parts_is_moved_away_at_once(
    project: Path, start: Callable[..., Brain], count: int
) -> None:
    brain = start()
    (project / ".cargo").mkdir()
    _write(project / ".cargo" / "config.toml", ".".join(["a"] * count) + "=1")

    assert list(brain.check()) == [".cargo/config.toml"]


def test_a_git_file_with_a_null_character_is_moved_away(project: Path, start: Callable[..., Brain]) -> None:
    brain = start()
    (project / "sub").mkdir()
    _write(project / "sub" / ".git", "gitdir: ../.git/modules/x\0y")

    assert list(brain.check()) == ["sub/.git"]


@pytest.mark.parametrize("first", ["link", "repository"])
def test_a_link_to_a_repository_in_node_modules_is_watched(
    project: Path, start: Callable[..., Brain], first: str
) -> None:
    brain = start()
    hidden = project / "node_modules" / "a" / "b"
    hidden.parent.mkdir(parents=True)
    if first == "link":
        (project / "tool").symlink_to("node_modules/a/b")
        assert brain.check() == {}
    _repository(hidden / ".git", _EVIL)
    if first == "repository":
        (project / "tool").symlink_to("node_modules/a/b")

    assert list(brain.check()) == ["node_modules/a/b/.git/config"]


def test_a_guard_that_is_late_says_where_it_is(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_LATE_SECONDS", -1.0)  # always
    (project / "sub").mkdir()
    brain = start()
    assert brain.busy_at[0] == str(project)
    brain.busy_at.clear()

    _write(project / "sub" / ".envrc", "evil")

    assert list(brain.check()) in ([], ["sub/.envrc"])  # told before
    assert set(brain.busy_at) & {str(project), str(project / "sub"), str(project / "sub" / ".envrc")}


def test_what_links_under_protected_names_lead_to_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    for path in ("conf", "ai/skills/x", "tools/build", "sub/.claude", ".claude/agents"):
        (project / path).mkdir(parents=True)
    for path in ("conf/envrc", "ai/skills/x/SKILL.md", "tools/build/run", "AGENTS.md"):
        (project / path).write_text("mine")
    (project / "sub" / ".envrc").symlink_to("../conf/envrc")
    (project / "sub" / ".claude" / "skills").symlink_to("../../ai/skills")
    (project / ".claude" / "CLAUDE.md").symlink_to("../AGENTS.md")
    (project / ".claude" / "agents" / "build").symlink_to("../../tools/build")
    (project / ".claude" / "settings.json").symlink_to("../made/later")
    (project / ".devcontainer").mkdir()
    (project / ".devcontainer" / "package.json").symlink_to("../package.json")
    (project / "package.json").write_text("mine")
    (project / "made").mkdir()
    brain = start()

    for path in ("conf/envrc", "ai/skills/x/SKILL.md", "tools/build/run", "AGENTS.md", "package.json"):
        _write(project / path, "evil")
    _write(project / "ai" / "skills" / "y.md", "evil")
    _write(project / "made" / "later", "evil")

    assert sorted(brain.check()) == ["ai/skills/x/SKILL.md", "ai/skills/y.md", "conf/envrc", "made/later"]
    assert (project / "conf" / "envrc").read_text() == "mine"
    assert (project / "package.json").read_text() == "evil"
    assert (project / "AGENTS.md").read_text() == (project / "tools" / "build" / "run").read_text() == "evil"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".husky/pre-commit", "scripts/check"),
        (".vscode/setup.sh", "scripts/check"),
        (".husky/lib", "scripts"),
        (".husky/tools", "scripts"),
        (".claude/hooks/tools", "scripts"),
        (".vibe/tools", "scripts"),
        (".claude/hooks", "scripts"),
        (".claude/hooks/before/check.sh", "scripts/check"),
        (".opencode/plugins/mine", "scripts"),
        (".opencode/plugin", "scripts"),
        (".flox/env", "scripts"),
    ],
)
def test_whatever_links_under_protected_names_execute_is_guarded(
    project: Path, start: Callable[..., Brain], link: str, target: str
) -> None:
    (project / "scripts").mkdir()
    (project / "scripts" / "check").write_text("mine")
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(project / target)
    brain = start()

    _write(project / "scripts" / "check", "evil")

    (finding,) = brain.ask("check")["findings"]
    assert finding["path"] == str(project / "scripts" / "check")
    assert f"; {link} leads to it; what was there before is back" in finding["why"]
    assert (project / "scripts" / "check").read_text() == "mine"


@pytest.mark.parametrize("git", [".git", "a/b/c/d/.git", "bare"])
def test_what_links_in_a_git_directory_make_git_obey_is_guarded(
    project: Path, start: Callable[..., Brain], git: str
) -> None:
    place = project / git
    _repository(place)
    for path in ("scripts", f"{git}/hooks", f"{git}/info"):
        (project / path).mkdir(parents=True, exist_ok=True)
    for name in ("check", "attributes", "exclude"):
        (project / "scripts" / name).write_text("mine")
    (place / "hooks" / "pre-commit").symlink_to(project / "scripts" / "check")
    (place / "info" / "attributes").symlink_to(project / "scripts" / "attributes")
    (place / "info" / "exclude").symlink_to(project / "scripts" / "exclude")
    brain = start()

    for name in ("check", "attributes", "exclude"):
        _write(project / "scripts" / name, "evil")

    assert sorted(brain.check()) == ["scripts/attributes", "scripts/check"]
    assert (project / "scripts" / "check").read_text() == "mine"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".devcontainer/package.json", "file"),
        (".devcontainer/Makefile", "file"),
        (".devcontainer/requirements-dev.txt", "file"),
        (".claude/logo.png", "file"),
        (".devcontainer/docker-compose.yml", "file"),
        (".devcontainer/src", "tree"),
        (".devcontainer/lib", "tree"),
        (".claude/scripts", "tree"),
        (".vscode/server", "tree"),
        (".devcontainer/tools", "tree"),
        (".vscode/env", "tree"),
        (".claude/skills/build", "tree"),
        (".claude/skills/build/run.py", "file"),
    ],
)
def test_manifests_and_data_behind_links_under_protected_names_stay(
    project: Path, start: Callable[..., Brain], link: str, target: str
) -> None:
    (project / "tree").mkdir()
    (project / "file").write_text("mine")
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(project / target)
    brain = start()

    _write(project / "file", "changed")
    _write(project / "tree" / "new", "changed")

    assert brain.check() == {}


def test_what_folders_above_a_protected_name_are_called_says_nothing(
    project: Path, start: Callable[..., Brain]
) -> None:
    for folder in ("agents/web", "tools/web", "shared/claude/hooks", "shared/dc", "scripts", "src"):
        (project / folder).mkdir(parents=True)
    (project / "scripts" / "pre.sh").write_text("mine")
    (project / "agents" / "web" / ".claude").symlink_to("../../shared/claude")
    (project / "shared" / "claude" / "hooks" / "pre.sh").symlink_to("../../../scripts/pre.sh")
    (project / "tools" / "web" / ".devcontainer").symlink_to("../../shared/dc")
    (project / "shared" / "dc" / "src").symlink_to("../../src")
    brain = start()

    _write(project / "scripts" / "pre.sh", "evil")
    _write(project / "src" / "new.py", "work")

    assert list(brain.check()) == ["scripts/pre.sh"]


def test_a_text_that_a_shell_executes_is_guarded(project: Path, start: Callable[..., Brain]) -> None:
    (project / "conf").mkdir()
    (project / "sub").mkdir()
    (project / "conf" / "envrc.md").write_text("mine")
    (project / "sub" / ".envrc").symlink_to("../conf/envrc.md")
    brain = start()

    _write(project / "conf" / "envrc.md", "evil")

    assert list(brain.check()) == ["conf/envrc.md"]


@pytest.mark.parametrize(
    ("at", "key", "value", "path"),
    [
        (".", "core.hooksPath", ".git/custom", ".git/custom/check"),
        (".", "core.hooksPath", ".git/custom", ".git/custom/a/new"),
        (".", "core.hooksPath", ".git/later", ".git/later"),
        (".", "include.path", "custom/check", ".git/custom/check"),
        (".", "include.path", "custom/new", ".git/custom/new"),
        (".", "filter.x.clean", ".git/custom/check", ".git/custom/check"),
        (".", "alias.x", "!.git/custom/new", ".git/custom/new"),
        ("sub", "core.hooksPath", "../.git/custom", ".git/custom/check"),
        ("sub", "core.hooksPath", ".git/custom", "sub/.git/custom/check"),
    ],
)
@_needs_git
def test_what_configuration_names_in_a_git_directory_is_guarded(
    project: Path, start: Callable[..., Brain], at: str, key: str, value: str, path: str
) -> None:
    for top in {".", at}:
        _git("init", "-q", top, cwd=project)
        (project / top / ".git" / "custom").mkdir()
        (project / top / ".git" / "custom" / "check").write_text("[user]\n")
    _git("config", key, value, cwd=project / at)
    before = _files_below(project / ".git" / "custom")
    brain = start(git_writable=True)

    (project / path).parent.mkdir(exist_ok=True)
    _write(project / path, "evil")

    assert set(brain.check()) == {path}
    assert _files_below(project / ".git" / "custom") == before


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("core.hooksPath", "githooks", "githooks/check"),
        ("core.hooksPath", "githooks", "githooks/new"),
        ("core.hooksPath", ".git/custom", ".git/custom/check"),
        ("include.path", "../githooks/check", "githooks/check"),
        ("filter.x.clean", "./githooks/new", "githooks/new"),
    ],
)
@pytest.mark.parametrize("where", ["deep", "worktree", "behind many folders"])
@_needs_git
def test_what_configuration_names_in_a_repository_that_no_mount_reaches_is_guarded(
    project: Path, start: Callable[..., Brain], where: str, key: str, value: str, path: str
) -> None:
    if where == "worktree" and ".git" in path:
        value = path = "githooks/check"
    top = project / ("z/x" if where == "behind many folders" else "a/b/c/d")
    if where == "behind many folders":
        for number in range(2100):
            (project / f"A{number}").mkdir()
    if where == "worktree":
        _git("init", "-q", ".", cwd=project)
        _git("commit", "-q", "--allow-empty", "-m", "x", cwd=project)
        _git("worktree", "add", "-q", "--detach", str(top), cwd=project)
        _git("config", "extensions.worktreeConfig", "true", cwd=project)
        value = str(top / "githooks/check") if key == "include.path" else value
    else:
        _git("init", "-q", str(top), cwd=project)
    for folder in ("githooks", ".git/custom") if where != "worktree" else ("githooks",):
        (top / folder).mkdir()
        (top / folder / "check").write_text("[user]\n")
    _git("config", key, value, cwd=top)
    brain = start(git_writable=True)

    _write(top / path, "evil")

    assert list(brain.check()) == [str((top / path).relative_to(project))]
    assert not (top / path).exists() or (top / path).read_text() == "[user]\n"


@pytest.mark.parametrize("link", ["t", "a/t", "chain"])
@pytest.mark.parametrize("at", ["", "a/b/c/d"])
@_needs_git
def test_a_link_on_the_way_to_what_configuration_names_is_guarded_as_a_link_only(
    project: Path, start: Callable[..., Brain], at: str, link: str
) -> None:
    top = project / at
    _git("init", "-q", str(top), cwd=project)
    _write(top / "tools" / "gh" / "check", "mine")
    _write(top / "e" / "gh" / "check", "evil")
    (top / link).parent.mkdir(exist_ok=True)
    if link == "chain":
        (top / "chain").symlink_to("u")
        (top / "u").symlink_to("tools")
    else:
        (top / link).symlink_to(top / "tools")
    _git("config", "core.hooksPath", f"{link}/gh", cwd=top)
    brain = start(git_writable=True)

    _write(top / "tools" / "build.py", "work")
    _write(top / "tools" / "sub" / "new.py", "work")
    assert brain.check() == {}

    _write(top / "tools" / "gh" / "new", "evil")
    led = (top / link).readlink()
    _write_link(top / link, str(top / "e"))
    moved = brain.check()

    assert set(moved) == {os.path.relpath(top / path, project) for path in (link, "tools/gh/new")}
    assert (top / link).readlink() == led


@_needs_git
def test_what_a_link_of_the_users_leads_configuration_to_now_is_guarded(
    project: Path, start: Callable[..., Brain]
) -> None:
    _git("init", "-q", str(project), cwd=project)
    for name in ("tools", "other"):
        _write(project / name / "gh" / "check", "mine")
    (project / "t").symlink_to("tools")
    _git("config", "core.hooksPath", "t/gh", cwd=project)
    brain = start(git_writable=True)

    brain.ask("expect", path=str(project))
    _write_link(project / "t", "other")
    brain.ask("accept", path=str(project))
    _write(project / "other" / "build.py", "work")
    _write(project / "other" / "gh" / "check", "evil")

    assert list(brain.check()) == ["other/gh/check"]
    assert (project / "other" / "gh" / "check").read_text() == "mine"


@_needs_git
def test_a_protected_link_that_is_on_the_way_to_what_configuration_names_protects_all_of_it(
    project: Path, start: Callable[..., Brain]
) -> None:
    _git("init", "-q", str(project), cwd=project)
    _write(project / "conf" / "gh" / "check", "mine")
    (project / ".husky").symlink_to("conf")
    _git("config", "core.hooksPath", ".husky/gh", cwd=project)
    brain = start(git_writable=True)

    _write(project / "conf" / "pre-push", "evil")

    assert list(brain.check()) == ["conf/pre-push"]


_OBEYED_IN_FOLDERS = {  # what the user has, and the folder that a command exchanges
    "hook of husky": (".husky/pre-commit", "../scripts/a/check", "scripts/a/check", "scripts"),
    "its inner folder": (".husky/pre-commit", "../scripts/a/check", "scripts/a/check", "scripts/a"),
    "file of a subdirectory": ("sub/.envrc", "../conf/envrc", "conf/envrc", "conf"),
    "settings of an editor": (".vscode/tasks.json", "../config/tasks.json", "config/tasks.json", "config"),
    "hooks of an agent": (".claude/settings.json", "../config/claude.json", "config/claude.json", "config"),
    "hook of a repository": (".git/hooks/pre-commit", "../../t/check", "t/check", "t"),
    "hook of a repository below": ("a/b/c/d/.git/hooks/pre-commit", "../../t/check", "a/b/c/d/t/check", "a/b/c/d/t"),
    "hooks by configuration": ("", "core.hooksPath t/gh", "t/gh/check", "t"),
    "included file": ("", "include.path ../t/inc", "t/inc", "t"),
    "program": ("", "filter.x.clean ./z/t/c", "z/t/c", "z"),
}


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("case", _OBEYED_IN_FOLDERS)
@_needs_git
def test_a_link_in_the_place_of_a_folder_in_which_something_is_guarded_is_moved_away(
    project: Path, start: Callable[..., Brain], case: str, exists: bool
) -> None:
    link, target, file, folder = _OBEYED_IN_FOLDERS[case]
    for top in (".", "a/b/c/d"):
        _git("init", "-q", top, cwd=project)
    if link:
        (project / link).parent.mkdir(parents=True, exist_ok=True)
        (project / link).symlink_to(target)
    else:
        _git("config", *target.split(" "), cwd=project)
    content = "[user]\n"
    if exists:
        _write(project / file, content)
    evil = Path("evil", os.path.relpath(file, folder))
    brain = start(git_writable=True)

    _write(project / evil, content)
    if exists:
        (project / folder).rename(project / "old")
    (project / folder).parent.mkdir(parents=True, exist_ok=True)
    (project / folder).symlink_to(project / "evil")

    assert brain.check() == {folder: f"{folder}.kaa-blocked"}
    assert not (project / folder).is_symlink()


@_needs_git
def test_a_folder_in_which_something_is_guarded_may_be_moved_and_links_beside_it_stay(
    project: Path, start: Callable[..., Brain]
) -> None:
    _git("init", "-q", ".", cwd=project)
    _git("config", "core.hooksPath", "t/gh", cwd=project)
    _write(project / "t/gh/check", "mine")
    (project / "other").mkdir()
    brain = start(git_writable=True)

    (project / "t").rename(project / "u")
    (project / "u").rename(project / "t")
    (project / "v").symlink_to("other")
    (project / "other/t").symlink_to("../other")

    assert brain.check() == {}


@_needs_git
def test_a_link_of_the_user_s_in_the_place_of_a_folder_stays_and_what_it_leads_to_is_guarded(
    project: Path, start: Callable[..., Brain]
) -> None:
    _git("init", "-q", ".", cwd=project)
    _git("config", "core.hooksPath", "t/gh", cwd=project)
    _write(project / "other/gh/check", "mine")
    brain = start(git_writable=True)

    brain.ask("expect", path=str(project))
    (project / "t").symlink_to("other")
    brain.ask("accept", path=str(project))
    _write(project / "other/build.py", "work")
    _write(project / "other/gh/check", "evil")

    assert list(brain.check()) == ["other/gh/check"]
    assert (project / "t").is_symlink()


@pytest.mark.parametrize("was", ["folder", "link"])
@pytest.mark.parametrize("other", ["other", "hooks"])
@_needs_git
def test_a_link_of_the_user_s_on_the_way_of_another_link_protects_what_both_lead_to_now(
    project: Path, start: Callable[..., Brain], was: str, other: str
) -> None:
    _git("init", "-q", ".", cwd=project)
    _git("config", "core.hooksPath", "hooks/gh", cwd=project)
    for folder in ("scripts" if was == "folder" else "tools", other):
        _write(project / folder / "check", "mine")
    if was == "link":
        (project / "scripts").symlink_to("tools")
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-commit").symlink_to("../scripts/check")
    brain = start(git_writable=True)

    brain.ask("expect", path=str(project))
    (project / "scripts").rename(project / "old")
    (project / "scripts").symlink_to(other)
    brain.ask("accept", path=str(project))
    _write(project / other / "build.py", "work")
    _write(project / other / "check", "evil")

    assert list(brain.check()) == [f"{other}/check"]
    assert (project / "scripts").is_symlink()


@_needs_git
def test_what_the_user_s_configuration_names_in_each_repository_leaves_room(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_MAX_NAMED", 8)
    monkeypatch.setattr(directories, "_MAX_NAMED_IN_EACH", 4)
    monkeypatch.setattr(named, "_OF_SYSTEM", (str(project.parent / "gitconfig"),))
    (project.parent / "gitconfig").write_text("[core]\n\thooksPath = hooks\n")
    for number in range(10):
        _git("init", "-q", f"a/b/c/A{number}", cwd=project)
    top = project / "a" / "b" / "c" / "z" / "x"
    _git("init", "-q", str(top), cwd=project)
    _git("config", "core.hooksPath", "githooks", cwd=top)
    (top / "githooks").mkdir()
    brain = start(git_writable=True)

    _write(top / "githooks" / "new", "evil")

    assert list(brain.check()) == [str((top / "githooks" / "new").relative_to(project))]


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        (".git/hooks/pre-commit", "../custom/check", ".git/custom/check"),
        (".git/hooks/pre-commit", "../custom/new", ".git/custom/new"),
        (".git/hooks/lib", "../custom", ".git/custom/new"),
        (".envrc", ".git/custom/check", ".git/custom/check"),
        ("a/b/c/d/.git/hooks/x", "../../../../../../.git/custom/check", ".git/custom/check"),
        ("a/b/c/d/.git/hooks/x", "../custom/check", "a/b/c/d/.git/custom/check"),
        ("bare/hooks/x", "../custom/check", "bare/custom/check"),
    ],
)
@_needs_git
def test_what_links_lead_to_in_a_git_directory_is_guarded(
    project: Path, start: Callable[..., Brain], link: str, target: str, path: str
) -> None:
    for git in (".git", "a/b/c/d/.git", "bare"):
        _git("init", "-q", "--bare", git, cwd=project)
        (project / git / "custom").mkdir()
        (project / git / "custom" / "check").write_text("mine")
        shutil.rmtree(project / git / "hooks")
        (project / git / "hooks").mkdir()
    (project / link).symlink_to(target)
    brain = start(git_writable=True)

    _write(project / path, "evil")

    assert list(brain.check()) == [path]
    assert not (project / path).exists() or (project / path).read_text() == "mine"


@_needs_git
def test_git_works_where_its_configuration_names_something_in_its_own_directory(
    project: Path, start: Callable[..., Brain]
) -> None:
    _git("init", "-q", ".", cwd=project)
    custom = project / ".git" / "custom"
    custom.mkdir()
    (custom / "check").write_text("#!/bin/sh\n")
    (custom / "check").chmod(0o755)
    (project / ".git" / "hooks").mkdir(exist_ok=True)
    (project / ".git" / "hooks" / "pre-commit").symlink_to("../custom/check")
    _git("config", "alias.head", "!cat .git/HEAD .git/index .git/info/exclude", cwd=project)
    brain = start(git_writable=True)

    (project / "file").write_text("1")
    _git("add", "file", cwd=project)
    _git("commit", "-qm", "first", cwd=project)
    (project / "file").write_text("2")
    _git("stash", cwd=project)
    _git("stash", "pop", cwd=project)
    _git("switch", "-qc", "other", cwd=project)
    _git("commit", "-qam", "second", cwd=project)
    _git("rebase", "-q", "--force-rebase", "--root", cwd=project)
    _git("fetch", "-q", ".", "main:third" if _branch_exists(project, "main") else "master:third", cwd=project)
    _git("worktree", "add", "-q", "tree", "-b", "fourth", cwd=project)
    _git("gc", "-q", cwd=project)
    _git("worktree", "remove", "tree", cwd=project)

    assert brain.check() == {}


def _branch_exists(project: Path, name: str) -> bool:
    done = subprocess.run(["git", "rev-parse", "-q", "--verify", name], cwd=project, check=False, capture_output=True)
    return done.returncode == 0


def _files_below(folder: Path) -> dict[str, str]:
    """What was not moved away."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".kaa-blocked" not in path.name)
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_links_on_the_way_to_what_is_executed_are_guarded(project: Path, start: Callable[..., Brain]) -> None:
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-commit").symlink_to("../scripts/check")
    (project / "tools").mkdir()
    (project / "scripts").symlink_to("tools")
    (project / "tools" / "check").symlink_to("real")
    (project / "tools" / "real").write_text("mine")
    brain = start()

    (project / "scripts").unlink()
    _write(project / "scripts", "evil")
    (project / "tools" / "check").unlink()
    _write(project / "tools" / "check", "evil")

    assert sorted(brain.check()) == ["scripts", "tools/check"]


def test_what_a_link_leads_to_in_a_directory_that_is_not_watched_is_guarded(
    project: Path, start: Callable[..., Brain]
) -> None:
    (project / "node_modules" / "a" / "b").mkdir(parents=True)
    (project / "node_modules" / "a" / "b" / "run").write_text("mine")
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-push").symlink_to("../node_modules/a/b/run")
    brain = start()

    _write(project / "new", "evil")
    (project / "new").rename(project / "node_modules" / "a" / "b" / "run")

    assert list(brain.check()) == ["node_modules/a/b/run"]


def test_links_of_commands_under_protected_names_guard_nothing(project: Path, start: Callable[..., Brain]) -> None:
    (project / "sub").mkdir()
    brain = start()

    _write_link(project / "sub" / ".envrc", "../file")
    assert list(brain.check()) == ["sub/.envrc"]
    (project / "file").touch()

    assert brain.check() == {}


def test_links_of_an_earlier_run_hide_no_link_of_the_user(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("_MAX_FOLLOWED", 16), ("_MAX_FOLLOWED_WITH_NEW", 8), ("_MAX_NEW_FOLLOWED", 1)):
        monkeypatch.setattr(directories, name, most)
    for number in range(24):
        (project / "node_modules" / f"a{number}" / "b").mkdir(parents=True)
    (project / "node_modules" / "mine" / "b").mkdir(parents=True)
    (project / "tool").symlink_to("node_modules/mine/b")
    moved: list[str] = []
    for run in range(2):
        brain = start(begins=False)
        assert [path for path in brain.ask("check")["unchecked"] if ".kaa-blocked" not in path] == []
        for number in range(run * 12, run * 12 + 12):
            _write_link(project / f"a{number}", f"node_modules/a{number}/b")
        moved += brain.check()
        brain.hang_up()
    brain = start(begins=False)
    brain.ask("check")

    _repository(project / "node_modules" / "mine" / "b" / ".git", _EVIL)

    assert list(brain.check()) == ["node_modules/mine/b/.git/config"]
    assert len(moved) > 12


@_needs_git
def test_submodules_in_the_index_take_no_room_from_links(
    project: Path, start: Callable[..., Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_MAX_FOLLOWED", 4)
    _git("init", cwd=project)
    lines = (f"160000 {'1' * 40}\tvenv/{number}/x\n" for number in range(8))
    subprocess.run(["git", "update-index", "--index-info"], cwd=project, input="".join(lines).encode(), check=True)
    (project / "node_modules" / "a" / "b").mkdir(parents=True)
    (project / "sub").mkdir()
    (project / "sub" / "tool").symlink_to("../node_modules/a/b")
    brain = start(git_writable=True, begins=False)
    assert brain.ask("check")["unchecked"] == []

    _repository(project / "node_modules" / "a" / "b" / ".git", _EVIL)

    assert list(brain.check()) == ["node_modules/a/b/.git/config"]
