"""A pip that starts fast: Python keeps its compiled modules, and most runs are forked from one that has loaded it."""

import ensurepip
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kaa.shell.extensions import index
from tests.support.warm_pip import WarmPip, unpack_bundle, warm_pip

needs_pip = pytest.mark.skipif(
    find_spec("pip") is None and not list(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")),
    reason="this Python has no pip",
)


@pytest.fixture(scope="session")
def bundle(request: pytest.FixtureRequest) -> Path:
    """A folder with an `ensurepip` in it whose wheel of pip is a folder. It is kept: compiling it takes 1.5 s."""
    folder: Path = request.config.cache.mkdir(f"pip-{sys.version_info.major}.{sys.version_info.minor}")
    unpack_bundle(folder)
    return folder


@pytest.fixture(scope="session")
def pip(bundle: Path) -> Iterator[WarmPip]:
    """What runs pip."""
    with warm_pip(index._RUNNER, bundle) as pip:
        yield pip


@pytest.fixture
def unpacked_pip(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kaa find a pip that starts fast, if it is not installed, and run it as a program."""
    monkeypatch.delitem(sys.modules, "ensurepip", raising=False)
    monkeypatch.syspath_prepend(str(bundle))


@pytest.fixture
def forked_pip(pip: WarmPip, unpacked_pip: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, but forked."""
    if find_spec("pip") is None:
        monkeypatch.setattr(index, "subprocess", pip)
