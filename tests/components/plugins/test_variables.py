"""Placeholders of plugins."""

from kaa.components.plugins.manifest import PluginDialect, UserOption
from kaa.components.plugins.variables import PluginFolders, environment_for, expanded, values_for
from tests.support.tables import each

FOLDERS = PluginFolders("/root", "/data", "/project")
OPTIONS = (
    UserOption("token", "CLAUDE_PLUGIN_OPTION_TOKEN", secret=True),
    UserOption("count", "CLAUDE_PLUGIN_OPTION_COUNT", "number", default=3),
    UserOption("on", "CLAUDE_PLUGIN_OPTION_ON", "boolean", default=True),
)


@each(
    ("dialect", "text", "expected"),
    [
        ("claude", "${CLAUDE_PLUGIN_ROOT}/a ${CLAUDE_PLUGIN_DATA} ${CLAUDE_PROJECT_DIR}", "/root/a /data /project"),
        ("claude", "${PLUGIN_ROOT} ${HOME:-x} $CLAUDE_PLUGIN_ROOT", "${PLUGIN_ROOT} ${HOME:-x} $CLAUDE_PLUGIN_ROOT"),
        ("codex", "${CLAUDE_PLUGIN_ROOT} ${PLUGIN_ROOT} ${PLUGIN_DATA}", "/root /root /data"),
        ("gemini", "${extensionPath}${/}a ${workspacePath}", "/root/a /project"),
        ("agent-plugins", "${PLUGIN_ROOT} ${PLUGIN_DATA} ${CLAUDE_PLUGIN_ROOT}", "/root /data ${CLAUDE_PLUGIN_ROOT}"),
        ("pi", "${extensionPath}", "${extensionPath}"),
    ],
)
def test_each_dialect_has_its_own_placeholders(dialect: PluginDialect, text: str, expected: str) -> None:
    assert expanded(text, values_for(dialect, FOLDERS)).value == expected


def test_options_are_put_in_and_missing_ones_named() -> None:
    entry = {"args": ["${user_config.token}", "${user_config.count}", "${user_config.on}"], "timeout": 5}

    found = expanded(entry, values_for("claude", FOLDERS, OPTIONS))

    assert found.value == {"args": ["${user_config.token}", "3", "true"], "timeout": 5}
    assert found.missing == ("token",)


def test_what_a_user_gives_is_not_expanded_again() -> None:
    values = values_for("claude", FOLDERS, OPTIONS, {"token": "${CLAUDE_PLUGIN_ROOT}"})

    assert expanded("${user_config.token}", values).value == "${CLAUDE_PLUGIN_ROOT}"


def test_the_environment_of_what_a_plugin_starts() -> None:
    assert environment_for("claude", FOLDERS, OPTIONS, {"token": "t"}) == {
        "CLAUDE_PLUGIN_ROOT": "/root",
        "CLAUDE_PLUGIN_DATA": "/data",
        "CLAUDE_PROJECT_DIR": "/project",
        "CLAUDE_PLUGIN_OPTION_TOKEN": "t",
        "CLAUDE_PLUGIN_OPTION_COUNT": "3",
        "CLAUDE_PLUGIN_OPTION_ON": "true",
    }
    assert environment_for("gemini", FOLDERS) == {}


def test_options_do_not_take_the_place_of_folders() -> None:
    option = UserOption("extensionPath", "PLUGIN_ROOT", default="/else")

    assert expanded("${extensionPath}", values_for("gemini", FOLDERS, [option])).value == "/root"
    assert environment_for("agent-plugins", FOLDERS, [option])["PLUGIN_ROOT"] == "/root"
