"""What a conversation has used, from its events and from the session it goes on."""

from kaa.core.agent import Agent
from kaa.core.usage import ContextMeter, ContextParts, UsageReport, UsageTally, context_parts
from kaa.session.past_usage import past_usage
from kaa.session.store import SessionStore
from kaa.shell.models import Models


class Accounting:
    """Knows what was used so far.

    Args:
        agent: whose replies are counted.
        models: know which cost nothing.
        store: the session, with the replies of earlier runs.

    Raises:
        SessionReadError: the session cannot be read.
    """

    def __init__(self, agent: Agent, models: Models, store: SessionStore) -> None:
        self._agent = agent
        self._tally = UsageTally(models.is_free)
        self._tally.recall(past_usage(store))
        self._meter = ContextMeter(context_parts(agent.system_prompt, agent.tool_schemas, ()).total)
        agent.subscribe(self._tally.observe)

    def report(self) -> UsageReport:
        """Tokens, money, and how much of the window is taken. Costs what is new since it was asked last."""
        context = self._meter.measure(self._agent.messages, self._agent.model.context_window)
        return UsageReport(self._tally.reply, self._tally.turn, self._tally.total, context)

    def context_parts(self) -> ContextParts:
        """What the next request consists of, by an estimate. Goes through the whole conversation."""
        return context_parts(self._agent.system_prompt, self._agent.tool_schemas, self._agent.messages)
