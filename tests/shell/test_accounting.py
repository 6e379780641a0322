"""`/cost`, `/context` and `/session`: everything is counted once, by branch, model and purpose."""

import json

from kaa.core.spending import Spending
from kaa.core.usage import tokens_in
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.model_script import Answer, Call, Tokens
from tests.support.stage import Stage

AGAIN = ConversationOptions(model="m", session=ContinueSession())


def measured(prompt: int, cached: int = 0, output: int = 10) -> Answer:
    return Answer(text=("hi",), usage=Tokens(prompt, cached, output))


async def reported(conversation: Conversation, command: str) -> str:
    outcome = await conversation.submit(command)
    assert isinstance(outcome, CommandReply)
    return outcome.text


def rows(report: str) -> list[list[str]]:
    return [line.split() for line in report.splitlines()]


async def rewound(conversation: Conversation) -> None:
    """Two questions, the second taken back and asked in another way."""
    await conversation.submit("one")
    await conversation.submit("two")
    place = await conversation.navigation.to(conversation.navigation.points()[1].entry_id)
    await conversation.navigation.go(place)
    await conversation.submit("instead")


class TestCost:
    def test_other_branches_count_for_the_session_only(self, stage: Stage) -> None:
        stage.server.begin([measured(100), measured(200), measured(400)])

        async def scene(conversation: Conversation) -> tuple[Spending, str]:
            await rewound(conversation)
            return await conversation.accounting.spending(), await reported(conversation, "/cost")

        spending, report = stage.play(scene)

        sizes = [spent.usage.input for spent in (spending.turn, spending.branch, spending.total)]
        assert sizes == [400, 500, 700]
        assert rows(report)[:2] == [
            ["last", "turn", "this", "branch", "session"],
            ["input", "400", "500", "700"],
        ]

    def test_each_model_has_a_row(self, stage: Stage) -> None:
        stage.server.begin([measured(100, 50), measured(1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("one")
            await conversation.models.choose("openai/other")
            await conversation.submit("two")
            return await reported(conversation, "/cost")

        report = rows(stage.play(scene))

        assert ["openai/other", "1", "1,000", "10", "0%", "?"] in report
        assert ["openai/m", "1", "100", "10", "50%", "?"] in report
        assert report.index(["openai/other", "1", "1,000", "10", "0%", "?"]) < report.index(
            ["openai/m", "1", "100", "10", "50%", "?"]
        ), "the one that took more comes first"

    def test_requests_beside_the_conversation_count(self, stage: Stage) -> None:
        stage.server.begin([measured(100), Answer(text=("A greeting",), usage=Tokens(300, 0, 4))])

        async def scene(conversation: Conversation) -> tuple[int, str]:
            await conversation.submit("one")
            await reported(conversation, "/name --suggest")
            return conversation.usage.total.usage.input, await reported(conversation, "/cost")

        total, report = stage.play(scene)

        assert total == 400
        assert ["names", "1", "300", "4", "0%", "?"] in rows(report)

    def test_a_restart_forgets_nothing_of_it(self, stage: Stage) -> None:
        stage.server.begin([measured(100), Answer(text=("A greeting",), usage=Tokens(300, 0, 4))])

        async def scene(conversation: Conversation) -> None:
            await conversation.submit("one")
            await reported(conversation, "/name --suggest")

        async def again(conversation: Conversation) -> tuple[int, int]:
            spending = await conversation.accounting.spending()
            return conversation.usage.total.usage.input, spending.total.usage.input

        stage.play(scene)

        assert stage.play(again, AGAIN) == (400, 400)

    def test_the_last_turn_is_known_after_a_restart(self, stage: Stage) -> None:
        answers = [measured(100), Answer(calls=(Call("ls", "{}"),), usage=Tokens(200, 0, 5)), measured(300)]
        stage.server.begin([*answers, Answer(text=("A greeting",), usage=Tokens(40, 0, 4)), measured(500)])

        async def scene(conversation: Conversation) -> Spending:
            await conversation.submit("one")
            await conversation.submit("two")
            return await conversation.accounting.spending()

        async def again(conversation: Conversation) -> list[int]:
            at_first = await conversation.accounting.spending()
            await reported(conversation, "/name --suggest")
            named = await conversation.accounting.spending()
            await conversation.submit("three")
            last = await conversation.accounting.spending()
            return [spending.turn.usage.input for spending in (at_first, named, last)]

        before = stage.play(scene)

        assert before.turn.usage.input == 500
        assert stage.play(again, AGAIN) == [500, 540, 500]

    def test_misses_are_listed_with_their_causes_also_after_a_restart(self, stage: Stage) -> None:
        stage.server.begin([measured(30_000, 20_000), measured(30_100, 0)])

        async def scene(conversation: Conversation) -> tuple[str, str]:
            await conversation.submit("one")
            await conversation.submit("two")
            return await reported(conversation, "/cost"), await reported(conversation, "/cost misses")

        report, misses = stage.play(scene)
        later = stage.play(lambda c: reported(c, "/cost misses"), AGAIN)

        assert "Once the cache missed (dropped by the server): 30,000 tokens" in report
        assert rows(misses)[1][:2] == ["30,000", "?"]
        assert later == misses

    def test_a_compaction_is_the_cause_of_what_has_to_be_read_again(self, stage: Stage) -> None:
        (stage.home).mkdir()
        (stage.home / "settings.json").write_text('{"compaction": {"keepRecentTokens": 3000}}')
        stage.server.begin(
            [
                measured(30_000, 20_000),
                measured(42_000, 30_000),
                measured(52_000, 42_000),
                Answer(text=("A summary",), usage=Tokens(40_000, 0, 900)),
                measured(14_000, 100),
            ]
        )

        async def scene(conversation: Conversation) -> tuple[str, str]:
            for _ in range(3):
                await conversation.submit("word " * 9_600)
            condensed = await reported(conversation, "/compact")
            assert condensed.startswith("compacted")
            await conversation.submit("go on")
            return await reported(conversation, "/cost"), await reported(conversation, "/cost misses")

        report, misses = stage.play(scene)

        assert ["summaries", "1", "40,000", "900", "0%", "?"] in rows(report)
        assert [line.split("  ")[-1] for line in misses.splitlines()[1:]] == ["the conversation was compacted"]

    def test_what_is_no_report_is_refused(self, stage: Stage) -> None:
        assert "use /cost, or /cost misses" in stage.play(lambda c: reported(c, "/cost mises"))


class TestContext:
    def test_names_what_is_large_and_what_the_prompt_consists_of(self, stage: Stage) -> None:
        stage.home.mkdir()
        (stage.home / "AGENTS.md").write_text("Be brief.\n" * 40)
        stage.files["big.txt"] = b"line\n" * 400
        stage.server.begin([Answer(calls=(Call("read", '{"path": "big.txt"}'),)), measured(1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("read it")
            return await reported(conversation, "/context")

        report = stage.play(scene)

        lines = rows(report)
        assert ["100", str(stage.home / "AGENTS.md")] in lines
        assert any(line[1:] == ["read", "big.txt"] for line in lines)

    def test_adds_up_what_each_tool_takes(self, stage: Stage) -> None:
        stage.files["big.txt"] = b"line\n" * 400
        read, odd = Call("read", '{"path": "big.txt"}'), Call("made\nup" + "!" * 100)
        stage.server.begin([Answer(calls=(read, read)), Answer(calls=(odd,)), measured(1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("read it")
            return await reported(conversation, "/context")

        lines = rows(stage.play(scene))

        assert ["by", "tool", "calls", "call", "tokens", "result", "tokens"] in lines
        assert ["read", "2", "12", "1,000"] in lines
        assert [line[:2] for line in lines if "made" in line] == [["made", "up" + "!" * 33]]

    def test_tells_what_shortened_results_save(self, stage: Stage) -> None:
        stage.home.mkdir()
        rates = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 0}
        (stage.home / "models.json").write_text(
            json.dumps({"providers": {"openai": {"models": [{"id": "m", "cost": rates}]}}})
        )
        features = {"maskingTurns": 1, "maskingTokens": 400}
        (stage.home / "settings.json").write_text(json.dumps({"features": features}))
        stage.files["big.txt"] = b"line\n" * 400
        read = Answer(calls=(Call("read", '{"path": "big.txt"}'),))
        stage.server.begin([read, read, measured(1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("read it")
            return await reported(conversation, "/context")

        report = stage.play(scene)

        saved = 500 - tokens_in(
            "[Old result of read big.txt left out: 400 lines, 2.0 KB. "
            "Call read again with the same arguments if you need it.]"
        )
        assert (
            f"1 old result is shortened for the model: about {saved} tokens less in each request, {saved} so far."
            in report.splitlines()
        )

    def test_tells_how_far_it_is_to_a_compaction(self, stage: Stage) -> None:
        stage.server.begin([measured(1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("one")
            return (await reported(conversation, "/context")).splitlines()[1]

        assert stage.play(scene) == "kaa compacts the conversation at 111,616 tokens: 110,606 to go, 99%"

    def test_tells_that_there_will_be_none(self, stage: Stage) -> None:
        stage.home.mkdir()
        (stage.home / "settings.json").write_text('{"compaction": {"enabled": false}}')
        stage.server.begin([])

        async def scene(conversation: Conversation) -> str:
            return (await reported(conversation, "/context")).splitlines()[1]

        assert stage.play(scene).startswith("kaa does not compact")


class TestSession:
    def test_tells_who_said_how_much_where(self, stage: Stage) -> None:
        stage.server.begin(
            [Answer(calls=(Call("read", '{"path": "notes.txt"}'),)), measured(1), measured(2), measured(3)]
        )

        async def scene(conversation: Conversation) -> str:
            await rewound(conversation)
            return await reported(conversation, "/session")

        report = rows(stage.play(scene))

        assert ["branches", "2"] in report
        assert ["yours", "2", "3"] in report
        assert ["replies", "3", "4"] in report
        assert ["tool", "results", "1", "1"] in report
        assert ["together", "6", "8"] in report

    def test_tells_of_what_was_taken_back_before_anything_else_is_said(self, stage: Stage) -> None:
        stage.server.begin([measured(1), measured(2)])

        async def scene(conversation: Conversation) -> tuple[str, str]:
            await conversation.submit("one")
            await conversation.submit("two")
            whole = await reported(conversation, "/session")
            await reported(conversation, "/undo")
            return whole, await reported(conversation, "/session")

        whole, report = stage.play(scene)

        assert ["together", "4"] in rows(whole)
        assert ["messages", "here", "all", "branches"] in rows(report)
        assert ["together", "2", "4"] in rows(report)

    def test_of_a_new_session_says_so(self, stage: Stage) -> None:
        assert stage.play(lambda c: reported(c, "/session")).endswith("nothing has been said yet")
