"""`kaa ext new`: what it writes works as it is."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.cli import run
from kaa.core.messages import TextContent
from kaa.ext.hooks import SessionStart
from kaa.ext.loader import load_extension
from kaa.ext.process.extension import process_extension
from tests.support.extension_ids import named
from tests.support.process_host import UnconfinedHost
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def runs_typescript() -> bool:
    """Whether there is a Node that executes TypeScript as it is."""
    node = shutil.which("node")
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = [int(part) for part in told.strip().removeprefix("v").split(".")[:2] if part.isdecimal()]
    return version >= [22, 18]


def test_a_python_extension_loads_and_passes_its_tests(project: Path) -> None:
    assert run(["ext", "new", "words"]) == 0

    registry = LoadedRegistry(lambda failure: None)
    registry.load("words", load_extension(project / "words"))
    (scope,) = (one for one in registry.extensions.scopes() if one.extension.name == "words")
    assert list(scope.tools) == ["words_words"]
    assert list(scope.commands) == ["words"]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project / "words")],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize(
    "language",
    [
        "python",
        pytest.param("ts", marks=pytest.mark.skipif(not runs_typescript(), reason="needs Node 22.18 or newer")),
    ],
)
def test_a_process_registers_its_tool_and_answers_a_call(project: Path, language: str) -> None:
    assert run(["ext", "new", "words", "--process", language]) == 0

    async def call() -> str:
        host = UnconfinedHost(project)
        failures: list[str] = []
        registry = LoadedRegistry(failures.append)
        registry.load("words", process_extension(named(project / "words"), host))
        try:
            await registry.session.started(SessionStart("startup", "session", None))
            (scope,) = (one for one in registry.extensions.scopes() if "words_words" in one.tools)
            assert list(scope.commands) == ["words"]
            bound = registry.context.bind(scope.tools["words_words"].tool, scope)
            result = await bound.run({"text": "one two three"}, RecordedRun())
            assert not failures
            (content,) = result.content
            assert isinstance(content, TextContent)
            return content.text
        finally:
            registry.extensions.close()
            await host.close()

    async def limited() -> str:
        async with asyncio.timeout(60):
            return await call()

    assert asyncio.run(limited()) == "3 words"


@pytest.mark.parametrize("language", ["rust", "python"])
def test_a_component_has_its_sources(project: Path, language: str) -> None:
    assert run(["ext", "new", "words", "--wasm", language]) == 0

    assert (project / "words/extension.toml").is_file()
    assert (project / "words/wit/kaa-extension.wit").is_file()


@pytest.mark.parametrize(
    ("name", "said"), [("../words", "invalid extension name '../words'"), ("taken", "exists: choose another name")]
)
def test_nothing_is_overwritten(project: Path, capsys: pytest.CaptureFixture[str], name: str, said: str) -> None:
    (project / "taken").mkdir()

    assert run(["ext", "new", name]) == 1

    assert said in capsys.readouterr().err
    assert list((project / "taken").iterdir()) == []
