"""What servers say that a reply cost."""

from kaa.core.messages import Json
from kaa.llm.reply_json import ReportedCost
from tests.support.tables import each


@each(
    ("cost", "byok", "details", "total"),
    [
        (0.25, None, None, 0.25),
        (0.05, True, {"upstream_inference_cost": 1.5}, 1.55),
        (0.25, False, {"upstream_inference_cost": 0.2}, 0.25),
        (None, None, None, 0.0),
        (-1, None, None, 0.0),
        (float("nan"), None, None, 0.0),
        (True, None, None, 0.0),
        ({"total_cost": 0.25}, None, None, 0.0),  # Perplexity: other fields under the same name
        (0.25, True, "none", 0.25),
    ],
)
def test_the_whole_cost_is_what_both_accounts_are_charged(cost: Json, byok: Json, details: Json, total: float) -> None:
    assert ReportedCost(cost, byok, details).reported.total == total
