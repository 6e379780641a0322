"""Commands that destroy only what checkpoints keep run without a question, and `/undo` restores it; others ask."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def repository(kaa: Kaa) -> Path:
    """The project as a repository with a commit, uncommitted changes, and files that git does not track or ignores."""
    project = kaa.project
    (project / ".gitignore").write_text("ignored/\n")
    (project / "tracked").write_text("committed")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("a")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "c")):
        subprocess.run(["git", *words], cwd=project, check=True, env=kaa.environ)
    (project / "tracked").write_text("my change")
    (project / "src" / "new.py").write_text("new")
    (project / "ignored").mkdir()
    (project / "ignored" / "only copy").write_text("mine")
    return project


def _contents(project: Path) -> dict[str, bytes]:
    """The files, but for git's. A sandbox that ends takes away what it put up, so something can go meanwhile."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(project):
        for file in (Path(folder, name) for name in names):
            with suppress(FileNotFoundError):
                found[str(file.relative_to(project))] = file.read_bytes()
    return {name: content for name, content in found.items() if not name.startswith(".git/")}


def _run(kaa: Kaa, *commands: str, options: Sequence[str] = ()) -> tuple[int, dict[str, bool]]:
    """Have the model run commands while nobody can be asked. Returns the exit code, and which of them ran."""
    with ModelServer([*(call("bash", command=command) for command in commands), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run(*options, "-p", "do it")
    results = [text for role, text in conversation(server.requests[-1]) if role == "tool"]
    return done.code, {
        command: not result.startswith("bash was not run: ") for command, result in zip(commands, results, strict=True)
    }


def test_a_command_that_can_be_undone_is_not_asked_about_and_undone(kaa: Kaa, repository: Path) -> None:
    commands = [
        "rm -rf src tracked",
        "find src -delete",
        "truncate -s 0 tracked",
        "dd if=/dev/null of=src/a.py",
        "cd src && rm -f a.py",
        "rm -f src/*.py",
        "find . -name '*.py' -delete",
        "git checkout -- tracked",
        "git restore .",
        "git clean -fd",
        "git reset --hard",
    ]
    before = _contents(repository)

    with ModelServer(
        [item for command in commands for item in (call("bash", command=command), say("Done."))]
    ) as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa) as client:
            for command in commands:
                client.prompt("do it")
                assert _contents(repository) != before, command
                client.data("prompt", message="/undo --all")
                assert _contents(repository) == before, command
        asked = [line for line in client.seen if line["type"] == "extension_ui_request" and line["method"] == "select"]

    assert not asked


def test_what_cannot_be_undone_is_denied_without_a_user(kaa: Kaa, repository: Path) -> None:
    before = _contents(repository)

    code, ran = _run(
        kaa,
        "rm -rf ignored",
        "git clean -fdx",
        "rm -rf src ignored",
        "git stash drop",
        "rm -rf .git",
        "cd src; rm -rf .",
    )

    assert [command for command, was_run in ran.items() if was_run] == []
    assert code == 3
    assert _contents(repository) == before


@pytest.mark.parametrize("why", ["off", "no session"])
def test_without_checkpoints_it_is_denied_as_before(kaa: Kaa, repository: Path, why: str) -> None:
    before = _contents(repository)
    if why == "off":
        kaa.settings(checkpoints={"enabled": False})

    code, _ = _run(kaa, "rm -rf src", options=["--no-session"] if why == "no session" else [])

    assert code == 3
    assert _contents(repository) == before


def test_no_name_hides_that_the_only_copy_would_be_lost(kaa: Kaa, repository: Path) -> None:
    copy = repository / "ignored" / "only copy"
    (repository / "link").symlink_to("ignored")
    (repository / "twin").hardlink_to(copy)

    code, ran = _run(
        kaa,
        "mv ignored absent; rm -rf absent",
        "rm -rf src/../ignored",
        "rm -rf link/*",
        "truncate -s 0 'link/only copy'",
        "find link/ -delete",
        "find . -name ignored -exec rm -rf {} +",
        "find . -name 'only*' -delete",
        "find link/ -name 'only*' -delete",
        "rm -rf ign*",
        "rm -rf ignored/*",
        "echo ignored | xargs -I% rm -rf %",
        "sh -c 'cd ignored; rm -rf ../ignored'",
        "cd ignored && rm -f 'only copy'",
        "truncate -s 0 twin",
    )

    assert [command for command, was_run in ran.items() if was_run] == []
    assert code == 3
    assert copy.read_text() == "mine"


_PYC, _CACHES, _BUILT, _BOTH = (
    "find . -name '*.pyc' -delete",
    "find . -type d -name __pycache__ -exec rm -rf {} +",
    "rm -rf build/*",
    "rm -rf node_modules build",
)


@pytest.mark.parametrize(
    ("has", "running"),
    [
        ("only ignored files", [_PYC, _CACHES, _BUILT, _BOTH]),
        ("a tracked file", []),
        ("no ignore file", [_BUILT]),  # checkpoints keep `build`
    ],
)
def test_generated_files_are_not_asked_about_if_git_ignores_all_of_them(
    kaa: Kaa, repository: Path, has: str, running: list[str]
) -> None:
    files = {"src/__pycache__/a.pyc": _PYC, "src/__pycache__/a": _CACHES, "build/o": _BUILT, "node_modules/m.js": _BOTH}
    for name in files:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("generated")
    if has != "no ignore file":
        (repository / ".gitignore").write_text("node_modules/\nbuild/\n__pycache__/\nignored/\n")
    if has == "a tracked file":
        subprocess.run(["git", "add", "-f", *files], cwd=repository, check=True, env=kaa.environ)
    before = _contents(repository)

    code, ran = _run(kaa, _PYC, _CACHES, _BUILT, _BOTH)

    assert [command for command, was_run in ran.items() if was_run] == running
    assert code == (0 if len(running) == len(ran) else 3)
    assert before.keys() - _contents(repository).keys() == {
        name for name, command in files.items() if command in running
    }
