"""Tokens and money add up, and what is not known is said."""

from kaa.core.events import AgentStart, MessageEnd
from kaa.core.messages import AssistantMessage, Cost, TextContent, Usage, user_message
from kaa.core.spending import RequestCharge, UsageTally
from kaa.core.usage import Spent


def reply(usage: Usage, model: str = "m") -> AssistantMessage:
    return AssistantMessage((TextContent(""),), "api", "p", model, usage, "stop")


def priced(tokens: int, dollars: float) -> Usage:
    return Usage(input=tokens, output=0, cost=Cost(total=dollars))


def tally() -> UsageTally:
    return UsageTally(lambda _, model: model == "free")


class TestTally:
    def test_a_turn_begins_anew_and_the_total_goes_on(self) -> None:
        counted = tally()

        for usage in (priced(10, 0.25), priced(20, 0.5)):
            counted.observe(AgentStart())
            counted.observe(MessageEnd(reply(usage)))
            counted.observe(MessageEnd(reply(usage)))

        assert (counted.reply.usage.input, counted.turn.usage.input, counted.total.usage.input) == (20, 40, 60)
        assert (counted.turn.cost, counted.total.cost) == (1.0, 1.5)

    def test_what_others_say_costs_nothing(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(user_message("hello")))

        assert counted.total == Spent()

    def test_one_unknown_price_makes_the_cost_unknown(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(priced(10, 0.25))))
        counted.observe(MessageEnd(reply(Usage(input=5))))

        assert counted.total.cost is None
        assert counted.total.unpriced == 1
        assert counted.total.usage.cost.total == 0.25

    def test_a_model_that_is_known_to_be_free_costs_nothing(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(Usage(input=5), model="free")))

        assert counted.total.cost == 0.0

    def test_a_request_that_was_refused_is_no_reply(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(AssistantMessage((), "api", "p", "m", Usage(), "error", error_message="refused")))

        assert counted.total == Spent()

    def test_a_reply_without_figures_is_counted_as_such(self) -> None:
        counted = tally()

        counted.observe(MessageEnd(reply(Usage())))

        assert (counted.total.unmeasured, counted.total.cost) == (1, 0.0)

    def test_earlier_replies_count_for_the_session_and_not_for_the_turn(self) -> None:
        counted = tally()

        counted.recall(RequestCharge("reply", priced(tokens, 0.5), "p", "m") for tokens in (1, 2))

        assert (counted.total.cost, counted.turn.cost, counted.reply.usage.input) == (1.0, 0.0, 2)

    def test_a_request_beside_the_conversation_counts_and_is_no_reply(self) -> None:
        counted = tally()
        counted.observe(MessageEnd(reply(priced(10, 0.25))))

        counted.aside(RequestCharge("summary", priced(20, 0.5), "p", "m"))

        assert (counted.reply.cost, counted.turn.cost, counted.total.cost) == (0.25, 0.75, 0.75)
        assert counted.total.replies == 2
