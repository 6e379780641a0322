import json
import os
import shutil
from pathlib import Path

import pytest

from kaa.frontends.interactive import themes
from kaa.frontends.interactive.themes import ThemeLibrary
from kaa.tui.colors import Depth, Rgb, contrast, parse_hex
from kaa.tui.theme_file import TOKENS, ThemeError

BUILT_IN = Path(themes.__file__).parent

# What terminals have behind and in their text when a theme has nothing to say of it: the least helpful of common ones
# (One Dark, grey paper), and pure ones for those who want contrast.
SURROUNDINGS = {
    "dark": ("#282c34", "#d4d4d4"),
    "light": ("#f2f2ee", "#24292f"),
    "high-contrast-dark": ("#000000", "#ffffff"),
    "high-contrast-light": ("#ffffff", "#000000"),
}
# Lines between things; nobody reads them.
RULES = {"borderMuted", "mdCodeBlockBorder", "mdQuoteBorder", "mdHr", "thinkingOff"}


def colors_of(name: str) -> dict[str, str]:
    document = json.loads((BUILT_IN / f"{name}.json").read_text())
    return {token: document["vars"].get(color, color) for token, color in document["colors"].items()}


def rgb(text: str) -> Rgb:
    color = parse_hex(text)
    assert color is not None, text
    return color


def write_theme(home: Path, name: str, **colors: object) -> Path:
    file = home / "themes" / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"name": name, "colors": {**dict.fromkeys(TOKENS, ""), **colors}}))
    return file


@pytest.fixture
def library(tmp_path: Path) -> ThemeLibrary:
    return ThemeLibrary(str(tmp_path), "truecolor")


def test_every_theme_of_kaa_s_is_tried_out_here(library: ThemeLibrary) -> None:
    assert library.names() == sorted(SURROUNDINGS)


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_text_can_be_read(name: str) -> None:
    colors = colors_of(name)
    page, ink = SURROUNDINGS[name]
    enough = 7 if name.startswith("high-contrast") else 4.5

    for background in [page, *(color for token, color in colors.items() if token.endswith("Bg"))]:
        for token, color in colors.items():
            if not token.endswith("Bg") and token not in RULES:
                assert contrast(rgb(color or ink), rgb(background)) >= enough, (token, background)


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_rules_can_be_seen(name: str) -> None:
    colors = colors_of(name)
    page, _ = SURROUNDINGS[name]

    assert all(contrast(rgb(colors[token]), rgb(page)) >= 3 for token in RULES)


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_must_be_told_apart_differs(name: str) -> None:
    colors = colors_of(name)

    for tokens in (
        ["success", "error", "warning"],
        ["toolDiffAdded", "toolDiffRemoved", "toolDiffContext"],
        ["toolPendingBg", "toolSuccessBg", "toolErrorBg"],
        ["thinkingOff", "thinkingMinimal", "thinkingLow", "thinkingMedium", "thinkingHigh", "thinkingXhigh"],
    ):
        assert len({colors[token] for token in tokens}) == len(tokens)


@pytest.mark.parametrize("depth", ["none", "16", "256", "truecolor"])
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_kaa_s_themes_load_at_every_depth(name: str, depth: Depth, tmp_path: Path) -> None:
    theme = ThemeLibrary(str(tmp_path), depth).load(name)

    assert theme.name == name
    assert theme.is_dark == (not name.endswith("light"))


@pytest.mark.parametrize(
    ("setting", "background_is_dark", "name"),
    [
        (None, None, "dark"),
        (None, True, "dark"),
        (None, False, "light"),
        ("", False, "light"),
        ("light", True, "light"),
        ("light/high-contrast-dark", True, "high-contrast-dark"),
        ("light/high-contrast-dark", False, "light"),
        ("high-contrast", True, "high-contrast-dark"),
        ("high-contrast", False, "high-contrast-light"),
        ("high-contrast", None, "high-contrast-dark"),
    ],
)
def test_what_the_setting_means(
    library: ThemeLibrary, setting: str | None, background_is_dark: bool | None, name: str
) -> None:
    theme, problem = library.choose(setting, background_is_dark)

    assert theme.name == name
    assert problem is None
    assert not library.is_watching
    assert library.refresh() is None


def test_a_user_s_theme_can_be_chosen_and_is_watched(library: ThemeLibrary, tmp_path: Path) -> None:
    write_theme(tmp_path, "mine", accent="#010203")

    assert library.names()[-1] == "mine"
    assert library.choose("mine", None).theme["accent"] == "38;2;1;2;3"
    assert library.is_watching


