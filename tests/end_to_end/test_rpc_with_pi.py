"""pi's own client drives kaa's rpc mode, unchanged.

Opt-in: KAA_PI_PACKAGE names the folder of the installed npm package (…/node_modules/@earendil-works/pi-coding-agent),
and node is on the PATH.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_script import Refusal
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

_PACKAGE = os.environ.get("KAA_PI_PACKAGE", "")

pytestmark = pytest.mark.skipif(
    not _PACKAGE or shutil.which("node") is None, reason="needs node and pi's package in KAA_PI_PACKAGE"
)

# pi's client starts its command with node.
_LAUNCHER = """
import { spawn } from "node:child_process";
const child = spawn(process.env.KAA_COMMAND, process.argv.slice(2), { stdio: "inherit" });
for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => child.kill(name));
child.on("exit", (code) => process.exit(code ?? 1));
"""

# Before and after each script. Listeners that wait for one event are made before the command that leads to it.
_PROLOGUE = """
const { RpcClient } = await import(process.env.PI_CLIENT);
const { LAUNCHER: cliPath, APPROVALS: approvals } = process.env;
const client = new RpcClient({ cliPath, cwd: process.cwd(), args: ["--approvals", approvals], env: process.env });
const told = {};
const seen = (type) => new Promise((resolve) => client.onEvent((event) => event.type === type && resolve(event)));
await client.start();
"""

_EPILOGUE = """
await client.stop();
console.log(JSON.stringify(told));
"""

_CONVERSATION = """
let asked = () => {};
client.onEvent((event) => {
  if (event.type !== "extension_ui_request" || event.method !== "select") return;
  asked();
  const answer = { type: "extension_ui_response", id: event.id, value: "Allow once" };
  client.process.stdin.write(JSON.stringify(answer) + "\\n");
});
await client.promptAndWait("make a file");
const waiting = new Promise((resolve) => { asked = resolve; });
const second = client.promptAndWait("again");
await waiting;
await client.steer("faster");
await second;
const [model] = await client.getAvailableModels();
told.model = (await client.setModel(model.provider, model.id)).id === model.id;
const points = await client.getForkMessages();
told.points = points.map((point) => point.text);
told.fork = (await client.fork(points[1].entryId)).text;
told.messages = (await client.getMessages()).length;
told.exported = (await client.exportHtml("page.html")).path.endsWith("page.html");
told.bash = (await client.bash("echo hi")).output;
await client.setThinkingLevel("off");
await client.setSteeringMode("all");
await client.setSessionName("named");
told.name = (await client.getState()).sessionName;
told.last = await client.getLastAssistantText();
const { tree, leafId } = await client.getTree();
const { entries } = await client.getEntries();
told.tree = tree.length === 1 && entries.some((entry) => entry.id === leafId);
told.levels = (await client.getAvailableThinkingLevels()).length > 0;
told.summary = (await client.compact("be brief")).summary.includes("A summary.");
const { sessionFile } = await client.getState();
told.cloned = !(await client.clone()).cancelled && (await client.getState()).sessionFile !== sessionFile;
told.switched = !(await client.switchSession(sessionFile)).cancelled;
told.back = (await client.getState()).sessionFile === sessionFile;
told.commands = (await client.getCommands()).some((command) => command.name === "undo");
told.cancelled = (await client.newSession()).cancelled;
"""

_INTERRUPTIONS = """
await client.setAutoCompaction(false);
await client.setAutoRetry(true);
await client.setFollowUpMode("all");
const { autoCompactionEnabled, followUpMode } = await client.getState();
told.settings = [autoCompactionEnabled, followUpMode];
told.cycled = [await client.cycleModel(), await client.cycleThinkingLevel()];

const calling = seen("tool_execution_start");
told.prompted = await client.prompt("go");
await calling;
told.followUp = await client.followUp("later");
told.cleared = await client.clearQueue();
const [idle, collected] = [client.waitForIdle(), client.collectEvents()];
await client.abort();
await idle;
told.aborted = (await collected).at(-1);

const printing = seen("bash_execution_update");
const command = client.bash("echo on; sleep 600");
told.printed = (await printing).delta;
await client.abortBash();
told.stopped = await command;

