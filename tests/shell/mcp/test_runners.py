"""Which package a runner executes is found in long texts, too."""

from pathlib import Path
from typing import Any

import pytest

from kaa.shell.mcp.runners import environment_of_uv, package_of_runner


class Watched(list[str]):
    """Words that note how many of them were copied."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:  # any: as list has it
        found = super().__getitem__(place)
        self.copied += len(found) if isinstance(place, slice) else 0
        return found


def test_words_of_a_long_text_are_looked_at_once() -> None:
    words = Watched([f"word{number}" for number in range(5_000)])

    assert package_of_runner(words) is None
    assert words.copied == 0

    words += ["npm", "--yes", "exec", "acme"]
    assert package_of_runner(words) == len(words) - 1
    assert words.copied < len(words)


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (("uv", "run", "acme-mcp"), "."),
        (("/usr/bin/uv", "run", "server.py"), "tools/deep"),
        (("uv", "--directory", "sub", "run", "acme-mcp"), "."),
    ],
)
def test_uv_leaves_the_environment_of_a_project_that_it_may_not_write(
    tmp_path: Path, words: tuple[str, ...], folder: str
) -> None:
    (tmp_path / "tools/deep").mkdir(parents=True)
    place = tmp_path / "sub" if "sub" in words else tmp_path
    place.mkdir(exist_ok=True)
    (place / "pyproject.toml").touch()
    base = str(tmp_path / folder)

    before = environment_of_uv(words, base, str(tmp_path), "/data/cache")
    (place / ".venv").mkdir()
    after = environment_of_uv(words, base, str(tmp_path), "/data/cache")

    assert (before, after) == ({"UV_PROJECT_ENVIRONMENT": "/data/cache/venv"}, {"UV_NO_SYNC": "1"})


@pytest.mark.parametrize("words", [("uvx", "acme-mcp"), ("uv", "sync"), ("python3", "run")])
def test_other_programs_get_no_variables_of_uv(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert environment_of_uv(words, str(tmp_path), str(tmp_path), "/data/cache") == {}
