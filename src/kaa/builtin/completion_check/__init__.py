"""Proof of completion: before a run that changed files ends, what verifies them is run, or the model is reminded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.core.events import AgentStart, MessageEnd
from kaa.core.hooks import Continue, GiveUp
from kaa.core.messages import AssistantMessage, ToolCall, UserMessage
from kaa.core.tool import ToolResult
from kaa.ext.api import CommandContext, ConversationContext, ExtensionAPI, Reply, Suggestion

if TYPE_CHECKING:
    import asyncio

    from kaa.builtin.acceptance import RanCheck

# They change nothing and show nothing of whether a change works.
_LOOKING = frozenset(
    {"read", "grep", "find", "ls", "skill", "web_fetch", "ask_question", "write_todos", "tool_search"}
    | {"request_permission", "call_tools"}  # the calls within a program are seen by themselves
)
_READ_ONLY = ("plan", "read-only")


class UnverifiedWork(msgspec.Struct):
    """What calls changed, and whether something was executed since.

    Attributes:
        changed: the files, as they were named; empty names are not known.
        is_own: some were changed by the calls themselves, and not only exchanged by git.
        unproven: something was changed that tests cover, and nothing was executed since; None: neither happened.
        unproven_files: the changed files, without those that were only deleted, since something was executed.
        passed: declared commands that succeeded since.
    """

    changed: dict[str, None] = {}
    is_own: bool = False
    unproven: bool | None = None
    unproven_files: dict[str, None] = {}
    passed: set[str] = set()

    def prove(self) -> None:
        """Note that something was executed."""
        self.unproven = False
        self.unproven_files.clear()


class Proof(msgspec.Struct):
    """What is known of the present run.

    Attributes:
        work: by caller; the empty one is the model of the conversation.
        acted: something was done since commands last failed.
        reminded: the model was, since the last message of the user.
        failures: how often commands failed.
        skipped: the user wants no check of this run.
        checking: runs commands.
        last: the result of the commands that were run last.
    """

    work: "dict[str, UnverifiedWork]" = {}
    acted: bool = False
    reminded: bool = False
    failures: int = 0
    skipped: bool = False
    checking: "asyncio.Future[list[RanCheck]] | None" = None
    last: "Sequence[RanCheck]" = ()


def extend(api: ExtensionAPI) -> None:
    """Register the hooks and the command."""
    api.after_tool(_note)
    api.before_end(_check)
    api.on_event(AgentStart, MessageEnd)(_observe)
    about = "Show the commands that verify work and their last results; skip: the current run ends unverified"
    api.register_command("verify", about, _verify, argument_hint="[skip]", complete=_suggest, while_running=True)


def _observe(event: AgentStart | MessageEnd, context: ConversationContext) -> None:
    """A run, or another message of the user's, begins anew."""
    if event.agent is not None:
        return
    proof = context.state(Proof, Proof)
    if isinstance(event, AgentStart):
        proof.work.clear()
        proof.failures, proof.skipped = 0, False
    elif isinstance(event.message, UserMessage) and event.message.origin == "person":
        proof.reminded, proof.failures = False, 0


async def _note(call: ToolCall, result: ToolResult, context: ConversationContext) -> None:
    if call.name in _LOOKING or context.features.completion_check == "off":
        return
    from kaa.builtin.completion_check.proof import note  # lazy: it waits for the first call that may change something

    note(call, result, context)


async def _check(reply: AssistantMessage, context: ConversationContext) -> Continue | GiveUp | None:
    proof = context.state(Proof, Proof)
    work = proof.work.get("")
    if (
        (not (work and work.changed) and "```" not in reply.text)
        or proof.skipped
        or context.approval_mode in _READ_ONLY
    ):
        return None
    from kaa.builtin.completion_check.ending import check  # lazy: only where something was changed, or may be missing

    return await check(reply, proof, work, context)


async def _verify(arguments: str, context: CommandContext) -> Reply:
    from kaa.builtin.completion_check.ending import verify_command  # lazy: few ask

    return Reply(verify_command(arguments, context))


def _suggest(typed: str, _context: CommandContext) -> Sequence[Suggestion]:
    return [Suggestion(word) for word in ("skip",) if word.startswith(typed)]
