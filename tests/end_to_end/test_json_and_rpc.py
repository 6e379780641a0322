"""JSON mode and rpc mode report the same run with the same events."""

from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_script import Refusal, ScriptItem
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("full_access")

# What only a client that sends commands gets, what only JSON mode begins with, and notices, which rpc mode sends as
# `extension_ui_request`.
_OF_ONE_MODE = {"response", "agent_settled", "extension_ui_request", "session", "notice"}
# Differs from run to run.
_RANDOM = {
    "conversation",
    "id",
    "parentId",
    "timestamp",
    "durationMs",
    "checkpointId",
    "leafId",
    "firstKeptEntryId",
    "digest",
    "delayMs",
}

_FAILING = """
def broken(event, context):
    raise ValueError("bug")

def extend(api):
    api.on_event(broken)
"""


def _comparable(value: Any) -> Any:
    match value:
        case dict():
            return {key: _comparable(one) for key, one in value.items() if key not in _RANDOM}
        case list():
            return [_comparable(one) for one in value]
        case _:
            return value


def _events(lines: list[dict[str, Any]]) -> list[Any]:
    return [_comparable(line) for line in lines if line["type"] not in _OF_ONE_MODE and not _is_of_checkpoints(line)]


def _is_of_checkpoints(line: dict[str, Any]) -> bool:
    """Checkpoints are taken beside the run, so that their entries have no certain place."""
    entry: dict[str, Any] = line.get("entry", {})
    return line["type"] == "checkpoint_taken" or entry.get("type") == "custom"


def test_one_run_gives_the_same_events_in_both_modes(kaa: Kaa) -> None:
    (kaa.home / "extensions").mkdir()
    (kaa.home / "extensions" / "mine.py").write_text(_FAILING)
    script: list[ScriptItem] = [
        Refusal(529),
        call("bash", command="echo made | tee made"),
        call("read", path="nothing"),
        say("Done."),
    ]

    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        server.begin(script)
        printed = kaa.run("--mode", "json", "--approvals", "auto", "go")
        (kaa.project / "made").unlink()
        server.begin(script)
        with rpc(kaa, "--approvals", "auto") as client:
            client.prompt("go")
            client.end()

    in_json, in_rpc = _events(printed.events), _events(client.seen)
    assert [event["type"] for event in in_json] == [event["type"] for event in in_rpc]
    assert in_json == in_rpc
    kinds = {event["type"] for event in in_json}
    assert {"auto_retry_start", "auto_retry_end", "tool_execution_update", "entry_appended", "extension_error"} <= kinds
