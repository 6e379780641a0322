"""Projects in which commands could write are known, however long or odd their paths are."""

import os
from pathlib import Path

import pytest

from kaa.host.known_projects import in_known_project, known_projects
from kaa.workspace.places import Places


@pytest.mark.parametrize(
    "name", ["app", "Обработка данных/Проекты/Документы", "深い" * 20, "x" * 250, "a%2Fb", "b\udcff"]
)
def test_a_project_in_which_kaa_ran_is_known(tmp_path: Path, name: str) -> None:
    project = str(tmp_path / "work" / name)
    environ = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    os.makedirs(environ["HOME"])

    for _ in range(2):
        assert Places(str(tmp_path / "cache" / "kaa"), project).caches

    assert known_projects(environ, "/elsewhere") == (project,)
    assert in_known_project(f"{project}/tools/server.py", environ, "/elsewhere") == project
    assert in_known_project(str(tmp_path / "work"), environ, "/elsewhere") is None
