"""What the entries of an export come to: messages, tokens and money."""

from collections.abc import Mapping

import msgspec

from kaa.core.messages import Json

# Above this a count is damage. Sums of what is below stay exact in the page's numbers, which are doubles.
_MOST = 2**40


class ModelTotal(msgspec.Struct, rename="camel"):
    """What the requests to one model used."""

    replies: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0

    def add(self, usage: Json) -> None:
        """Add a reply, of which the provider may have said what it used."""
        self.replies += 1
        if not isinstance(usage, dict):
            return
        self.input += _whole(usage.get("input"))
        self.output += _whole(usage.get("output"))
        self.cache_read += _whole(usage.get("cacheRead"))
        self.cache_write += _whole(usage.get("cacheWrite"))
        cost = usage.get("cost")
        spent = cost.get("total") if isinstance(cost, dict) else None
        self.cost += spent if isinstance(spent, int | float) else 0.0


class Totals(msgspec.Struct, rename="camel"):
    """Counts of one export.

    Attributes:
        models: what replies used, by `provider/id`.
        aside: what summaries and tools used; the file does not say of which model.
        agents: whose messages are counted with the others; what they used is in the conversation's own entries.
    """

    messages: int = 0
    tool_results: int = 0
    thinking_blocks: int = 0
    images: int = 0
    agents: int = 0
    models: dict[str, ModelTotal] = msgspec.field(default_factory=dict)
    aside: ModelTotal = msgspec.field(default_factory=ModelTotal)

    def add(self, fields: Mapping[str, Json]) -> None:
        message = fields.get("message")
        if fields.get("type") != "message" or not isinstance(message, dict):
            self._add_blocks(fields.get("content"))
            self._add_aside(fields)
            return
        self._add_blocks(message.get("content"))
        match message.get("role"):
            case "user" | "custom":
                self.messages += 1
            case "assistant":
                self.messages += 1
                self._add_reply(message)
            case "toolResult":
                self.tool_results += 1
                self._add_aside(message)
            case _:
                pass

    def add_agent(self, agent: "Totals") -> None:
        """Count the session of an agent."""
        self.agents += 1
        self.messages += agent.messages
        self.tool_results += agent.tool_results
        self.thinking_blocks += agent.thinking_blocks
        self.images += agent.images

    def _add_blocks(self, content: Json) -> None:
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "image"}:
                    self.images += 1
                case {"type": "thinking"}:
                    self.thinking_blocks += 1
                case _:
                    pass

    def _add_reply(self, message: Mapping[str, Json]) -> None:
        self._of_model(message).add(message.get("usage"))

    def _add_aside(self, fields: Mapping[str, Json]) -> None:
        usage = fields.get("usage")
        if isinstance(usage, dict):
            (self._of_model(fields) if fields.get("type") == "usage" else self.aside).add(usage)

    def _of_model(self, fields: Mapping[str, Json]) -> ModelTotal:
        return self.models.setdefault(f"{fields.get('provider')}/{fields.get('model')}", ModelTotal())


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and abs(value) <= _MOST else 0
