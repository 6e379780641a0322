"""What agents can do, tried out in a real sandbox: never more than the conversation, in whatever way they are started.

The tool `agent`, `/bg`, `/review`, `/try`, steps of plans, skills and plugins start agents by `run_agent`, with other
arguments each.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.safety import SandboxFlags
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_script import ScriptItem, call, say
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("mounts")

_STARTING = """
import msgspec
from kaa.ext.api import TypedTool, text_result

class Start(msgspec.Struct):
    isolated: bool = False
    all: bool = True
    again: bool = False

_ids = []

async def start(task, context):
    rights = {"writable": None, "hosts": None} if task.all else {}
    result = await context.run_agent(
        "Try it.",
        name="helper",
        tools=["bash", "start"],
        asks=False,
        isolated=task.isolated,
        resume=_ids[-1] if task.again else None,
        **rights,
    )
    _ids.append(result.agent)
    return text_result(result.text)

def extend(api):
    api.register_tool(TypedTool("start", "Start an agent.", Start, start), risk="read")
"""
_COMMIT = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m canary"
_WAYS: dict[str, list[ScriptItem]] = {
    "in the project": [call("start")],
    "read-only": [call("start", all=False)],
    "in a worktree": [call("start", isolated=True)],
    "again in its worktree": [call("start", isolated=True, again=True)],
    "in a worktree of a worktree": [call("start", isolated=True), call("start", isolated=True)],
    "read-only in a worktree": [call("start", isolated=True), call("start", all=False)],
}


def test_in_whatever_way_an_agent_is_started_it_can_do_no_more() -> None:
    with folder_elsewhere() as folder:
        project, home = folder / "project", folder / "home" / ".kaa"
        (home / "extensions").mkdir(parents=True)
        (home / "extensions" / "starting.py").write_text(_STARTING)
        project.mkdir()
        hidden = {"projects": {str(project): {"sandbox": {"hidden": ["secret"]}}}}
        (home / "settings.json").write_text(json.dumps(hidden))
        environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(folder)}
        for arguments in (["init", "-q"], _COMMIT.split()[1:]):
            subprocess.run(["git", *arguments], cwd=project, env=environ, check=True)
        (project / "secret").write_text("hidden words\n")
        tries = {
            "writes": "echo x > file-of-a-worker",
            "writes outside": f"echo x > {folder}/written",
            "writes the project": f"echo x > {project}/file-of-a-worker",
            "commits": _COMMIT,
            "reads what is hidden": f"cat secret {project}/secret | grep hidden",
            "finds what is hidden": "git cat-file --batch-all-objects --batch | grep -a '^hidden words'",
        }
        probe = "; ".join(f"({command}) >/dev/null 2>&1 && echo 'can: {name}'" for name, command in tries.items())
        of_conversation, able = _able(f"{probe}; true", project, home, environ)

    assert of_conversation == {"writes", "writes the project"}
    assert {name: can - of_conversation for name, can in able.items() if can - of_conversation} == {}
    assert {name for name, can in able.items() if "writes" in can} == {
        name for name in _WAYS if not name.startswith("read-only")
    }


def _able(probe: str, project: Path, home: Path, environ: dict[str, str]) -> tuple[set[str], dict[str, set[str]]]:
    """What the conversation can do, and what the agent can do that is started last in each way."""
    script: list[ScriptItem] = [call("bash", command=probe)]
    probed: dict[str, int] = {}
    for name, way in _WAYS.items():
        script += way
        probed[name] = len(script) + 1  # the request that has the result
        script += [call("bash", command=probe), *[say("Done.")] * len(way)]
    script.append(say("Done."))

    async def scene(server: ModelServer) -> None:
        served = {**environ, "OPENAI_BASE_URL": f"{server.url}/v1", "KAA_LOCAL_SERVERS": "none", "OPENAI_API_KEY": "k"}
        host = Host(HostOptions(), Home(home), served, lambda _: None)
        try:
            workspace = host.workspaces.open(str(project), SandboxFlags(git=False))
            options = ConversationOptions(model="m", approvals="auto")
            await (await host.open(options, workspace)).conversation.submit("work")
        finally:
            await host.close()

    def told(server: ModelServer, number: int) -> set[str]:
        assert number < len(server.requests), said_in(server.requests[-1])
        lines = said_in(server.requests[number])[-1][1].splitlines()
        return {line.removeprefix("can: ") for line in lines if line.startswith("can: ")}

    with ModelServer(script) as server:
        run(scene(server))
        return told(server, 1), {name: told(server, number) for name, number in probed.items()}
