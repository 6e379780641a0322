"""The cost that a server reports with a reply: OpenRouter and similar gateways bill by their own routing.

https://openrouter.ai/docs/use-cases/usage-accounting
"""

from math import isfinite

import msgspec

from kaa.core.messages import Cost, Json


class ReportedCost(msgspec.Struct, frozen=True):
    """The fields of a usage object that are about money. Other servers use the same names for other things.

    Attributes:
        cost: US dollars that the account at the server is charged.
        is_byok: the upstream provider charges the user's own key besides.
    """

    cost: Json = None
    is_byok: Json = None
    cost_details: Json = None

    @property
    def reported(self) -> Cost:
        """The whole cost; nothing where the server does not report it."""
        total = _dollars(self.cost)
        if self.is_byok is True and isinstance(self.cost_details, dict):
            total += _dollars(self.cost_details.get("upstream_inference_cost"))
        return Cost(total=total)


def _dollars(value: Json) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) and value > 0 else 0.0
