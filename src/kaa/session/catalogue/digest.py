"""What a summary needs of a session's lines, folded line by line, so that a file that grew is read from there on."""

import time
from typing import Self

import msgspec

from kaa.core.messages import AssistantMessage, Usage, UserMessage
from kaa.session.as_user_message import custom_type_of
from kaa.session.entries import MessageEntry, SessionHeader, SessionInfo
from kaa.session.file.decoding import decode_entry, find_glued_entry
from kaa.session.file.jsonl import UNREADABLE
from kaa.session.headline import headline
from kaa.session.naming import unix_milliseconds
from kaa.session.past_usage import OLD_TITLE_ENTRY

# The year 10000, where ISO dates end.
_END_OF_TIME_MS = 253_402_300_800_000

# What a damaged file claims beyond this, no integer of the cache's could hold.
_MOST_TOKENS = 10**12
_MOST_DOLLARS = 1e6  # of one reply

# A message to the model that a slash command wrote; a session can begin with one.
_COMMAND = custom_type_of("command")

_SPOKEN = frozenset({"user", "assistant"})

_NOTHING = msgspec.Raw(b"{}")


class _Message(msgspec.Struct, frozen=True):
    """Of a message what counts; what it says is passed over, unless it is the first."""

    role: str = ""
    timestamp: int | float = 0
    content: msgspec.Raw = msgspec.Raw(b"")
    provider: str = ""
    model: str = ""
    usage: Usage | None = None


class _Line(msgspec.Struct, rename="camel", frozen=True):
    """An entry: a message, a name, or one that tells what a request beside the conversation used."""

    type: str
    timestamp: str = ""
    message: _Message | None = None
    name: str | None = None
    usage: Usage | None = None
    provider: str = ""
    model: str = ""
    details: msgspec.Raw = _NOTHING
    custom_type: str = ""
    data: msgspec.Raw = _NOTHING
    content: msgspec.Raw = _NOTHING


class _Aside(msgspec.Struct, frozen=True):
    """What used something beside the conversation, as `past_usage` reads it. `model`: `provider/id`."""

    usage: Usage | None = None
    model: str = ""


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""
    added: bool = False


_LINE = msgspec.json.Decoder(_Line)
_ASIDE = msgspec.json.Decoder(_Aside)
_CONTENT: msgspec.json.Decoder[str | list[_Block]] = msgspec.json.Decoder(str | list[_Block])


class DailyUsage(msgspec.Struct, array_like=True):
    """What was used of one model in one day."""

    provider: str
    model: str
    day: str
    replies: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0


