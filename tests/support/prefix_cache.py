"""What a vendor's prompt cache would give, by the rules the vendor documents; tokens are estimated from bytes.

- OpenAI keeps prompts by itself, from 1,024 tokens on, in steps of 128:
  https://platform.openai.com/docs/guides/prompt-caching
- Gemini keeps prompts by itself, from 4,096 tokens on (2.5 Flash: 1,024): https://ai.google.dev/gemini-api/docs/caching
- Anthropic keeps what marks ask for, from 1,024 tokens on (Opus 4.5 and Haiku 4.5: 4,096), and looks for it at marks
  and up to 20 blocks before: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from tests.support.model_wire import Wire
from tests.support.wire_formats import without_marks

_BYTES_PER_TOKEN = 4
_LOOKS_BACK = 20


class Rules(NamedTuple):
    """How a vendor keeps prompts. `marked`: only up to marks."""

    smallest: int
    step: int
    marked: bool


RULES: dict[Wire, Rules] = {
    "openai-completions": Rules(1024, 128, marked=False),
    "anthropic-messages": Rules(4096, 1, marked=True),
    "openai-responses": Rules(1024, 128, marked=False),
    "google-generative-ai": Rules(4096, 1, marked=False),
}


class PrefixCache:
    """The cache of one vendor for one model, in which nothing expires.

    Attributes:
        read: tokens it gave.
        asked: tokens of all prompts.
    """

    def __init__(self, wire: Wire) -> None:
        self._rules = RULES[wire]
        self._kept: set[bytes] = set()
        self.read = self.asked = 0

    @property
    def share(self) -> float:
        """Which part of all prompts came from it."""
        return self.read / self.asked

    def ask(self, body: dict[str, Json]) -> int:
        """Tokens that this request gets from the cache; it is kept for the next."""
        states: list[tuple[bytes, int]] = []  # what each block ends: all up to it, and its tokens
        marks: list[int] = []
        digest, size = hashlib.sha256(), 0
        for position, block in enumerate(_blocks(body)):
            text = msgspec.json.encode(without_marks(block) if self._rules.marked else block)
            digest.update(text)
            size += len(text)
            states.append((digest.digest(), size // _BYTES_PER_TOKEN))
            if isinstance(block, dict) and _is_marked(block):
                marks.append(position)
        ends = marks if self._rules.marked else range(len(states))
        back = _LOOKS_BACK if self._rules.marked else 0
        looked_at = {place for end in ends for place in range(max(0, end - back), end + 1)}
        found = max((states[place][1] for place in looked_at if states[place][0] in self._kept), default=0)
        found = found // self._rules.step * self._rules.step
        self._kept.update(state for state, tokens in (states[end] for end in ends) if tokens >= self._rules.smallest)
        self.read += found
        self.asked += states[-1][1]
        return found


def _blocks(body: dict[str, Json]) -> Iterator[Json]:
    """What a prompt is made of, in the order in which vendors put it together."""
    yield [body.get(key) for key in ("model", "thinking", "output_config", "reasoning", "reasoning_effort")]
    yield from body.get("tools", ())
    system = body.get("system") or body.get("systemInstruction") or ()
    yield from system if isinstance(system, list) else [system]
    for message in body.get("messages") or body.get("input") or body.get("contents") or ():
        content = message.get("content")
        if isinstance(content, list):
            yield {key: value for key, value in message.items() if key != "content"}
            yield from content
        else:
            yield message


def _is_marked(block: dict[str, Json]) -> bool:
    return "cache_control" in block
