"""What models, tools and files say, by chance."""

from collections.abc import Sequence
from random import Random
from typing import get_args

from kaa.core.messages import (
    AssistantMessage,
    Json,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    user_message,
)
from kaa.ext.escalations import Escalation, EscalationKind
from kaa.ext.questions import (
    AnyQuestion,
    Approval,
    Choice,
    Confirmation,
    Editing,
    JudgedPart,
    TextInput,
    Trust,
)
from kaa.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomNote,
    MessageEntry,
    StoredMessage,
)
from kaa.session.transcript import DisplayEntry, Unreadable

TOOLS = ("bash", "edit", "find", "grep", "ls", "process", "read", "write", "unknown")
_STOP_REASONS: tuple[StopReason, ...] = get_args(StopReason)
_LIFTS: tuple[EscalationKind, ...] = get_args(EscalationKind)


class Chance:
    """What is said, by chance.

    Args:
        random: decides.
        texts: what pieces of text are made of.
    """

    def __init__(self, random: Random, texts: Sequence[str]) -> None:
        self.random = random
        self._texts = texts

    def text(self, pieces: int = 8) -> str:
        """A text of up to so many pieces."""
        return "".join(self.random.choice(self._texts) for _ in range(self.random.randrange(pieces + 1)))

    def valid(self, pieces: int) -> str:
        """The same for what came as JSON, which has no halves of surrogate pairs."""
        return self.text(pieces).encode("utf-8", "ignore").decode()

    def one_in(self, count: int) -> bool:
        """Whether what happens once in so many times happens now."""
        return self.random.randrange(count) == 0

    def arguments(self) -> dict[str, Json]:
        """What a tool may be told, or not."""
        names = ("command", "path", "pattern", "content", "action", "glob", "oldText", "newText", "edits", "id")
        return {name: self.valid(3) for name in names if self.random.random() < 0.4}

    def json(self, depth: int = 2) -> Json:
        """Any JSON."""
        kind = self.random.randrange(6 if depth else 4)
        match kind:
            case 0:
                return self.valid(2)
            case 1:
                return self.random.choice([None, True, 0, -1, 1.5, 10**12])
            case 2 | 3:
                return self.random.randrange(100)
            case 4:
                return [self.json(depth - 1) for _ in range(self.random.randrange(3))]
            case _:
                return {self.valid(1): self.json(depth - 1) for _ in range(self.random.randrange(3))}

    def details(self) -> Json:
        """What a tool tells user interfaces of its result."""
        names = ("diff", "blocked", "exitCode", "truncation", "fullOutputPath", "matches", "processes", "lines")
        details: dict[str, Json] = {name: self.json() for name in names if self.random.random() < 0.2}
        if self.one_in(3):
            details["diff"] = f"--- a\n+++ b\n@@ -1,2 +1,2 @@\n-{self.text(3)}\n+{self.text(3)}\n {self.text(2)}\n"
        return self.random.choice([None, details, details, self.json()])

    def question(self, number: int) -> AnyQuestion:
        """Any question."""
        title, lines = self.text(3), self.text(9)
        match self.random.randrange(9):
            case 0:
                return Confirmation(title, lines)
            case 1:
                return Choice(title, tuple(self.text(2) for _ in range(self.random.randrange(5))), lines)
            case 2:
                return TextInput(title, self.text(2))
            case 3:
                return Editing(title, lines)
            case 4:
                paths = tuple(self.text(2) for _ in range(3))
                return Trust(title, self.text(1), paths, self.one_in(2), paths[:1], paths[1:], paths[2:], lines)
            case _:
                return self._approval(number)

    def _approval(self, number: int) -> Approval:
        return Approval(
            self.text(3),
            f"approval {number}",
            self.random.choice(TOOLS),
            self.random.choice(("read", "write", "command", "outside")),
            self.arguments(),
            parts=tuple(JudgedPart(self.text(2), self.text(2) or None) for _ in range(self.random.randrange(3))),
            reasons=tuple(self.text(3) for _ in range(self.random.randrange(3))),
            warning=self.random.choice([None, self.text(4)]),
            escalations=tuple(Escalation(kind, self.text(1)) for kind in _LIFTS if self.one_in(3)),
            was_run=self.one_in(2),
            suggestion=self.random.choice([None, self.text(3)]),
            problem=self.random.choice([None, self.text(3)]),
        )

    def entries(self) -> list[DisplayEntry]:
        """A session that is resumed."""
        return [self._entry(number) for number in range(self.random.choice((0, 0, 3, 30, 250)))]

    def _entry(self, number: int) -> DisplayEntry:
        text = self.text
        match self.random.randrange(9):
            case 0:
                return Compaction(summary=text())
            case 1:
                return BranchSummary(summary=text())
            case 2:
                return CustomMessage(custom_type=text(1), content=text(), display=True)
            case 3:
                return Unreadable()
            case _:
                return MessageEntry(message=self._stored_message(number))

    def _stored_message(self, number: int) -> StoredMessage:
        text = self.text
        call = ToolCall(str(number), self.random.choice(TOOLS), self.arguments())
        match self.random.randrange(6):
            case 0:
                return user_message(text())
            case 1:
                path = self.random.choice((None, text(1)))
                return BashExecution(
                    command=text(2), output=text(20), cancelled=self.one_in(2), truncated=False, full_output_path=path
                )
            case 2:
                return CustomNote(text(), text(1))
            case 3:
                result = (TextContent(text(20)),)
                return ToolResultMessage(str(number - 1), call.name, result, self.one_in(2), self.details(), 1)
            case _:
                content = (ThinkingContent(text()), TextContent(text()), call)
                reason = self.random.choice(_STOP_REASONS)
                return AssistantMessage(content, "api", "provider", "m", Usage(), reason, 1, error_message=text(2))
