"""Commands that destroy only what checkpoints keep run without a question, and `/undo` restores it; others ask."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
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


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf src tracked",
        "find src -delete",
        "truncate -s 0 tracked",
        "dd if=/dev/null of=src/a.py",
        "cd src && rm -f a.py",
        "rm -f src/*.py",
        "find . -name '*.py' -delete",
    ],
)
def test_a_command_that_can_be_undone_is_not_asked_about_and_undone(kaa: Kaa, repository: Path, command: str) -> None:
    before = _contents(repository)

    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa) as client:
            client.prompt("do it")
            destroyed = _contents(repository)
            client.data("prompt", message="/undo --all")
        asked = [line for line in client.seen if line["type"] == "extension_ui_request" and line["method"] == "select"]

    assert not asked
    assert destroyed != before
    assert _contents(repository) == before


@pytest.mark.parametrize("command", ["git reset --hard", "git checkout -- tracked", "git restore .", "git clean -fd"])
def test_what_git_discards_is_undone(kaa: Kaa, repository: Path, command: str) -> None:
    before = _contents(repository)

    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "do it")
        destroyed = _contents(repository)
        undone = kaa.run("-c", "-p", "/undo")

    assert done.code == 0, done.err
    assert destroyed != before
    assert undone.code == 0, undone.err
    assert _contents(repository) == before


@pytest.mark.parametrize(
    "command",
    ["rm -rf ignored", "git clean -fdx", "rm -rf src ignored", "git stash drop", "rm -rf .git", "cd src; rm -rf ."],
)
def test_what_cannot_be_undone_is_denied_without_a_user(kaa: Kaa, repository: Path, command: str) -> None:
    before = _contents(repository)

    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "do it")

    assert done.code == 3
    assert _contents(repository) == before


@pytest.mark.parametrize("why", ["off", "no session"])
def test_without_checkpoints_it_is_denied_as_before(kaa: Kaa, repository: Path, why: str) -> None:
    before = _contents(repository)
    if why == "off":
        kaa.settings(checkpoints={"enabled": False})

    with ModelServer([call("bash", command="rm -rf src"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run(*(["--no-session"] if why == "no session" else []), "-p", "do it")

    assert done.code == 3
    assert _contents(repository) == before


@pytest.mark.parametrize(
    "command",
    [
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
    ],
)
def test_no_name_hides_that_the_only_copy_would_be_lost(kaa: Kaa, repository: Path, command: str) -> None:
    copy = repository / "ignored" / "only copy"
    (repository / "link").symlink_to("ignored")
    (repository / "twin").hardlink_to(copy)

    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "do it")

    assert done.code == 3
    assert copy.read_text() == "mine"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf node_modules build",
        "rm -rf build/*",
        "find . -type d -name __pycache__ -exec rm -rf {} +",
        "find . -name '*.pyc' -delete",
    ],
)
@pytest.mark.parametrize("has", ["only ignored files", "a tracked file", "no ignore file"])
def test_generated_files_are_not_asked_about_if_git_ignores_all_of_them(
    kaa: Kaa, repository: Path, command: str, has: str
) -> None:
    generated = [repository / name for name in ("node_modules/m.js", "build/o", "src/__pycache__/a.pyc")]
    for file in generated:
        file.parent.mkdir()
        file.write_text("generated")
    if has != "no ignore file":
        (repository / ".gitignore").write_text("node_modules/\nbuild/\n__pycache__/\nignored/\n")
    if has == "a tracked file":
        subprocess.run(["git", "add", "-f", *generated], cwd=repository, check=True, env=kaa.environ)
    before = _contents(repository)

    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "do it")

    # Without an ignore file, checkpoints keep `build`.
    runs = has == "only ignored files" or (has == "no ignore file" and command == "rm -rf build/*")
    assert done.code == (0 if runs else 3), done.err
    assert (_contents(repository) != before) is runs
