"""What commands see of the user's toolchain caches. Nothing they do there reaches the user or other projects."""

import asyncio
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        for name in ("one", "two", "home/.cache/pip/http", "home/.cargo/registry/cache", "home/.npm/_cacache"):
            (folder / name).mkdir(parents=True)
        (folder / "home" / ".cache" / "pip" / "http" / "a").write_text("the user's")
        (folder / "home" / ".cargo" / "registry" / "cache" / "x.crate").write_text("the user's")
        (folder / "home" / ".cargo" / "credentials.toml").write_text("secret")
        yield folder


def play(
    folder: Path, *scripts: str, project: str = "one", options: SandboxOptions | None = None, **variables: str
) -> list[CommandResult]:
    """Run commands in one session."""

    async def whole() -> list[CommandResult]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **variables}
        workspace = LocalWorkspace.start(str(folder / project), env=environment, sandbox=options or SandboxOptions())
        try:
            status = await workspace.sandbox.status()
            if "shared, read-only" not in status.features.get("toolchain caches", "") and options is None:
                pytest.skip(f"this machine cannot share caches: {status.features}")
            return [
                await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS)) for script in scripts
            ]
        finally:
            await workspace.close()

    return asyncio.run(whole())


def test_what_the_user_downloaded_is_seen(folder: Path) -> None:
    pip, cargo = play(folder, "cat $PIP_CACHE_DIR/http/a", "cat $CARGO_HOME/registry/cache/x.crate")

    assert (pip.tail, cargo.tail) == (b"the user's", b"the user's")


def test_where_the_user_s_variable_says_that_it_is(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "b").write_text("b")

    (result,) = play(folder, "cat $PIP_CACHE_DIR/b", PIP_CACHE_DIR=str(folder / "elsewhere"))

    assert result.tail == b"b"


def test_what_commands_change_stays_in_the_project(folder: Path) -> None:
    change = "echo evil >> $PIP_CACHE_DIR/http/a; rm -r $CARGO_HOME/registry/cache; echo new > $PIP_CACHE_DIR/http/new"
    look = "cat $PIP_CACHE_DIR/http/*; ls $CARGO_HOME/registry"

    changed, seen = play(folder, change, look)
    (later,) = play(folder, look)
    (other,) = play(folder, look, project="two")

    assert changed.exit_code == 0
    assert seen.tail == later.tail == b"the user'sevil\nnew\n"
    assert other.tail == b"the user'scache\n"
    cache = folder / "home" / ".cache" / "pip" / "http"
    assert [(path.name, path.read_text()) for path in cache.iterdir()] == [("a", "the user's")]
    assert (folder / "home" / ".cargo" / "registry" / "cache" / "x.crate").exists()


def test_credentials_beside_a_cache_stay_hidden(folder: Path) -> None:
    (result,) = play(folder, "ls -A $CARGO_HOME; cat $CARGO_HOME/credentials.toml ~/.cargo/credentials.toml")

    assert b"registry" in result.tail
    assert b"secret" not in result.tail


@pytest.mark.parametrize("hidden", ["", "/http", "/later/private"])
def test_a_cache_with_something_hidden_is_not_shared(folder: Path, hidden: str) -> None:
    options = SandboxOptions(hidden=(f"{folder}/home/.cache/pip{hidden}",))

    pip, cargo = play(folder, "cat $PIP_CACHE_DIR/http/a", "cat $CARGO_HOME/registry/cache/x.crate", options=options)

    assert pip.exit_code != 0
    assert b"user's" not in pip.tail
    assert cargo.tail in (b"the user's", b"")


def test_a_link_that_a_command_left_in_place_of_its_cache_is_not_followed(folder: Path) -> None:
    target = folder / "home" / "notes"
    target.mkdir()
    (folder / "home" / ".cache" / "pip").rename(folder / "aside")
    play(folder, f"ln -s {target} $PIP_CACHE_DIR")
    (folder / "aside").rename(folder / "home" / ".cache" / "pip")

    play(folder, "echo evil > $PIP_CACHE_DIR/evil", options=SandboxOptions())

    assert list(target.iterdir()) == []


def test_nothing_of_it_is_left_but_the_project_s_cache(folder: Path) -> None:
    play(folder, "echo x >> $PIP_CACHE_DIR/http/a")

    assert list((folder / "home" / ".cache" / "kaa" / "tmp").iterdir()) == []


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_npm_finds_what_was_in_its_cache_before(folder: Path) -> None:
    (folder / "package.json").write_text('{"name": "of-the-cache", "version": "1.0.0"}')
    with tarfile.open(folder / "x.tgz", "w:gz") as archive:
        archive.add(folder / "package.json", "package/package.json")
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "npm_config_update_notifier": "false"}
    subprocess.run(["npm", "cache", "add", folder / "x.tgz"], cwd=folder, env=variables, check=True)

    (result,) = play(folder, "npm cache ls")

    assert b"x.tgz" in result.tail


@pytest.mark.skipif(shutil.which("pip3") is None, reason="needs pip")
def test_pip_finds_what_was_in_its_cache_before(folder: Path) -> None:
    wheels = folder / "home" / ".cache" / "pip" / "wheels" / "a" / "b" / "c"
    wheels.mkdir(parents=True)
    (wheels / "cached-1.0-py3-none-any.whl").touch()

    (result,) = play(folder, "pip3 cache list")

    assert b"cached-1.0-py3-none-any.whl" in result.tail
