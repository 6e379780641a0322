"""Themes that extensions bring."""

import json
from pathlib import Path

import pytest

from kaa.tui.theme_file import TOKENS
from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer, say

pytestmark = pytest.mark.usefixtures("full_access")

_THEMES = """
def extend(kaa):
    kaa.add_themes("themes")
"""


def _extension(folder: Path) -> Path:
    (folder / "sea" / "themes").mkdir(parents=True)
    (folder / "sea" / "__init__.py").write_text(_THEMES)
    theme = {"name": "sea", "colors": dict.fromkeys(TOKENS, "")}
    (folder / "sea" / "themes" / "sea.json").write_text(json.dumps(theme))
    return folder / "sea"


def test_a_theme_of_an_extension_can_be_chosen_and_is_there_at_the_next_start(seat: Seat, tmp_path: Path) -> None:
    extension = _extension(tmp_path)
    with seat.open("-e", str(extension), script=[say("Hello.")]) as program:
        enter(program, "hi")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/theme sea")
        program.wait_for(lambda _: json.loads((seat.home / "settings.json").read_text()).get("theme") == "sea")

    with seat.open("-e", str(extension), script=[say("Hello.")]) as program:
        enter(program, "hi")
        program.wait_for("Hello.")
        assert "no theme" not in program.screen.text()
        program.wait_for(is_idle)
        (extension / "__init__.py").write_text("def extend(kaa):\n    pass\n")
        enter(program, "/reload")
        program.wait_for("there is no theme 'sea'")

    with seat.open() as program:
        program.wait_for("there is no theme 'sea'")


def test_a_folder_that_is_not_there_is_refused_with_its_path(kaa: Kaa, tmp_path: Path) -> None:
    extension = _extension(tmp_path)
    (extension / "__init__.py").write_text(_THEMES.replace('"themes"', '"colours"'))
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", str(extension), "-p", "hi")

    assert done.code != 0
    assert f"no such folder of themes: {extension}/colours" in done.err


def test_the_list_of_extensions_names_the_folder(kaa: Kaa, tmp_path: Path) -> None:
    extension = _extension(tmp_path)
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", str(extension), "-p", "/extensions")

    assert f"themes in {extension}/themes" in done.out


def test_a_theme_of_a_pi_package_can_be_chosen(seat: Seat, tmp_path: Path) -> None:
    package = tmp_path / "sources" / "tools"
    (package / "themes").mkdir(parents=True)
    (package / "package.json").write_text(
        json.dumps({"name": "tools", "version": "1.0.0", "pi": {"themes": ["themes"]}})
    )
    (package / "themes" / "sea.json").write_text(json.dumps({"name": "sea", "colors": dict.fromkeys(TOKENS, "")}))
    done = seat.run("plugin", "install", "--yes", str(package))
    assert done.code == 0, done.err
    assert "1 theme (/theme selects them): sea" in done.out

    with seat.open() as program:
        enter(program, "/theme sea")
        program.wait_for(lambda _: json.loads((seat.home / "settings.json").read_text()).get("theme") == "sea")
        assert "no theme" not in program.screen.text()
