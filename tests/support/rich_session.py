"""A session with everything in it that an export shows: two branches, tools, diffs, an image, summaries, labels."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from tests.support.sessions import HEADER, JsonObject, entry, write_session

_STARTED_MS = 1_795_160_984_000


def png(width: int = 240, height: int = 90) -> str:
    """A picture, base64 encoded: bands of colour, so that one sees whether it is drawn."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + b"".join(bytes((59 + x * 120 // width, 110 + x * 60 // width, 168)) for x in range(width))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(row * height)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    ).decode()


def user(entry_id: str, parent: str | None, text: str, *images: str) -> JsonObject:
    """A user's message."""
    content: list[JsonObject] = [{"type": "text", "text": text}]
    content += [{"type": "image", "data": data, "mimeType": "image/png"} for data in images]
    return _message(entry_id, parent, {"role": "user", "content": content, "timestamp": _STARTED_MS})


def reply(entry_id: str, parent: str | None, *content: JsonObject, **fields: Any) -> JsonObject:
    """A reply of the model."""
    cost = {"input": 0.0009, "output": 0.0031, "cacheRead": 0.0004, "cacheWrite": 0, "total": 0.0044}
    usage = {"input": 310, "output": 208, "cacheRead": 4120, "cacheWrite": 0, "totalTokens": 4638, "cost": cost}
    message = {
        "role": "assistant",
        "content": list(content),
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet",
        "usage": usage,
        "stopReason": "stop",
        "timestamp": _STARTED_MS,
        **fields,
    }
    return _message(entry_id, parent, message)


def text(words: str) -> JsonObject:
    """A text block."""
    return {"type": "text", "text": words}


def thought(words: str) -> JsonObject:
    """A thinking block, with the signature a provider wants back."""
    return {"type": "thinking", "thinking": words, "thinkingSignature": "opaque-signature"}


def call(call_id: str, name: str, **arguments: Any) -> JsonObject:
    """A tool call."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(entry_id: str, parent: str, call_id: str, name: str, output: str, **fields: Any) -> JsonObject:
    """What a tool answered."""
    message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": output}],
        "isError": False,
        "timestamp": _STARTED_MS,
        **fields,
    }
    return _message(entry_id, parent, message)


def _message(entry_id: str, parent: str | None, message: JsonObject) -> JsonObject:
    return entry("message", entry_id, parent, message=message)


_DIFF = """\
 4     def period(length: float) -> float:
 5         \"\"\"Seconds for one swing of small amplitude.\"\"\"
-6         return 2 * math.pi * math.sqrt(length * GRAVITY)
+6         return 2 * math.pi * math.sqrt(length / GRAVITY)"""

_ANSWER = """\
The two were swapped: the period is **2π·√(length / gravity)**, not the product.

| length | before | after |
|-------:|-------:|------:|
| 1 m    | 19.7 s | 2.0 s |

1. `pendulum.py` divides now,
2. the test passes.

```python
>>> period(1.0)
2.0060666807106475
```

More in [the article](https://example.org/pendulum)."""


def chain(length: int) -> list[JsonObject]:
    """A long conversation."""
    return [user(f"e{n}", f"e{n - 1}" if n else None, f"message number {n}") for n in range(length)]


def write_rich_session(folder: Path) -> Path:
    """The session, in a file of `folder`. Its leaf is `u3`'s reply `a4`; the branch that was left ends with `b2`."""
    failed = "\x1b[31mF\x1b[0m\n" + "\n".join(f"test_pendulum.py:{n}: AssertionError" for n in range(1, 41))
    return write_session(
        folder / f"2026-11-20T07-49-44-305Z_{HEADER['id']}.jsonl",
        entry("model_change", "m1", None, provider="anthropic", modelId="claude-sonnet"),
        entry("thinking_level_change", "t1", "m1", thinkingLevel="medium"),
        user("u1", "t1", "The test of the pendulum fails. Find out why and fix it.", png()),
        reply(
            "a1",
            "u1",
            thought("First see what the test says, then look at the formula."),
            text("I look at what fails."),
            call("call_1", "bash", command="python -m pytest -q test_pendulum.py"),
            stopReason="toolUse",
        ),
        result("r1", "a1", "call_1", "bash", failed, isError=True, details={}),
        reply("a2", "r1", call("call_2", "edit", path="pendulum.py"), stopReason="toolUse"),
        result("r2", "a2", "call_2", "edit", "Edited pendulum.py", details={"diff": _DIFF, "firstChangedLine": 6}),
        reply("a3", "r2", text(_ANSWER)),
        entry("label", "l1", "a3", targetId="a3", label="fixed"),
        user("u2", "l1", "Now write it in Rust."),
        reply("b2", "u2", text("That would be a rewrite of everything: `cargo` is not here.")),
        entry("branch_summary", "s1", "l1", fromId="b2", summary="A port to *Rust* was considered and left."),
        entry("compaction", "c1", "s1", summary="## Goal\nFix the pendulum.", firstKeptEntryId="a3", tokensBefore=5120),
        entry("custom_message", "x1", "c1", customType="review", content="A note of an extension.", display=True),
        _message(
            "e1",
            "x1",
            {
                "role": "bashExecution",
                "command": "git diff --stat",
                "output": " pendulum.py | 2 +-\n",
                "exitCode": 0,
                "cancelled": False,
                "truncated": False,
                "timestamp": _STARTED_MS,
            },
        ),
        user("u3", "e1", "Thank you. What was wrong, in one sentence?"),
        reply("a4", "u3", text("The formula multiplied by gravity where it has to divide.")),
        entry("session_info", "i1", "a4", name="The pendulum"),
    )
