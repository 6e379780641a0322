import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[4]

_PROGRAM = """
import sys
from kaa.core.messages import TextContent, ToolCall
from kaa.frontends.interactive.transcript.preload import preload
from tests.frontends.interactive.transcript.conversations import Session, reply, result, runs, streams
preload()
before = set(sys.modules)
call = ToolCall("1", "bash", {"command": "ls"})
answer = reply(TextContent("# 你好\\n\\n```python\\nx\\n```"), call)
session = Session().show(*streams(answer), *runs(call, result(call, "x")))
session.painted()
print(*sorted(set(sys.modules) - before))
"""


def test_the_first_reply_and_the_first_card_then_load_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=_ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
