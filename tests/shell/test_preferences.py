import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.shell.preferences import SETTINGS, Preferences, load_preferences, parse_preferences


def parsed(**values: object) -> tuple[Preferences, tuple[str, ...]]:
    preferences, problems = parse_preferences(values, "settings.json")
    return preferences, problems


def test_every_preference_has_a_place_in_the_file() -> None:
    assert sorted(setting.field for setting in SETTINGS) == sorted(Preferences._fields)


def test_every_default_is_allowed() -> None:
    for setting in SETTINGS:
        default = Preferences._field_defaults[setting.field]
        assert default is None or setting.accepts(default)


def test_a_menu_has_no_hundreds_of_values_to_step_through() -> None:
    offered = {setting.field: setting.offered for setting in SETTINGS}

    assert offered["editor_padding_x"] == (0, 1, 2, 3)
    assert offered["screen"] == ("main", "full", "linear")
    assert offered["image_width_cells"][:4] == (20, 40, 60, 80)
    assert max(map(len, offered.values())) <= 25
    assert all(setting.accepts(value) for setting in SETTINGS for value in setting.offered)


def test_all_settings_of_pi_s_that_there_are() -> None:
    preferences, problems = parsed(
        theme="light/dark",
        quietStartup=True,
        editorPaddingX=2,
        autocompleteMaxVisible=10,
        hideThinkingBlock=True,
        doubleEscapeAction="none",
        terminal={"showImages": False, "imageWidthCells": 80, "showTerminalProgress": True, "clearOnShrink": True},
        externalEditor="hx",
        lastChangelogVersion="0.74.2",
    )

    assert not problems
    assert preferences == Preferences(
        theme="light/dark",
        quiet_startup=True,
        editor_padding_x=2,
        autocomplete_max_visible=10,
        hide_thinking_block=True,
        double_escape_action="none",
        show_images=False,
        image_width_cells=80,
        show_terminal_progress=True,
        external_editor="hx",
    )


def test_kaa_s_own_settings() -> None:
    preferences, problems = parsed(
        ui={"screen": "linear", "reflow": "keep", "notifications": "bell"}, editor={"mode": "vim"}
    )

    assert not problems
    assert preferences == Preferences(screen="linear", reflow="keep", notifications="bell", editor_mode="vim")


@pytest.mark.parametrize(
    ("values", "field", "value"),
    [
        ({"tuiMode": "fullscreen"}, "screen", "full"),
        ({"tuiMode": "regular"}, "screen", "main"),
        ({"tuiMode": "fullscreen", "ui": {"screen": "linear"}}, "screen", "linear"),
        ({"quietStartup": "header"}, "quiet_startup", False),
        ({"ui": {"notifications": False}}, "notifications", "off"),
    ],
)
def test_other_words_for_the_same(values: dict[str, Any], field: str, value: object) -> None:
    preferences, problems = parsed(**values)

    assert getattr(preferences, field) == value
    assert not problems


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"editorPaddingX": 4}, "editorPaddingX must be a whole number from 0 to 3, not 4; 0 is used"),
        ({"editorPaddingX": True}, "editorPaddingX must be a whole number from 0 to 3, not true; 0 is used"),
        ({"editorPaddingX": 1.0}, "editorPaddingX must be a whole number from 0 to 3, not 1.0; 0 is used"),
        ({"quietStartup": 1}, "quietStartup must be true or false, not 1; false is used"),
        ({"theme": ["dark"]}, 'theme must be a text, not ["dark"]; it is ignored'),
        ({"tuiMode": "big"}, 'tuiMode must be "main" or "full" or "linear", not "big"; "main" is used'),
        ({"editor": {"mode": "emacs"}}, 'editor.mode must be "default" or "vim", not "emacs"; "default" is used'),
    ],
)
def test_a_wrong_value_is_told_and_the_default_is_used(values: dict[str, Any], problem: str) -> None:
    preferences, problems = parsed(**values)

    assert preferences == Preferences()
    assert problems == (f"settings.json: {problem}.",)


def test_null_and_what_kaa_does_not_know_is_ignored() -> None:
    assert parsed(theme=None, terminal=3, enabledModels=["*"]) == (Preferences(), ())


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_preferences(str(tmp_path)) == (Preferences(), ())


@pytest.mark.parametrize(
    "content",
    [
        b'{"theme": "light"}',
        b'\xef\xbb\xbf{"theme": "light"}',
        b'{\n  // bright\n  "theme": "light", /* for now */\n}\n',
    ],
)
def test_files_as_people_write_them(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)

    assert load_preferences(str(tmp_path)) == (Preferences(theme="light"), ())


@pytest.mark.parametrize("content", [b"", b" \n", b"// nothing yet\n"])
def test_an_empty_file_says_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)

    assert load_preferences(str(tmp_path)) == (Preferences(), ())


@pytest.mark.parametrize("content", [b'{"theme": ', b"\xff", b"{" * 10, b"[" * 100_000, b"[1]", b"/*"])
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)

    preferences, problems = load_preferences(str(tmp_path))

    assert preferences == Preferences()
    assert len(problems) == 1
    assert problems[0].startswith(str(tmp_path / "settings.json"))
    assert problems[0].endswith("the default settings are used.") or problems[0].endswith(
        "The default settings are used."
    )


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()

    assert "cannot be read" in load_preferences(str(tmp_path)).problems[0]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = [setting.key for setting in SETTINGS]


@given(
    ANYTHING
    | st.dictionaries(st.sampled_from([key for key in KEYS if "." not in key]), ANYTHING)
    | st.dictionaries(
        st.sampled_from(["ui", "terminal", "editor", "markdown"]),
        ANYTHING | st.dictionaries(st.sampled_from([key.split(".")[1] for key in KEYS if "." in key]), ANYTHING),
    )
)
def test_any_json_gives_allowed_preferences(values: object) -> None:
    preferences, _ = parse_preferences(json.loads(json.dumps(values)), "settings.json")

    for setting in SETTINGS:
        value = getattr(preferences, setting.field)
        assert value is None or setting.accepts(value)
