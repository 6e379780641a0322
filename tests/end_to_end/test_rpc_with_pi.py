"""pi's own client drives kaa's rpc mode, unchanged.

Opt-in: KAA_PI_PACKAGE names the folder of the installed npm package (…/node_modules/@earendil-works/pi-coding-agent),
and node is on the PATH.
"""

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import COMMAND, Kaa
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS

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

_SCRIPT = """
const { RpcClient } = await import(process.env.PI_CLIENT);
const { LAUNCHER: cliPath } = process.env;
const client = new RpcClient({ cliPath, cwd: process.cwd(), args: ["--approvals", "ask"], env: process.env });
await client.start();
let asked = () => {};
client.onEvent((event) => {
  if (event.type !== "extension_ui_request" || event.method !== "select") return;
  asked();
  const answer = { type: "extension_ui_response", id: event.id, value: "Allow once" };
  client.process.stdin.write(JSON.stringify(answer) + "\\n");
});
const told = {};
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
await client.stop();
console.log(JSON.stringify(told));
"""


def test_the_client_of_pi_drives_kaa(kaa: Kaa, tmp_path: Path) -> None:
    launcher, script = tmp_path / "launcher.mjs", tmp_path / "script.mjs"
    launcher.write_text(_LAUNCHER)
    script.write_text(_SCRIPT)
    client = Path(_PACKAGE, "dist", "modes", "rpc", "rpc-client.js").resolve().as_uri()
    environ = {**kaa.environ, "KAA_COMMAND": COMMAND, "LAUNCHER": str(launcher), "PI_CLIENT": client}

    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        replies = [call("bash", command="touch made"), say("Made."), call("bash", command="true"), say("Again.")]
        server.begin([*replies, say("A summary.")])
        kaa.settings(compaction={"keepRecentTokens": 1})
        done = subprocess.run(
            ["node", str(script)],
            cwd=kaa.project,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS,
            check=False,
        )

    assert done.stderr == ""
    assert msgspec.json.decode(done.stdout) == {
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
