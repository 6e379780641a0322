"""What the model is told of the tools, in how few characters, and what they cost to import."""

import subprocess
import sys

import msgspec

from kaa.workspace.memory import MemoryWorkspace
from tests.support.toolbox import Toolbox

DEFAULT = ("read", "bash", "edit", "write", "process", "request_permission")
PARAMETERS = {
    "apply_patch": {"input"},
    "read": {"path", "offset", "limit"},
    "bash": {"command", "timeout", "background"},
    "edit": {"path", "edits"},
    "write": {"path", "content"},
    "process": {"action", "id", "input", "seconds"},
    "request_permission": {"kind", "value", "reason"},
    "grep": {"pattern", "path", "glob", "ignoreCase", "literal", "context", "limit"},
    "find": {"pattern", "path", "limit"},
    "ls": {"path", "limit"},
    "web_fetch": {"url", "offset"},
    "ask_question": {"question", "options"},
    "write_todos": {"items"},
    "tool_search": {"query"},
    "call_tools": {"program"},
}


def test_the_tools_of_pi_with_their_parameters_and_what_background_processes_need() -> None:
    tools = Toolbox(MemoryWorkspace()).registered

    assert {name: set(tool.tool.schema.parameters["properties"]) for name, tool in tools.items()} == PARAMETERS
    assert tuple(name for name, tool in tools.items() if tool.exposure == "default") == DEFAULT


def test_the_schemas_of_the_default_tools_stay_small() -> None:
    tools = Toolbox(MemoryWorkspace()).registered

    schemas = [msgspec.json.encode(tools[name].tool.schema).decode() for name in DEFAULT]

    assert sum(map(len, schemas)) <= 2130


def test_schemas_hold_no_words_for_maintainers() -> None:
    tools = Toolbox(MemoryWorkspace()).registered

    assert not any("description" in tool.tool.schema.parameters for tool in tools.values())


def test_importing_the_tools_loads_nothing_that_only_some_calls_need() -> None:
    check = (
        "import sys, kaa.builtin.tools;"
        "print(','.join(sorted({'PIL', 'importlib.metadata', 'httpx', 'kaa.workspace.local'} & set(sys.modules))))"
    )

    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip()

    assert loaded == ""