const retrying = seen("auto_retry_start");
await client.prompt("again");
await retrying;
const ended = client.waitForIdle();
await client.abortRetry();
await ended;

const { leafId } = await client.getEntries();
const reported = /^(agent|turn|message)_(start|end|settled)$/;
const events = await client.promptAndWait("last");
told.order = events.map((event) => event.type).filter((type) => reported.test(type));
const { entries } = await client.getEntries(leafId);
told.news = entries.filter((entry) => entry.type === "message").map((entry) => entry.message.role);
told.stats = (await client.getSessionStats()).userMessages;
told.unknown = await client.getEntries("nowhere").catch((error) => error.message);
told.stderr = client.getStderr();
"""

# The names of the methods, for what each of them is.
_METHODS = """
const { RpcClient } = await import(process.env.PI_CLIENT);
console.log(JSON.stringify(Object.getOwnPropertyNames(RpcClient.prototype)));
"""
_INTERNAL = {"constructor", "handleLine", "createProcessExitError", "rejectPendingRequests", "send", "getData"}


def node(kaa: Kaa, folder: Path, script: str, **environ: str) -> Any:
    """What a script prints."""
    launcher, file = folder / "launcher.mjs", folder / "script.mjs"
    launcher.write_text(_LAUNCHER)
    file.write_text(script)
    client = Path(_PACKAGE, "dist", "modes", "rpc", "rpc-client.js").resolve().as_uri()
    done = subprocess.run(
        ["node", str(file)],
        cwd=kaa.project,
        env={**kaa.environ, "KAA_COMMAND": COMMAND, "LAUNCHER": str(launcher), "PI_CLIENT": client, **environ},
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    return msgspec.json.decode(done.stdout)


def drive(kaa: Kaa, folder: Path, script: str, approvals: str) -> Any:
    """What a script that drives kaa tells."""
    return node(kaa, folder, _PROLOGUE + script + _EPILOGUE, APPROVALS=approvals)


def test_a_conversation_with_questions_copies_and_a_compaction(kaa: Kaa, tmp_path: Path) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        replies = [call("bash", command="touch made"), say("Made."), call("bash", command="true"), say("Again.")]
        server.begin([*replies, say("A summary.")])
        kaa.settings(compaction={"keepRecentTokens": 1})
        told = drive(kaa, tmp_path, _CONVERSATION, "ask")

    assert told == {
        "model": True,
        "points": ["make a file", "again", "faster"],
        "fork": "again",
        "messages": 4,
        "exported": True,
        "bash": "hi",
        "name": "named",
        "last": "Made.",
        "tree": True,
        "levels": True,
        "summary": True,
        "cloned": True,
        "switched": True,
        "back": True,
        "commands": True,
        "cancelled": False,
    }
    assert (kaa.project / "made").exists()


def test_interruptions_and_settings(kaa: Kaa, tmp_path: Path) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        kaa.settings(retry={"baseDelayMs": 600_000})
        server.begin([call("bash", command="sleep 600"), Refusal(503), say("Last.")])
        told = drive(kaa, tmp_path, _INTERRUPTIONS, "auto")

    messages = ["message_start", "message_end"]
    assert told == {
        "settings": [False, "all"],
        "cycled": [None, None],
        "prompted": "started",
        "followUp": "queued",
        "cleared": {"steering": [], "followUp": ["later"]},
        "aborted": {"type": "agent_settled", "aborted": True},
        "printed": "on\n",
        "stopped": {"output": "on", "cancelled": True, "truncated": False},
        "order": ["agent_start", *messages, "turn_start", *messages, "turn_end", "agent_end", "agent_settled"],
        "news": ["user", "assistant"],
        "stats": 3,
        "unknown": "Entry not found: nowhere",
        "stderr": "",
    }


def test_every_method_of_the_client_is_called(kaa: Kaa, tmp_path: Path) -> None:
    methods = set(node(kaa, tmp_path, _METHODS)) - _INTERNAL

    scripts = _PROLOGUE + _CONVERSATION + _INTERRUPTIONS + _EPILOGUE
    assert {method for method in methods if f"client.{method}(" not in scripts} == set()
