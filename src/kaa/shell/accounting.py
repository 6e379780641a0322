"""What a conversation has used, from its events and from the session it goes on, and what its window is filled with."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kaa.core.agent import Agent
from kaa.core.spending import Purpose, Spending, UsageTally
from kaa.core.usage import (
    ContextMeter,
    ContextParts,
    Spent,
    UsageReport,
    context_parts,
    prompt_tokens,
    tokens_in,
)
from kaa.session.past_usage import last_turn, past_misses, past_usage, usage_aside
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.session.tree import Node
from kaa.shell.cache_watch import CacheWatch
from kaa.shell.models.switching import Models

if TYPE_CHECKING:
    from kaa.core.largest import ContextItem, ToolShare
    from kaa.session.edits import Shortened
    from kaa.session.figures import SessionFigures


class Accounting:
    """Knows what was used so far.

    Args:
        store: the session, with the replies of earlier runs.
        recorder: writes into the session what the provider's cache failed to give.
        prompt: gives the texts that the system prompt consists of, each with its name.

    Raises:
        SessionReadError: the session cannot be read.
    """

    def __init__(
        self,
        agent: Agent,
        models: Models,
        store: SessionStore,
        recorder: SessionRecorder,
        prompt: Callable[[], Sequence[tuple[str, str]]],
    ) -> None:
        self._agent = agent
        self._store = store
        self._prompt = prompt
        self._tally = UsageTally(models.is_free)
        self._counted = len(store.tree)
        self._tally.recall(use for _, use in past_usage(store, store.tree.nodes))
        self._meter = ContextMeter(context_parts(agent.system_prompt, agent.tool_schemas, ()).total)
        CacheWatch(agent, recorder, lambda: models.kept_seconds, lambda: past_misses(store, store.tree.nodes))
        agent.subscribe(self._tally.observe)

    def report(self) -> UsageReport:
        """Tokens, money, and how much of the window is taken. Costs what is new since it was asked last."""
        self._count_aside()
        context = self._meter.measure(self._agent.messages, self._agent.model.context_window)
        return UsageReport(self._tally.reply, self._tally.turn, self._tally.total, context)

    def context_parts(self) -> ContextParts:
        """What the next request consists of, by an estimate. Goes through the whole conversation."""
        return context_parts(self._agent.system_prompt, self._agent.tool_schemas, self._agent.messages)

    def largest_items(self) -> "tuple[ContextItem, ...]":
        from kaa.core.largest import largest  # lazy: only for who asks

        return largest(self._agent.messages)

    def by_tool(self) -> "tuple[ToolShare, ...]":
        from kaa.core.largest import by_tool  # lazy, as above

        return by_tool(self._agent.messages)

    async def shortened(self) -> "Shortened":
        """The results that the model sees in a shorter form. Reads all that it sees.

        Raises:
            SessionReadError: the session cannot be read.
        """
        from kaa.session.context import visible_path  # lazy, as above
        from kaa.session.edits import shortened

        path = self._store.tree.path()
        return await asyncio.to_thread(lambda: shortened(self._store, visible_path(self._store, path)[1]))

    def prompt_items(self) -> "tuple[ContextItem, ...]":
        from kaa.core.largest import ContextItem  # lazy, as above

        return tuple(ContextItem(name, tokens_in(text)) for name, text in self._prompt())

    async def spending(self) -> Spending:
        """Where everything went. Reads the whole session.

        Raises:
            SessionReadError: the session cannot be read.
        """
        report = self.report()
        turn = report.turn if self._tally.has_run else None
        tree = self._store.tree
        nodes, path = tuple(tree.nodes), frozenset(node.id for node in tree.path())
        return await asyncio.to_thread(self._spending, turn, nodes, path)

    async def figures(self) -> "SessionFigures":
        """What the session consists of. Reads all of it.

        Raises:
            SessionReadError: the session cannot be read.
        """
        from kaa.session.figures import figures  # lazy, as above

        tree = self._store.tree
        return await asyncio.to_thread(figures, self._store, tuple(tree.nodes), tree.leaf)

    def _spending(self, turn: Spent | None, nodes: Sequence[Node], path: frozenset[str]) -> Spending:
        if turn is None:  # it was an earlier kaa's
            past = past_usage(self._store, last_turn(self._store, nodes))
            turn = sum((self._tally.spent(use) for _, use in past), Spent())
        branch, total = Spent(), Spent()
        by_model: dict[str, Spent] = {}
        by_purpose: dict[Purpose, Spent] = {}
        for node, use in past_usage(self._store, nodes):
            spent = self._tally.spent(use)
            total += spent
            if node.id in path:
                branch += spent
            model = f"{use.provider}/{use.model}"
            by_model[model] = by_model.get(model, Spent()) + spent
            by_purpose[use.purpose] = by_purpose.get(use.purpose, Spent()) + spent
        dearest_first = dict(sorted(by_model.items(), key=lambda item: _dearness(item[1]), reverse=True))
        misses = tuple(past_misses(self._store, nodes))
        return Spending(turn, branch, total, dearest_first, by_purpose, misses)

    def _count_aside(self) -> None:
        """Take in what was used beside the conversation: the session has it with what it was used for."""
        nodes = self._store.tree.nodes
        model = self._agent.model
        for node in nodes[self._counted :]:
            if (use := usage_aside(self._store, node, model.provider, model.id)) is not None:
                self._tally.aside(use)
        self._counted = len(nodes)


def _dearness(spent: Spent) -> tuple[float, int]:
    usage = spent.usage
    return usage.cost.total, prompt_tokens(usage) + usage.output
