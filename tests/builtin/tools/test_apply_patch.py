"""Which models get `apply_patch` instead of `edit` and `write`, and patches that change nothing."""

import json

import pytest

from kaa.core.messages import Json, user_message
from kaa.shell.options import ConversationOptions
from tests.end_to_end.kaa_process import conversation
from tests.support.extension_sources import write
from tests.support.model_server import call, say
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="auto")


def prefer_patches(stage: Stage, **features: Json) -> None:
    """Write settings of the user's; without other features, all models get the tool."""
    settings = {"features": features or {"editTool": "apply_patch"}}
    write(stage.home, {"settings.json": json.dumps(settings)})


def play(stage: Stage, message: str, options: ConversationOptions = _OPTIONS) -> None:
    """Submit a message to a conversation that has begun: then the tools follow the model."""
    stage.play_hosted(lambda hosted: hosted.work.submit(user_message(message)), options)


def offered(stage: Stage, options: ConversationOptions = _OPTIONS) -> set[str]:
    """The tools of the request that a message leads to."""
    stage.server.begin([say("Hello.")])
    play(stage, "Hello", options)
    return {tool["function"]["name"] for tool in stage.server.requests[0].json["tools"]}


@pytest.mark.parametrize(("model", "patches"), [("gpt-5.5", True), ("openai/gpt-4.1-mini", True), ("m-1", False)])
def test_models_that_were_trained_on_patches_get_the_tool(stage: Stage, model: str, patches: bool) -> None:
    url = f"{stage.server.url}/v1"
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [{"id": model}]}
    write(stage.home, {"models.json": json.dumps({"providers": {"test": provider}})})

    tools = offered(stage, ConversationOptions(model=f"test/{model}", approvals="auto"))

    assert ("apply_patch" in tools) is patches
    assert ("edit" in tools) is not patches
    assert ("write" in tools) is not patches


def test_settings_can_name_the_models_that_get_it(stage: Stage) -> None:
    prefer_patches(stage, models={"*/m": {"editTool": "apply_patch"}})

    assert {"apply_patch", "bash", "read"} <= offered(stage)


@pytest.mark.parametrize("missing", ["bash", "write", "edit"])
def test_without_a_tool_that_patches_are_made_of_the_others_stay(stage: Stage, missing: str) -> None:
    prefer_patches(stage)

    tools = offered(stage, ConversationOptions(model="m", approvals="auto", exclude_tools=(missing,)))

    assert {"bash", "edit", "write"} - tools == {missing}
    assert "apply_patch" not in tools


def test_without_it_the_tools_that_it_replaces_are_back(stage: Stage) -> None:
    prefer_patches(stage)

    tools = offered(stage, ConversationOptions(model="m", approvals="auto", exclude_tools=("apply_patch",)))

    assert {"edit", "write"} <= tools


def test_agents_have_edit_and_write(stage: Stage) -> None:
    prefer_patches(stage)
    stage.server.begin([call("agent", agent="general", task="Look"), say("Seen."), say("Done.")])

    play(stage, "Go")

    tools = {tool["function"]["name"] for tool in stage.server.requests[1].json["tools"]}
    assert {"edit", "write"} <= tools
    assert "apply_patch" not in tools


def test_a_patch_that_does_not_fit_changes_nothing(stage: Stage) -> None:
    prefer_patches(stage)
    stage.files = {"app.py": b"return 0\n", "old.txt": b"old\n", "name.py": b"NAME = 1\n"}
    patch = (
        "*** Begin Patch\n*** Update File: app.py\n-return 0\n+return 1\n*** Delete File: old.txt\n"
        "*** Update File: name.py\n-NAME = 3\n+NAME = 2\n*** End Patch"
    )
    stage.server.begin([call("apply_patch", input=patch), say("Hm.")])

    play(stage, "Go")

    [told] = [text for who, text in conversation(stage.server.requests[1]) if who == "tool"]
    assert told.startswith("Nothing was changed: name.py: the file has no such lines:\nNAME = 3")
    assert stage.workspace.files == {f"/project/{name}": content for name, content in stage.files.items()}
