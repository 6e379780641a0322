"""Settings of extensions: declared by a class, kept in settings.json, shown and changed by /settings."""

from typing import Annotated, Literal

import msgspec
import pytest

from kaa.ext.api import CommandContext, ExtensionAPI, RegistrationError
from kaa.ext.choices import UserSetting
from kaa.ext.errors import CommandError
from kaa.shell.host import HostedConversation
from tests.support.extended import play
from tests.support.registries import LoadedRegistry
from tests.support.stage import Stage


class Formatting(msgspec.Struct, rename="camel"):
    """What an extension can be told."""

    command: Annotated[str, msgspec.Meta(description="Formats a file")] = "black"
    line_length: Annotated[int, msgspec.Meta(ge=1)] = 88
    style: Literal["tabs", "spaces"] = "spaces"


seen: list[object] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    seen.clear()


def extend(kaa: ExtensionAPI) -> None:
    kaa.settings(Formatting)

    async def act(_arguments: str, context: CommandContext) -> None:
        try:
            settings = context.settings(Formatting)
            seen.append((settings.command, settings.line_length, settings.style))
        except CommandError as error:
            seen.append(str(error))

    kaa.register_command("act", "Act", act)


def write(stage: Stage, **settings: object) -> None:
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "settings.json").write_bytes(msgspec.json.encode(settings))


async def look(hosted: HostedConversation) -> None:
    await hosted.work.command("/act")


def listed(hosted: HostedConversation) -> dict[str, UserSetting]:
    found = hosted.conversation.user_settings.listed()
    return {one.key: one for one in found if one.key.startswith("extensionSettings")}


def test_without_values_the_defaults_hold(stage: Stage) -> None:
    play(stage, look, extend)

    assert seen == [("black", 88, "spaces")]


def test_values_of_the_project_come_before_those_for_all(stage: Stage) -> None:
    mine = {"ci": {"lineLength": 120}}
    write(
        stage,
        extensionSettings={"ci": {"command": "ruff", "lineLength": 100}},
        projects={"/project": {"extensionSettings": mine}, "/other": {"extensionSettings": {"ci": {"style": "tabs"}}}},
    )

    async def scene(hosted: HostedConversation) -> None:
        await look(hosted)
        sources = [(one.value, one.source) for one in listed(hosted).values()]
        assert sources == [('"ruff"', "all projects"), ("120", "this project"), ('"spaces"', "default")]

    play(stage, scene, extend)

    assert seen == [("ruff", 120, "spaces")]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"lineLength": "long"}, "Expected `int`, got `str` - at `$.extensionSettings.ci.lineLength`"),
        ({"style": "none"}, "use tabs, spaces - at `$.extensionSettings.ci.style`"),
        ({"length": 1}, "unknown setting 'length': use command, lineLength, style - at `$.extensionSettings.ci`"),
    ],
)
def test_a_mistake_is_told_with_file_and_key(stage: Stage, values: object, problem: str) -> None:
    write(stage, extensionSettings={"ci": values})

    play(stage, look, extend)

    (notice,) = [notice for notice in stage.notices if "extensionSettings" in notice]
    assert notice.startswith(f"{stage.home}/settings.json: ")
    assert notice.endswith(problem)
    assert seen == [notice]


def test_settings_changes_them_at_once(stage: Stage) -> None:
    async def scene(hosted: HostedConversation) -> None:
        found = listed(hosted)["extensionSettings.ci.style"]
        assert (found.allowed, found.scopes) == (("tabs", "spaces"), ("global", "project"))
        assert listed(hosted)["extensionSettings.ci.command"].description == "Formats a file"
        await hosted.work.command("/settings extensionSettings.ci.style tabs")
        await hosted.work.command("/settings --project extensionSettings.ci.lineLength 100")
        await look(hosted)
        with pytest.raises(CommandError, match=r"cannot be 0: Expected .int. >= 1"):
            await hosted.conversation.user_settings.set("extensionSettings.ci.lineLength", "0")

    play(stage, scene, extend)

    assert seen == [("black", 100, "tabs")]
    kept = msgspec.json.decode((stage.home / "settings.json").read_bytes())
    assert kept["extensionSettings"] == {"ci": {"style": "tabs"}}


def test_what_is_no_class_of_settings_is_refused() -> None:
    class Required(msgspec.Struct):
        name: str

    api = LoadedRegistry().api
    with pytest.raises(RegistrationError, match="use a subclass of msgspec"):
        api.settings(int)  # type: ignore[type-var]  # as an extension may do it
    with pytest.raises(RegistrationError, match="need a default for name"):
        api.settings(Required)
    assert api.settings(Formatting) is Formatting
    with pytest.raises(RegistrationError, match="declared settings already"):
        api.settings(Formatting)
