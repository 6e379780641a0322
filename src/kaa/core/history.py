"""The conversation so far, and what of it may be sent, whatever happened to it."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

_NO_RESULT = "No result: the run was interrupted before this tool finished. It may or may not have had effects."


def repair(messages: Iterable[Message]) -> list[Message]:
    """The messages a model may be sent.

    Replies that failed are left out; of replies the user stopped, the text stays. Every tool call has exactly
    one result, in the order of the calls and directly behind them; results without a call are left out. No two
    calls have the same id. No message and no text block is empty. Equal input gives equal output, so the prefix of
    a conversation that only grows stays the same.
    """
    return list(_with_own_ids(_paired(messages), set()))


def _paired(messages: Iterable[Message]) -> list[Message]:
    """All that `repair` promises but for the ids."""
    repaired: list[Message] = []
    assistant: AssistantMessage | None = None
    following: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            repaired += _segment(assistant, following)
            assistant, following = message, []
        else:
            following.append(message)
    repaired += _segment(assistant, following)
    return repaired


class History:
    """A conversation that grows, and always has at hand what a model may be sent of it.

    What is sent is `repair` of all messages. A segment (a reply and what follows it) can change only until the
    next reply, so asking again costs what is new and not what is long.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._settled: list[Message] = []  # repaired, of the segments before the last one
        self._settled_ids: set[str] = set()  # of the calls in them
        self._segment_start = 0
        self._run: list[Message] = []

    @property
    def messages(self) -> Sequence[Message]:
        """All messages, as they were recorded."""
        return self._messages

    def append(self, message: Message) -> None:
        """Add what was said last."""
        if isinstance(message, AssistantMessage):
            self._settle(len(self._messages))
        self._messages.append(message)
        self._run.append(message)

    def replace(self, messages: Iterable[Message]) -> None:
        """Go on from other messages, as when the conversation was condensed. What the run has said stays its own."""
        self._messages, self._settled, self._settled_ids, self._segment_start = list(messages), [], set(), 0

    def begin_run(self) -> None:
        """From here on count what is said."""
        self._run = []

    @property
    def of_run(self) -> Sequence[Message]:
        """What was added since the run began, also if it has been condensed since."""
        return self._run

    def sendable(self) -> list[Message]:
        """The messages a model may be sent: `repair(messages)`."""
        last = _paired(self._messages[self._segment_start :])
        return [*self._settled, *_with_own_ids(last, set(self._settled_ids))]

    def _settle(self, end: int) -> None:
        """Repair everything before `end` for good."""
        self._settled += _with_own_ids(_paired(self._messages[self._segment_start : end]), self._settled_ids)
        self._segment_start = end


def _segment(assistant: AssistantMessage | None, following: Sequence[Message]) -> list[Message]:
    """One reply, the results of its tool calls in order, then what the user said before the next reply."""
    results: dict[str, ToolResultMessage] = {}
    users: list[Message] = []
    for message in following:
        match message:
            case ToolResultMessage():
                results.setdefault(message.tool_call_id, message)
            case UserMessage():
                users += _user(message)
            case AssistantMessage():
                raise AssertionError("a segment holds one reply")
    reply = _reply(assistant)
    if reply is None:
        return users
    return [reply, *(_result(call, results.get(call.id)) for call in reply.tool_calls), *users]


def _reply(message: AssistantMessage | None) -> AssistantMessage | None:
    if message is None or message.stop_reason == "error":
        return None
    keep = _survives_abort if message.stop_reason == "aborted" else _is_meaningful
    content = tuple(block for block in message.content if keep(block))
    if len(content) == len(message.content):
        return message if content else None
    return msgspec.structs.replace(message, content=content) if content else None


def _survives_abort(block: AssistantContent) -> bool:
    """Thinking without its signature and calls that were never run would be refused by the model's server."""
    return isinstance(block, TextContent) and bool(block.text.strip())


def _is_meaningful(block: AssistantContent) -> bool:
    match block:
        case TextContent():
            return bool(block.text.strip())
        case ThinkingContent():
            return bool(block.thinking or block.thinking_signature)
        case ToolCall():
            return True


def _result(call: ToolCall, result: ToolResultMessage | None) -> ToolResultMessage:
    if result is None:
        return ToolResultMessage(call.id, call.name, (TextContent(_NO_RESULT),), is_error=True, timestamp=0)
    if any(not isinstance(block, TextContent) or block.text for block in result.content):
        return result
    return msgspec.structs.replace(result, content=(TextContent("(no output)"),))


def _with_own_ids(paired: Iterable[Message], taken: set[str]) -> Iterator[Message]:
    """The messages with another id for each call whose id is in `taken`, to which all ids are added.

    Some servers number the calls of each reply from the beginning; others refuse conversations in which an id comes
    twice.
    """
    answered: Iterator[str] = iter(())  # the ids of the last reply's calls, in the order of the results
    for message in paired:
        match message:
            case AssistantMessage():
                ids = [_free(call.id, taken) for call in message.tool_calls]
                answered = iter(ids)
                yield _renamed(message, ids)
            case ToolResultMessage():
                call_id = next(answered)
                same = call_id == message.tool_call_id
                yield message if same else msgspec.structs.replace(message, tool_call_id=call_id)
            case UserMessage():
                yield message


def _free(call_id: str, taken: set[str]) -> str:
    """`call_id`, or the first one like it that is not taken; it is from now on."""
    free, number = call_id, 2
    while free in taken:
        # In front, because adapters may read meaning into how an id ends, and leave that out.
        free, number = f"{number}_{call_id}", number + 1
    taken.add(free)
    return free


def _renamed(message: AssistantMessage, ids: Sequence[str]) -> AssistantMessage:
    if [call.id for call in message.tool_calls] == list(ids):
        return message
    own = iter(ids)
    content = tuple(
        msgspec.structs.replace(block, id=next(own)) if isinstance(block, ToolCall) else block
        for block in message.content
    )
    return msgspec.structs.replace(message, content=content)


def _user(message: UserMessage) -> list[Message]:
    if isinstance(message.content, str):
        return [message] if message.content.strip() else []
    content = tuple(block for block in message.content if not isinstance(block, TextContent) or block.text.strip())
    if len(content) == len(message.content):
        return [message] if content else []
    return [msgspec.structs.replace(message, content=content)] if content else []
