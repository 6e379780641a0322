"""A session in which every text that somebody else decides tries to become markup, a script or an address."""

from pathlib import Path

from tests.support.rich_session import call, reply, result, text, thought, user
from tests.support.sessions import HEADER, JsonObject, entry, write_session

# Each sets `window.owned` if it is ever run, or asks the network if it is ever loaded.
SCRIPT = "</script><script>window.owned='script'</script>"
IMAGE = "<img src=x onerror=\"window.owned='image'\"><img src='https://evil.example/pixel.png'>"
COMMENT = "<!--<script>--><svg/onload=\"window.owned='svg'\">"
CODE = "'\"`;window.owned='code'//\u2028window.owned='line'\u2029{session}{script}{title}{policy}"
ALL = f"{SCRIPT}{IMAGE}{COMMENT}{CODE}\u202e\x00\x1b[31m&lt;b&gt;"

MARKDOWN = f"""\
[a](javascript:window.owned='link') [b](data:text/html,<script>window.owned=1</script>) [c]( JaVaScRiPt:window.owned=1)
[d](vbscript:x) [e](file:///etc/passwd) ![i](https://evil.example/i.png) ![j](javascript:window.owned=1)
<https://evil.example/auto> [f](https://ok.example/"onmouseover="window.owned=1) [g](//evil.example/relative)
{ALL}

```"><script>window.owned='fence'</script>
{ALL}
```

| {IMAGE} | b |
|---|---|
| {SCRIPT} | c |

> {IMAGE}

- {SCRIPT}

# {IMAGE}
"""


def write_hostile_session(folder: Path) -> Path:
    """The session, in a file of `folder`."""
    header: JsonObject = {**HEADER, "id": ALL, "cwd": f"/{ALL}", "timestamp": ALL}
    bad_image = {"type": "image", "data": f'"><script>{ALL}', "mimeType": "image/png"}
    svg = {"type": "image", "data": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+", "mimeType": "image/svg+xml"}
    odd_type = {"type": "image", "data": "AAAA", "mimeType": f'image/png" onload="window.owned=1{ALL}'}
    message: JsonObject = {"role": "user", "content": [text(MARKDOWN), bad_image, svg, odd_type]}
    return write_session(
        folder / "hostile.jsonl",
        entry("message", ALL, None, message=message),
        reply(
            "a",
            ALL,
            thought(MARKDOWN),
            text(MARKDOWN),
            call(ALL, ALL, **{ALL: ALL, "command": ALL, "path": ALL}),
            call("2", "edit", path=ALL, edits=[{"oldText": ALL, "newText": ALL}]),
            provider=ALL,
            model=ALL,
            stopReason="error",
            errorMessage=ALL,
        ),
        result("b", "a", ALL, ALL, ALL, details={"diff": f"+{ALL}\n-{ALL}\n {ALL}"}),
        result("c", "b", "2", "edit", ALL, isError=True, content=[text(ALL), svg]),
        entry("label", "d", "c", targetId="a", label=ALL),
        entry("compaction", "e", "d", summary=MARKDOWN, firstKeptEntryId=ALL, tokensBefore=ALL),
        entry("branch_summary", "f", "e", fromId=ALL, summary=MARKDOWN),
        entry("custom_message", "g", "f", customType=ALL, content=MARKDOWN, display=True),
        entry("model_change", "h", "g", provider=ALL, modelId=ALL),
        entry("thinking_level_change", "i", "h", thinkingLevel=ALL),
        entry(ALL, "j", "i", anything=ALL),
        entry("message", "k", "j", message={"role": "bashExecution", "command": ALL, "output": ALL, "exitCode": ALL}),
        entry("message", "l", "k", message={"role": "assistant", "content": {"__proto__": ALL}, "usage": ALL}),
        entry(
            "message", "m", "l", message={"role": "assistant", "content": [None, 1, ALL, [ALL]], "usage": {"cost": ALL}}
        ),
        entry("message", "n", "m", message=None),
        user("__proto__", "n", ALL),
        entry("session_info", "o", "__proto__", name=ALL),
        header=header,
    )
