"""A bundled pip that is unpacked: Python keeps its compiled modules, where from a wheel it compiles them each time."""

import ensurepip
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an `ensurepip` in it whose wheel of pip is a folder."""
    folder = tmp_path_factory.mktemp("bundle")
    package = folder / "ensurepip"
    package.mkdir()
    (package / "__init__.py").touch()
    for wheel in Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(package / "_bundled" / wheel.name)
    return folder


@pytest.fixture
def unpacked_pip(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kaa find a pip that starts fast, if it is not installed."""
    monkeypatch.delitem(sys.modules, "ensurepip", raising=False)
    monkeypatch.syspath_prepend(str(bundle))