def test_a_user_s_theme_goes_before_one_of_kaa_s(library: ThemeLibrary, tmp_path: Path) -> None:
    write_theme(tmp_path, "dark", accent="#010203")

    assert library.choose(None, None).theme["accent"] == "38;2;1;2;3"
    assert library.names().count("dark") == 1


@pytest.mark.parametrize("setting", ["nobody", "../../etc/passwd", "light/", "a/b/c", "..", "nul\0", "x" * 5000])
def test_a_theme_that_is_not_there(library: ThemeLibrary, setting: str) -> None:
    theme, problem = library.choose(setting, None)

    assert theme.name == "dark"
    assert problem
    assert problem.endswith("The theme dark is used.")


def test_a_broken_theme_is_told_and_one_of_kaa_s_is_used(library: ThemeLibrary, tmp_path: Path) -> None:
    file = write_theme(tmp_path, "light", accent="#01020")

    theme, problem = library.choose("light", False)

    assert theme["accent"] == colors_sgr("light", "accent")
    assert problem
    assert str(file) in problem
    assert "accent" in problem


def colors_sgr(name: str, token: str) -> str:
    red, green, blue = rgb(colors_of(name)[token])
    return f"38;2;{red};{green};{blue}"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"null"])
def test_any_content_is_told(library: ThemeLibrary, tmp_path: Path, content: bytes) -> None:
    write_theme(tmp_path, "mine").write_bytes(content)

    with pytest.raises(ThemeError, match=r"mine\.json is not a theme"):
        library.load("mine")


def test_a_change_of_the_file_is_seen_once(library: ThemeLibrary, tmp_path: Path) -> None:
    write_theme(tmp_path, "mine", accent=1)
    library.choose("mine", None)

    assert library.refresh() is None
    replace(write_theme(tmp_path, "next", accent=2), tmp_path / "themes" / "mine.json")
    changed = library.refresh()

    assert changed is not None
    assert changed.theme["accent"] == "38;5;2"
    assert library.refresh() is None


def replace(new: Path, old: Path) -> None:
    """As editors save: another file takes the place of the old one."""
    os.replace(new, old)


def test_a_file_that_breaks_leaves_the_theme_as_it_was(library: ThemeLibrary, tmp_path: Path) -> None:
    file = write_theme(tmp_path, "mine", accent=1)
    before = library.choose("mine", None).theme

    file.write_text("{")
    changed = library.refresh()

    assert changed is not None
    assert changed.theme is before
    assert changed.problem
    assert "stays as it was" in changed.problem
    write_theme(tmp_path, "mine", accent=22)
    repaired = library.refresh()
    assert repaired is not None
    assert repaired.theme["accent"] == "38;5;22"
    assert repaired.problem is None


def test_a_file_that_vanishes_leaves_the_theme_as_it_was(library: ThemeLibrary, tmp_path: Path) -> None:
    write_theme(tmp_path, "mine", accent=1)
    library.choose("mine", None)

    shutil.rmtree(tmp_path / "themes")

    assert library.refresh() is None


def test_a_theme_that_appears_later_is_taken(library: ThemeLibrary, tmp_path: Path) -> None:
    assert library.choose("mine", None).problem

    write_theme(tmp_path, "mine", accent=3)
    appeared = library.refresh()

    assert appeared is not None
    assert appeared.theme.name == "mine"


def test_themes_of_extensions_come_last_and_both_places_of_a_name_are_told(
    library: ThemeLibrary, tmp_path: Path
) -> None:
    own, extension = write_theme(tmp_path, "mine"), tmp_path / "extension"
    for name in ("mine", "light", "sea"):
        (extension / "themes").mkdir(parents=True, exist_ok=True)
        write_theme(extension, name)
    folder = str(extension / "themes")

    problems = library.use_folders([folder])

    assert library.names()[-2:] == ["mine", "sea"]
    assert problems == [
        f"The theme {folder}/light.json cannot be chosen: {BUILT_IN}/light.json has the same name. Rename one of them.",
        f"The theme {folder}/mine.json cannot be chosen: {own} has the same name. Rename one of them.",
    ]
    assert library.choose("sea", None).problem is None
    assert library.use_folders([]) == []
    assert "there is no theme 'sea'" in str(library.choose("sea", None).problem)
