"""The extensions of the measurement `terminal_extensions`: 20 small ones in kaa's process and 5 processes, 25 of pi.

All are as small as extensions are that people write: imports of the standard library, then a hook, a slash command and
a section of the system prompt; or a tool.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.bench import Runner

IN_PROCESS = 20
PROCESSES = 5

# Writes the extensions into a new folder; returns the arguments that load them.
WriteSet: TypeAlias = Callable[[Runner, Path], Sequence[str]]

_PYTHON = """
import asyncio
import json
import re

async def hook(call, context):
    return None

async def command(arguments, context):
    return None

def extend(kaa):
    kaa.before_tool(hook)
    kaa.register_command("command-NUMBER", "Do something.", command)
    kaa.add_prompt_section("section-NUMBER", lambda _: "Rule NUMBER: be brief.")
"""

_MANIFEST = """
name: process-NUMBER
version: 0.1.0
runtime: python
entry: main.py
capabilities: [tools]
transport: fd
permissions: {}
"""

_PROCESS = """
import json
import re

TOOL = {
    "name": "tool-NUMBER",
    "description": "Do something",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}

with open(3) as kaa_writes, open(4, "w", buffering=1) as kaa_reads:
    for line in kaa_writes:
        message = json.loads(line)
        if message.get("method") == "initialize":
            kaa_reads.write(json.dumps({"jsonrpc": "2.0", "method": "register/tool", "params": TOOL}) + "\\n")
        if "id" in message:
            result = {"name": "process-NUMBER", "version": "0.1.0"}
            kaa_reads.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\\n")
"""

_PI = """
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  pi.on("tool_call", async () => undefined);
  pi.registerCommand("command-NUMBER", { description: "Do something.", handler: async () => {} });
  pi.on("before_agent_start", async (event) => ({
    systemPrompt: event.systemPrompt + "\\n\\nRule NUMBER: be brief.",
  }));
}
"""

_PI_TOOL = """
import { readFileSync } from "node:fs";
import { Type } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "tool-NUMBER",
    label: "Tool",
    description: "Do something",
    parameters: Type.Object({ text: Type.Optional(Type.String()) }),
    execute: async () => ({ content: [{ type: "text", text: "done" }], details: {} }),
  });
}
"""


def _write_kaas(runner: Runner, folder: Path) -> Sequence[str]:
    paths = [_write(folder / f"extension_{number}.py", _PYTHON, number) for number in range(IN_PROCESS)]
    for number in range(PROCESSES):
        process = folder / f"process-{number}"
        process.mkdir()
        _write(process / "manifest.yaml", _MANIFEST, number)
        _write(process / "main.py", _PROCESS, number)
        runner.run("ext", "permit", "--yes", str(process))
        paths.append(process)
    return _flags(paths)


def _write_pis(_runner: Runner, folder: Path) -> Sequence[str]:
    sources = [_PI] * IN_PROCESS + [_PI_TOOL] * PROCESSES
    return _flags([_write(folder / f"extension-{number}.ts", text, number) for number, text in enumerate(sources)])


def _write(path: Path, text: str, number: int) -> Path:
    path.write_text(text.replace("NUMBER", str(number)).lstrip())
    return path


def _flags(paths: Sequence[Path]) -> Sequence[str]:
    return [argument for path in paths for argument in ("-e", str(path))]


# By the names of the agents that are measured with extensions.
SETS: Mapping[str, WriteSet] = {"kaa": _write_kaas, "pi": _write_pis}
