"""Requests to models beside the conversation: for a summary or a title.

Such a request goes the same way as all others, is repeated as they are and can be cancelled, but neither the question
nor the answer becomes part of the conversation.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import BudgetExhaustedError
from kaa.core.errors import ContextOverflowError, MalformedStreamError, ProviderError
from kaa.core.messages import AssistantMessage, Message, Usage, user_message
from kaa.core.provider import Provider, Request, SideRequest
from kaa.core.reply import ReplyBuilder
from kaa.core.stream_timeouts import StreamTimeouts, with_timeouts
from kaa.ext.errors import CommandError
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.registry import NoModelError
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.thinking_levels import nearest_level
from kaa.session.entries import BranchSummary
from kaa.session.store import SessionStore
from kaa.session.tree import Node
from kaa.shell.models.link import ModelLink
from kaa.shell.models.switching import Models
from kaa.shell.settings import Settings

# A model that cannot do without thinking does it out of the same tokens that the answer has.
_THINKING_TOKENS = 8192
# Many times what any answer may have: a server that does not keep to the limit of tokens would go on for ever.
_MOST_CHARACTERS = 2_000_000


class SummaryError(CommandError):
    """No summary could be had; the message says why and what to do."""


class SummaryTooLongError(SummaryError):
    """What was to be summed up is larger than the window of the model that was to do it."""


class ModelSummary(msgspec.Struct, frozen=True):
    """What a model answered.

    Attributes:
        model: who answered, as `provider/id`.
    """

    text: str
    usage: Usage
    model: str


class Summarizer:
    """Asks models beside the conversation.

    Args:
        agent: repeats requests as its policy says.
    """

    def __init__(
        self, agent: Agent, link: ModelLink, models: Models, store: SessionStore, settings: Callable[[], Settings]
    ) -> None:
        self._agent = agent
        self._link = link
        self._models = models
        self._store = store
        self._settings = settings

    async def author(self) -> ResolvedModel:
        """Who writes summaries: the model that the setting `compaction.model` names, or the one in force.

        Raises:
            SummaryError: the model of the setting cannot be used.
        """
        wanted = self._settings().compaction.model
        if wanted is None or self._link.fixed is not None:  # a tape has the replies of one model only
            return self._in_force
        try:
            return await self._models.another(wanted)
        except (NoModelError, CredentialError, CommandError) as error:
            raise SummaryError(f"compaction.model in the settings, {wanted!r}, cannot be used: {error}") from error

    @property
    def _in_force(self) -> ResolvedModel:
        """The model in force, with the window that its server named, if it named one."""
        resolved, model = self._link.resolved, self._agent.model
        is_same = resolved.model.qualified_id == model.qualified_id
        return msgspec.structs.replace(resolved, model=model) if is_same else resolved

    async def ask(self, system: str, text: str, max_tokens: int, author: ResolvedModel | None = None) -> ModelSummary:
        """Ask for a text; the model thinks as little as it can and has no tools.

        Args:
            max_tokens: the most that the answer may have.
            author: who is asked; None for the model in force.

        Raises:
            SummaryTooLongError: the question does not fit into the model's window.
            SummaryError: the request failed for good, or the answer is empty or was cut off.
        """
        return await self.ask_about((user_message(text),), system, max_tokens, author)

    async def another(self, query: str) -> ResolvedModel:
        """A model to ask, as `--model` takes it. See `Models.another`."""
        return await self._models.another(query)

    async def ask_about(
        self, messages: Sequence[Message], system: str, max_tokens: int, author: ResolvedModel | None = None
    ) -> ModelSummary:
        """The same for a question of several messages. Raises as `ask` does."""
        asked = author or self._in_force
        # One of its own: that of the conversation remembers how it has rendered the conversation.
        provider = create_provider(asked, self._link.transport)
        thinking = nearest_level("off", asked.model, asked.endpoint.thinking_levels)
        limit = max_tokens if thinking == "off" else max_tokens + _THINKING_TOKENS
        request = Request(asked.model, system, messages, thinking=thinking, max_tokens=limit, once=True)
        try:
            other = asked.model if asked.model.qualified_id != self._agent.model.qualified_id else None
            await self._agent.allowance.admit(ask=False, model=other)
            reply = await self._reply(provider, request)
        except BudgetExhaustedError as error:
            raise SummaryError(str(error)) from error
        if reply.stop_reason == "length":
            raise SummaryError(f"the answer of {asked.model.id} was cut off after {limit:,} tokens")
        if not reply.text.strip():
            raise SummaryError(f"{asked.model.id} answered without any text")
        return ModelSummary(reply.text.strip(), reply.usage, asked.model.qualified_id)

    async def branch_summary(
        self, left: Sequence[Node], target_id: str | None, instructions: str = ""
    ) -> BranchSummary | None:
        """Sum up a branch that is left.

        Args:
            left: its entries, from behind the common ancestor to the old leaf.
            target_id: the entry that the conversation goes on from, None for before the first. The summary is to be
                appended behind it.
            instructions: what to look at; may be empty.

        Returns:
            The entry to append; None if nothing was said on the branch.

        Raises:
            SummaryError: there is no summary to be had.
            SessionReadError: the session cannot be read.
        """
        from kaa.session.compaction import branch  # lazy: few conversations need it

        author = await self.author()
        reserve = self._settings().branch_summary.reserve_tokens
        window = author.model.context_window
        record = await asyncio.to_thread(branch.read_record, self._store, left, branch.room(window, reserve))
        if record is None:
            return None
        answer = await self.ask(branch.SYSTEM, branch.question(record, instructions), branch.MAX_TOKENS, author)
        return branch.entry(record, answer.text, target_id, usage=answer.usage, model=answer.model)

    async def _reply(self, provider: Provider, request: Request) -> AssistantMessage:
        """The whole reply, after as many tries as the policy allows.

        Raises:
            BudgetExhaustedError: the budget does not pay for another try.
        """
        failures = 0
        while True:
            try:
                async with self._agent.allowance.reserve(request, ask=False) as affordable:
                    return await self._try(provider, affordable)
            except ContextOverflowError as error:
                raise SummaryTooLongError(str(error)) from error
            except ProviderError as error:
                failures += 1
                delay = self._agent.retry.delay(error, failures)
                if delay is None:
                    raise SummaryError(str(error)) from error
                await asyncio.sleep(delay)

    async def _try(self, provider: Provider, request: Request) -> AssistantMessage:
        """One try, which those are told of who observe requests.

        Raises:
            ProviderError: it failed.
        """
        began = time.time_ns()
        builder = ReplyBuilder(request.model, _MOST_CHARACTERS)
        try:
            reply = await _collect(builder, provider, request, self._agent.timeouts)
        except ProviderError as error:
            self._agent.tell_aside(SideRequest(request, began, error=str(error), error_type=error.kind))
            raise
        except asyncio.CancelledError:
            self._agent.tell_aside(SideRequest(request, began, error="stopped", error_type="aborted"))
            raise
        finally:
            if (paid := builder.paid(request)) is not None:
                self._agent.allowance.charge(paid, request.model)
        self._agent.tell_aside(SideRequest(request, began, reply))
        return reply


async def _collect(
    builder: ReplyBuilder, provider: Provider, request: Request, timeouts: StreamTimeouts
) -> AssistantMessage:
    """One try.

    Raises:
        ProviderError: it failed.
    """
    async with aclosing(with_timeouts(provider.stream(request), timeouts)) as stream:
        async for event in stream:
            builder.fold(event)
    if builder.stop_reason is None:
        raise MalformedStreamError("The model's reply ended early. Usually trying again helps.")
    return builder.message(builder.stop_reason)
