"""What runs and sessions may use, told, asked about and kept to."""

import msgspec
import pytest

from kaa.core.budget import Budget
from kaa.core.events import AgentEnd, BudgetUpdate, Event
from kaa.core.messages import Json, Usage
from kaa.shell.conversation import CommandReply, Conversation, SubmitOutcome
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.model_script import Answer, Call, Tokens
from tests.support.model_server import say
from tests.support.person import yes_or_no
from tests.support.stage import Stage

PRICES: Json = {"input": 100, "output": 0, "cacheRead": 0, "cacheWrite": 0}
"""US dollars for a million tokens: a request of 1,000 tokens costs 0.10."""

ECHO = Answer(calls=(Call("read", '{"path": "notes.txt"}'),), usage=Tokens(prompt=1000, output=10))


class Purse:
    """A stage whose model has a price, and what was told of budgets."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.events: list[Event] = []
        stage.environ = {}
        stage.home.mkdir()
        self.model(cost=PRICES)

    def model(self, **settings: Json) -> None:
        self._write({"p": {"id": "m", **settings}})

    def also(self, provider: str) -> None:
        """Another provider, whose model has no price."""
        self._write({"p": {"id": "m", "cost": PRICES}, provider: {"id": "m"}})

    def _write(self, models: dict[str, Json]) -> None:
        url = f"{self.stage.server.url}/v1"
        providers = {name: {"baseUrl": url, "models": [model]} for name, model in models.items()}
        (self.stage.home / "models.json").write_bytes(msgspec.json.encode({"providers": providers}))

    def settings(self, **settings: Json) -> None:
        (self.stage.home / "settings.json").write_bytes(msgspec.json.encode(settings))

    def talk(self, *messages: str, options: ConversationOptions | None = None, **limits: float) -> list[SubmitOutcome]:
        """Say these things one after another, with these limits for each run."""

        async def scene(conversation: Conversation) -> list[SubmitOutcome]:
            conversation.subscribe(self.events.append)
            return [await conversation.submit(message) for message in messages]

        options = options or ConversationOptions(model="p/m")
        budget = msgspec.convert(limits, Budget)
        return self.stage.play(scene, msgspec.structs.replace(options, budget=budget))

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(e.state, e.scope, e.measure) for e in self.events if isinstance(e, BudgetUpdate)]

    @property
    def requests(self) -> int:
        return len(self.stage.server.requests)


@pytest.fixture
def purse(stage: Stage) -> Purse:
    return Purse(stage)


def reasons(outcomes: list[SubmitOutcome]) -> list[str]:
    return [outcome.reason for outcome in outcomes if isinstance(outcome, AgentEnd)]


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"cost": 0.28}, "$0.08 of the $0.28 for this run are left. Allow more with --max-cost or budget.run.cost"),
        ({"tokens": 1500}, "2,020 tokens of the 1,500 tokens for this run. Allow more with --max-tokens"),
        ({"turns": 2}, "2 requests of the 2 requests for this run. Allow more with budget.run.turns"),
    ],
)
def test_a_run_ends_behind_the_tools_when_its_budget_does(purse: Purse, limit: dict[str, float], words: str) -> None:
    purse.stage.server.begin([ECHO] * 3)

    (end,) = purse.talk("go", options=None, **limit)

    assert isinstance(end, AgentEnd)
    assert end.reason == "budget"
    assert words in (end.error or "")
    assert purse.requests == 2
    assert purse.told[-1][0] == "reached"


def test_most_of_a_budget_is_told_of_once(purse: Purse) -> None:
    purse.stage.server.begin([ECHO, ECHO, say("done")])

    assert reasons(purse.talk("go", tokens=1200)) == ["budget"]
    purse.events.clear()
    purse.stage.server.begin([ECHO, ECHO, say("done")])
    assert reasons(purse.talk("go", tokens=2400)) == ["done"]

    assert purse.told == [("warning", "run", "tokens")]


def test_who_is_there_is_asked_and_may_allow_as_much_again(purse: Purse) -> None:
    purse.stage.server.begin([ECHO, ECHO, ECHO, say("done")])
    payer = purse.stage.asker = yes_or_no(True, False)

    outcomes = purse.talk("go", tokens=1000)

    assert reasons(outcomes) == ["budget"]
    assert purse.requests == 2
    assert payer.questions[0].title == "Continue with 1,000 tokens more?"
    assert payer.questions[0].details.startswith("the budget is used up\n1,010 tokens of the 1,000 tokens for this run")
    assert "Allow more with /budget run tokens AMOUNT" in str(outcomes[-1])
    assert [state for state, _, _ in purse.told] == ["reached", "raised", "reached"]


def test_a_request_that_does_not_fit_is_asked_about_before_it_is_sent(purse: Purse) -> None:
    purse.stage.server.begin([say("done")])
    payer = purse.stage.asker = yes_or_no(True)

    outcomes = purse.talk("go", cost=0.05)

    assert reasons(outcomes) == ["done"]
    (asked,) = payer.questions
    question, details = asked.title, asked.details
    assert question.startswith("Continue with $0.")
    assert "the budget is too small for the next request: it can cost $0." in details
    assert [state for state, _, _ in purse.told] == ["reached", "raised"]


def test_each_run_begins_with_a_full_purse(purse: Purse) -> None:
    purse.stage.server.begin([say("one"), say("two")])

    assert reasons(purse.talk("one", "two", turns=1)) == ["done", "done"]


def test_the_session_pays_for_all_its_runs_those_before_too(purse: Purse) -> None:
    purse.settings(budget={"session": {"turns": 3}})
    purse.stage.server.begin([say("one"), say("two"), say("three"), say("four")])

    assert reasons(purse.talk("one", "two")) == ["done", "done"]
    again = ConversationOptions(model="p/m", session=ContinueSession())
    outcomes = purse.talk("three", "four", options=again)

    assert reasons(outcomes) == ["done", "budget"]
    assert "for this session" in str(outcomes[-1])


def test_time_of_earlier_runs_is_remembered_where_it_is_limited(purse: Purse) -> None:
    purse.settings(budget={"session": {"minutes": 10}})
    purse.stage.server.begin([say("one")])
    purse.talk("one")
    (session,) = purse.stage.home.glob("sessions/**/*.jsonl")
    content = session.read_text()
    assert '"kaa.run_time"' in content

    seconds = content.partition('"seconds":')[2].partition("}")[0]
    session.write_text(content.replace(f'"seconds":{seconds}}}', '"seconds":601}'))
    outcomes = purse.talk("two", options=ConversationOptions(model="p/m", session=ContinueSession()))

    assert reasons(outcomes) == ["budget"]
    assert "10 min 1 s of the 10 min" in str(outcomes[0])


def test_nothing_is_noted_where_time_is_not_limited(purse: Purse) -> None:
    purse.stage.server.begin([say("one")])
    purse.talk("one", turns=5)

    (session,) = purse.stage.home.glob("sessions/**/*.jsonl")
    assert "kaa.run_time" not in session.read_text()


def test_who_is_given_work_is_paid_out_of_the_same_purse(purse: Purse) -> None:
    purse.stage.server.begin([say("one")])

    async def scene(conversation: Conversation) -> SubmitOutcome:
        helper = conversation.budget.child(Budget(turns=5))
        helper.charge(Usage(input=100), conversation.models.current.model)
        return await conversation.submit("go")

    purse.settings(budget={"session": {"tokens": 100}})
    outcome = purse.stage.play(scene, ConversationOptions(model="p/m"))

    assert reasons([outcome]) == ["budget"]


class TestUnknownPrices:
    def test_stop_a_run_that_must_not_cost_more(self, purse: Purse) -> None:
        purse.model()

        (end,) = purse.talk("go", cost=1)

        assert isinstance(end, AgentEnd)
        assert end.reason == "budget"
        assert "the price of p/m is not known" in (end.error or "")
        assert "models.json" in (end.error or "")
        assert purse.requests == 0

    def test_are_asked_about_once(self, purse: Purse) -> None:
        purse.model()
        payer = purse.stage.asker = yes_or_no(True)
        purse.stage.server.begin([ECHO, say("done"), say("again")])

        assert reasons(purse.talk("go", "again", cost=1)) == ["done", "done"]
        (asked,) = payer.questions
        question, details = asked.title, asked.details
        assert question == "Continue with an unknown price?"
        assert "the price of p/m is not known" in details
        assert purse.told == [("unknown_price", "run", "cost")]

    def test_matter_to_nobody_who_limits_no_money(self, purse: Purse) -> None:
        purse.model()
        purse.stage.server.begin([say("done")])

        assert reasons(purse.talk("go", tokens=10**6)) == ["done"]

    @pytest.mark.parametrize("answer", [True, False])
    def test_of_the_model_that_writes_summaries_are_asked_about_too(self, purse: Purse, answer: bool) -> None:
        purse.settings(compaction={"keepRecentTokens": 1, "model": "other/m"}, budget={"session": {"cost": 5}})
        purse.model(cost=PRICES)
        purse.also("other")
        payer = purse.stage.asker = yes_or_no(answer)
        purse.stage.server.begin([say("one " * 400), say("two " * 400), say("They spoke.")])

        *_, compacted = purse.talk("tell me something " * 100, "and more " * 100, "/compact")

        assert isinstance(compacted, CommandReply)
        assert compacted.refused is not answer
        assert ("the price of other/m is not known" in compacted.text) is not answer
        (asked,) = payer.questions
        details = asked.details
        assert "the price of other/m is not known" in details
        assert purse.requests == (3 if answer else 2)

    def test_are_not_prices_of_nothing(self, purse: Purse) -> None:
        purse.model(cost={"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0})
        purse.stage.server.begin([say("done")])

        assert reasons(purse.talk("go", cost=0.01)) == ["done"]


def test_a_summary_is_paid_for_and_not_made_on_credit(purse: Purse) -> None:
    purse.settings(budget={"session": {"turns": 2}}, compaction={"keepRecentTokens": 1})
    purse.stage.server.begin([say("one " * 400), say("two " * 400)])

    async def scene(conversation: Conversation) -> SubmitOutcome:
        await conversation.submit("tell me something " * 100)
        await conversation.submit("and more " * 100)
        return await conversation.submit("/compact")

    outcome = purse.stage.play(scene, ConversationOptions(model="p/m"))

    assert isinstance(outcome, CommandReply)
    assert "the budget is used up: 2 requests of the 2 requests for this session" in outcome.text
    assert purse.requests == 2


class TestCommand:
    def test_it_shows_what_was_used_and_what_may_be(self, purse: Purse) -> None:
        purse.stage.server.begin([ECHO, say("done")])

        *_, shown = purse.talk("go", "/budget", cost=0.5)

        assert isinstance(shown, CommandReply)
        assert "of $0.50" in shown.text
        assert "1,010 tokens" not in shown.text
        assert "2 requests" in shown.text
        assert "no limit" in shown.text

    @pytest.mark.parametrize(("priced", "shown"), [(False, "$?"), (True, "at least $0.10")])
    def test_what_nobody_knows_the_price_of_is_not_nothing(self, purse: Purse, priced: bool, shown: str) -> None:
        purse.also("other")
        dear = msgspec.structs.replace(ECHO, calls=(), text=("hi",))
        purse.stage.server.begin([*([dear] if priced else []), ECHO, say("done")])

        async def scene(conversation: Conversation) -> SubmitOutcome:
            if priced:
                await conversation.submit("go")
            await conversation.models.choose("other/m")
            await conversation.submit("go on")
            return await conversation.submit("/budget")

        outcome = purse.stage.play(scene, ConversationOptions(model="p/m"))

        assert isinstance(outcome, CommandReply)
        assert [line.split("  ")[1] for line in outcome.text.splitlines() if "$" in line][:2] == ["$?", shown]

    def test_a_limit_can_be_set_and_taken_away(self, purse: Purse) -> None:
        purse.stage.server.begin([ECHO, say("one"), ECHO, say("two")])

        outcomes = purse.talk("/budget run turns 1", "go", "/budget run turns off", "go on")

        assert reasons(outcomes) == ["budget", "done"]

    @pytest.mark.parametrize("words", ["run cost", "week cost 5", "run cost free", "session time 10", "nonsense"])
    def test_what_makes_no_sense_is_refused_with_an_example(self, purse: Purse, words: str) -> None:
        (outcome,) = purse.talk(f"/budget {words}")

        assert isinstance(outcome, CommandReply)
        assert outcome.refused
        assert "such as" in outcome.text or "for example" in outcome.text


def test_changed_settings_are_put_in_force_and_else_what_was_said_holds(purse: Purse) -> None:
    async def scene(conversation: Conversation) -> tuple[float | None, float | None]:
        await conversation.submit("/budget session tokens 5k")
        await conversation.reload()
        said = conversation.budget.limits("session").tokens
        purse.settings(budget={"session": {"tokens": 7000}})
        await conversation.reload()
        return said, conversation.budget.limits("session").tokens

    assert purse.stage.play(scene, ConversationOptions(model="p/m")) == (5000, 7000)