class SessionDigest(msgspec.Struct, array_like=True):
    """What is known of a session. Grows with `add`; as a whole it is what the catalogue keeps.

    Attributes:
        spoken_ms: when the user or the model last said something; 0 if never. Unix time in milliseconds.
        provider: of the model that spoke last, for summaries that do not say who wrote them.
        used: what was used by replies made here. What a copy brought along was used in its source.
    """

    id: str
    cwd: str
    timestamp: str
    parent: str | None
    name: str = ""
    first_message: str = ""
    message_count: int = 0
    spoken_ms: int = 0
    provider: str = ""
    model: str = ""
    used: list[DailyUsage] = []

    @classmethod
    def of(cls, header: SessionHeader) -> Self:
        """The digest of a session without entries."""
        return cls(header.id, header.cwd, header.timestamp, header.parent_session)

    def add(self, line: bytes) -> None:
        """Take in one line; what is no entry changes nothing."""
        parsed = _parse(line)
        if parsed is None:
            return
        match parsed.type:
            case "message" if parsed.message is not None:
                self._add_message(parsed, parsed.message)
            case "session_info":
                self.name = (parsed.name or "").strip()
            case "compaction" | "branch_summary" if parsed.usage is not None:
                self._add_aside(parsed, parsed.usage, _aside(parsed.details).model)
            case "usage" if parsed.usage is not None:
                provider, model = parsed.provider or self.provider, parsed.model or self.model
                at_ms = unix_milliseconds(parsed.timestamp)
                self._add_usage(parsed, at_ms, parsed.usage, provider, model, replies=0)
            case "custom_message" if parsed.custom_type == _COMMAND and not self.first_message:
                self.first_message = _headline(bytes(parsed.content))
            case "custom" if parsed.custom_type == OLD_TITLE_ENTRY:
                title = _aside(parsed.data)
                if title.usage is not None:
                    self._add_aside(parsed, title.usage, title.model)
            case _:
                pass

    def _add_message(self, line: _Line, message: _Message) -> None:
        self.message_count += 1
        if message.role not in _SPOKEN:
            if message.role == "toolResult" and message.usage is not None:
                self._add_aside(line, message.usage, "")
            return
        said_ms = _whole(message.timestamp) or unix_milliseconds(line.timestamp)
        self.spoken_ms = max(self.spoken_ms, said_ms)
        if message.role == "user" and not self.first_message:
            self.first_message = _headline(bytes(message.content))
        if message.role == "assistant":
            self.provider, self.model = message.provider or self.provider, message.model or self.model
            if message.usage is not None:
                self._add_usage(line, said_ms, message.usage, self.provider, self.model, replies=1)

    def _add_aside(self, line: _Line, usage: Usage, author: str) -> None:
        provider, _, model = author.partition("/") if author else (self.provider, "", self.model)
        self._add_usage(line, unix_milliseconds(line.timestamp), usage, provider, model, replies=0)

    def _add_usage(self, line: _Line, at_ms: int, usage: Usage, provider: str, model: str, *, replies: int) -> None:
        if self.parent is not None and line.timestamp < self.timestamp:
            return  # it came with the copy; ISO timestamps in UTC sort as texts
        used = self._used(provider, model, _day(at_ms))
        used.replies += replies
        used.input += _tokens(usage.input)
        used.output += _tokens(usage.output)
        used.cache_read += _tokens(usage.cache_read)
        used.cache_write += _tokens(usage.cache_write)
        used.cost += _dollars(usage.cost.total)

    def _used(self, provider: str, model: str, day: str) -> DailyUsage:
        for used in reversed(self.used):
            if (used.provider, used.model, used.day) == (provider, model, day):
                return used
        used = DailyUsage(provider, model, day)
        self.used.append(used)
        return used


def _parse(line: bytes) -> _Line | None:
    try:
        return _LINE.decode(line)
    except UNREADABLE:
        return _mended(line)


def _aside(value: msgspec.Raw) -> _Aside:
    """What ours keep there; others may keep anything."""
    try:
        return _ASIDE.decode(value)
    except UNREADABLE:
        return _Aside()


def _mended(line: bytes) -> _Line | None:
    """The line as the decoder for damaged ones understands it, or the whole entry behind a torn one."""
    entry = decode_entry(line)
    match entry:
        case None:
            glued = find_glued_entry(line)
            return _parse(line[glued[0] :]) if glued is not None else None
        case MessageEntry(message=AssistantMessage() as said):
            message = _Message("assistant", said.timestamp, _NOTHING, said.provider, said.model, said.usage)
        case MessageEntry(message=UserMessage() as said):
            message = _Message("user", said.timestamp, msgspec.Raw(msgspec.json.encode(said.content)))
        case MessageEntry():
            message = _Message()
        case SessionInfo(name=name):
            return _Line("session_info", entry.timestamp, name=name)
        case _:
            return None
    return _Line("message", entry.timestamp, message)


def _tokens(count: int) -> int:
    """What a damaged or made-up reply may claim to have used."""
    return max(0, min(count, _MOST_TOKENS))


def _dollars(cost: float) -> float:
    return cost if 0 <= cost <= _MOST_DOLLARS else 0.0


def _whole(timestamp: float) -> int:
    """Milliseconds as SQLite can hold them; 0 for what is no time."""
    return int(timestamp) if 0 < timestamp < _END_OF_TIME_MS else 0


def _headline(content: bytes) -> str:
    """What the content of a message is about."""
    try:
        blocks = _CONTENT.decode(content)
    except UNREADABLE:
        return ""
    if isinstance(blocks, str):
        return headline(blocks)
    said = [block for block in blocks if not block.added]  # the rest is of hooks, see `kaa.core.messages.UserMessage`
    text = "\n".join(block.text for block in said if block.type == "text")
    return headline(text, has_image=any(block.type == "image" for block in said))


def _day(at_ms: int) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))
    except (OverflowError, ValueError, OSError):
        return ""  # no moment that a calendar knows
