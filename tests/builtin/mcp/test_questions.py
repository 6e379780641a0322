"""What servers ask while they work: forms, addresses, completions, the project."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kaa.builtin.mcp.host import ServerView
from kaa.builtin.mcp.questions import ConversationQuestions
from kaa.core.forms import ChoiceField, ChoicesField, FieldOption, NumberField, TextField, YesNoField
from kaa.core.messages import Json
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.context import ConversationContext
from kaa.ext.questions import Chosen, Confirmed, Declined, Dismissed, Filled, Form, OpenUrl
from kaa.mcp import rounds
from kaa.mcp.contents import AudioPart, CallResult, Progress, PromptMessage, TextPart
from kaa.mcp.questions import (
    ElicitAnswer,
    Elicitation,
    FormRequest,
    RefusedError,
    Root,
    SamplingRequest,
    ServerQuestions,
    UrlRequest,
)
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.mcp_host import MemoryMcpHost, MemoryMcpServer, server, tool_info
from tests.support.mcp_stage import Notices, results_of
from tests.support.model_script import call, say
from tests.support.person import Person
from tests.support.stage import Stage
from tests.support.tables import each

_FORM = FormRequest("Who are you?", (TextField("name", required=True), NumberField("age", default=3, whole=True)))
_SAMPLING = SamplingRequest((PromptMessage("user", TextPart("Say hi.")),), "Be short.", 100)


def questions_of(asker: Asker, **fields: object) -> ConversationQuestions:
    view = ServerView("shop", "in use", **fields)  # type: ignore[arg-type]  # any field of a view
    return ConversationQuestions(view, ConversationContext(MemoryWorkspace({}), asker), "tool buy")


class Asking(MemoryMcpServer):
    """A server that asks during each call, and answers with what it got."""

    def __init__(self, ask: Callable[[ServerQuestions], Awaitable[object]], **fields: object) -> None:
        made = server("shop", tool_info("buy"), **fields)  # type: ignore[arg-type]  # any field of a view
        super().__init__(made.view, made.learned)
        self._ask = ask

    async def call(
        self,
        tool: str,
        arguments: dict[str, Json],
        *,
        questions: ServerQuestions | None = None,
        progress: Callable[[Progress], None] | None = None,
        patience: float = 60,
    ) -> CallResult:
        """See `ServerSession`."""
        assert questions is not None
        try:
            return CallResult((TextPart(f"got {await self._ask(questions)}"),))
        except RefusedError as error:
            return CallResult((TextPart(f"refused: {error}"),))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Filled({"name": "Ann", "age": 4}), ElicitAnswer("accept", {"name": "Ann", "age": 4})),
        (Declined(), ElicitAnswer("decline")),
        (Dismissed(), ElicitAnswer("cancel")),
    ],
)
def test_a_form_names_server_and_tool_and_is_answered(answer: Filled | Declined, told: ElicitAnswer) -> None:
    person = Person(answer)

    assert run(questions_of(person).elicit(_FORM)) == told
    [form] = person.questions
    assert isinstance(form, Form)
    assert form.title == "MCP server shop asks for information (tool buy)"
    assert form.message == "Who are you?"


def test_every_kind_of_field_takes_its_values() -> None:
    options = [{"const": "r", "title": "Red"}, {"const": "b", "title": "b"}]
    properties: dict[str, Json] = {
        "text": {"type": "string", "format": "email", "default": "a@b.example"},
        "unknown": {"type": "string", "format": "phone", "default": 3},
        "number": {"type": "number", "default": 1.5, "minimum": 1},
        "count": {"type": "integer", "default": True},
        "yes": {"type": "boolean", "default": True},
        "one": {"type": "string", "oneOf": options, "default": "r"},
        "some": {"type": "array", "items": {"anyOf": options}, "default": ["b"]},
    }
    values: dict[str, Json] = {"text": "x@y.example", "number": 2, "yes": False, "one": "b", "some": ["r", "b"]}
    person = Person(Filled(values))
    asked: Json = {"message": "All", "requestedSchema": {"type": "object", "properties": properties}}

    answer = run(rounds.answer("elicitation/create", asked, questions_of(person)))

    assert answer == {"action": "accept", "content": values}
    assert person.questions[0].fields == (
        TextField("text", default="a@b.example", format="email"),
        TextField("unknown"),
        NumberField("number", default=1.5, minimum=1),
        NumberField("count", whole=True),
        YesNoField("yes", default=True),
        ChoiceField("one", options=(FieldOption("r", "Red"), FieldOption("b", "b")), default="r"),
        ChoicesField("some", options=(FieldOption("r", "Red"), FieldOption("b", "b")), default=("b",)),
    )


def test_an_address_is_asked_about_with_its_host() -> None:
    person = Person(Confirmed(yes=True), Declined(), Dismissed())
    questions = questions_of(person)
    asked = UrlRequest("To pay", "https://pay.example/?id=1")

    answers = [run(questions.elicit(asked)).action for _ in range(3)]

    assert answers == ["accept", "decline", "cancel"]
    assert isinstance(person.questions[0], OpenUrl)
    assert (person.questions[0].host, person.questions[0].url) == ("pay.example", "https://pay.example/?id=1")


@each(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://pay.example/",
        "https://good.example\\@evil.example/",
        "https:///path",
        "https://[::1",
        "https://pay.example:port/",
        "https://pay.example/ x",
        "https://pay.example/" + "x" * 9000,
    ],
)
def test_an_address_that_is_not_safe_to_open_is_not_even_shown(url: str) -> None:
    person = Person()
    questions = questions_of(person)

    assert run(questions.elicit(UrlRequest("Go", url))).action == "cancel"
    assert person.questions == []
    assert "shop asked the user a question, which kaa cancelled: the address" in questions.refusals[0]


@pytest.mark.parametrize("url", ["http://localhost:8080/x", "http://127.0.0.1/", "https://[::1]:8443/"])
def test_an_address_of_this_machine_may_do_without_encryption(url: str) -> None:
    assert run(questions_of(Person(Confirmed(yes=True))).elicit(UrlRequest("Go", url))).action == "accept"


@pytest.mark.parametrize(
    ("url", "warning"),
    [
        ("https://pay.example/", ""),
        ("https://good.example@evil.example/", "the host is evil.example"),
        ("https://xn--pple-43d.com/", "letters of other alphabets"),
        ("https://аpple.com/", "letters of other alphabets"),  # noqa: RUF001 the point: it looks like another
    ],
)
def test_a_host_that_looks_like_another_is_warned_of(url: str, warning: str) -> None:
    assert warning in OpenUrl("Open?", url).warning
    assert bool(warning) == bool(OpenUrl("Open?", url).warning)


def test_nobody_to_ask_cancels_and_the_model_learns_why(stage: Stage) -> None:
    asked: list[Elicitation] = [_FORM, UrlRequest("Pay", "https://pay.example/")]
    for elicitation in asked:
        shop = Asking(lambda questions, asked=elicitation: questions.elicit(asked))  # type: ignore[misc]

        [result] = results_of(stage, MemoryMcpHost([shop]), [call("mcp__shop__buy"), say("I see.")])

        assert "action='cancel'" in result.text
        assert "shop asked the user a question, which kaa cancelled: nobody can be asked here." in result.text


def test_where_nobody_is_there_servers_learn_it_before_they_ask() -> None:
    questions = questions_of(NOBODY, samples=True)

    assert (questions.forms, questions.samples) == (False, False)


def test_the_project_is_a_root_only_with_permission() -> None:
    root = MemoryWorkspace({}).root

    assert questions_of(NOBODY).roots() == ()
    assert questions_of(NOBODY, sees_project=True).roots() == (Root(f"file://{root}", root.rpartition("/")[2]),)


def test_a_completion_is_allowed_for_the_session_and_uses_the_budget(stage: Stage) -> None:
    async def twice(questions: ServerQuestions) -> str:
        return f"{(await questions.sample(_SAMPLING)).text} {(await questions.sample(_SAMPLING)).text}"

    person = Person(Chosen("Yes, for this session"))
    shop = Asking(twice, samples=True)
    script = [call("mcp__shop__buy"), say("Hi."), say("Hello."), say("Done.")]

    stage.asker = person

    [result] = results_of(stage, MemoryMcpHost([shop]), script)

    [question] = person.questions
    assert question.title == "May MCP server shop ask your model?"
    assert "Say hi." in question.details
    assert "got Hi. Hello." in result.text
    assert "Say hi." in stage.server.requests[1].body.decode()
    assert "tools" not in stage.server.requests[1].json


@pytest.mark.parametrize("answer", [Chosen("No"), Dismissed()])
def test_a_completion_that_is_not_allowed_is_refused(stage: Stage, answer: Chosen | Dismissed) -> None:
    stage.asker = Person(answer)
    shop = Asking(lambda questions: questions.sample(_SAMPLING), samples=True)

    [result] = results_of(stage, MemoryMcpHost([shop]), [call("mcp__shop__buy"), say("Done.")])

    assert "refused: the user does not allow it" in result.text
    assert len(stage.server.requests) == 2


@pytest.mark.parametrize(
    ("permitted", "to_server", "to_others"),
    [
        (True, "nobody is there to allow it", "nobody is there to allow it."),
        (False, "the user has not permitted it to ask models", "`permissions.models` of its entry in /mcp.json is not"),
    ],
)
def test_a_completion_that_nobody_can_allow_is_refused_and_everybody_learns_why(
    stage: Stage, permitted: bool, to_server: str, to_others: str
) -> None:
    notices = stage.display = Notices()
    shop = Asking(lambda questions: questions.sample(_SAMPLING), samples=permitted, source="/mcp.json")

    [result] = results_of(stage, MemoryMcpHost([shop]), [call("mcp__shop__buy"), say("Done.")])

    asked = "MCP server shop asked for an answer of the user's model, which kaa refused: "
    assert f"refused: {to_server}\n" in result.text
    assert f"{asked}{to_others}" in result.text
    assert [text.startswith(f"{asked}{to_others}") for text in notices.texts] == [True]
    assert len(stage.server.requests) == 2


def test_the_question_shows_model_limit_and_everything_that_is_sent(stage: Stage) -> None:
    person = stage.asker = Person(Chosen("No"))
    said = (PromptMessage("user", TextPart("Say hi.")), PromptMessage("user", TextPart("x" * 3_000)))
    shop = Asking(lambda questions: questions.sample(SamplingRequest(said, "Be short.", 1_000_000)), samples=True)

    results_of(stage, MemoryMcpHost([shop]), [call("mcp__shop__buy"), say("Done.")])

    [question] = person.questions
    head, _, shown = question.details.partition("\n")
    assert head.endswith("/m answers with at most 8,192 tokens, at your cost. The server sends:")
    assert shown.startswith("system: Be short.\nuser: Say hi.\nuser: xxx")
    assert shown.endswith("xxx\n[1,038 more characters]")


def test_a_completion_with_a_sound_is_refused_before_anybody_is_asked() -> None:
    asked = SamplingRequest((PromptMessage("user", AudioPart(b"x", "audio/wav")),))

    with pytest.raises(RefusedError, match="texts and images only"):
        run(questions_of(Person(), samples=True).sample(asked))


def test_a_question_is_withdrawn_with_its_call() -> None:
    class Slow:
        can_ask = True
        withdrawn = False

        async def ask(self, question: object) -> Dismissed:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn = True
                raise
            return Dismissed()

    slow = Slow()

    async def scene() -> None:
        asking = asyncio.create_task(questions_of(slow).elicit(_FORM))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    run(scene())

    assert slow.withdrawn
