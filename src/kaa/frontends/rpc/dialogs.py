"""Questions as the dialogs of pi's protocol (`extension_ui_request`), and the answers that come back.

Every request carries the whole question besides what pi's dialogs know, and a response may carry an answer in kaa's own
form (`kaa.ext.questions`) instead of `value`, `confirmed` or `cancelled`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar, cast

import msgspec

from kaa.core.forms import ChoiceField, ChoicesField, Field, defaults
from kaa.core.messages import Json
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowByAuto,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Answer,
    AnyQuestion,
    Approval,
    Choice,
    Chosen,
    Confirmation,
    Confirmed,
    Declined,
    Deny,
    Dismissed,
    Editing,
    Entered,
    Filled,
    Form,
    OpenUrl,
    PutBack,
    Question,
    TextInput,
    Trust,
    TrustDecision,
    UnfitAnswerError,
)
from kaa.frontends.person import UNTRUSTED, answer_for_program, exceeds_offer, outlasts_leaving, outlasts_session
from kaa.frontends.rpc.session import notice
from kaa.tui.sanitize import one_line, sanitize

AnswerT = TypeVar("AnswerT")

# Of one argument; beyond this nobody reads on.
_MAX_CHARACTERS = 100_000

# A client that cannot answer must not stop everything for ever: its question counts as dismissed then.
ANSWER_SECONDS = 300.0


class DialogResponse(msgspec.Struct, frozen=True):
    """What a client answered. `answer`: in kaa's own form."""

    id: str
    value: str | None = None
    confirmed: bool | None = None
    cancelled: bool = False
    answer: Answer | None = None


class Dialogs:
    """Asks the client (`kaa.ext.asking.Asker`).

    Args:
        seconds: how long a question waits for its answer.
        person_answers: the user says that a person answers the client's questions.
    """

    def __init__(
        self, send: Callable[[object], None], seconds: float = ANSWER_SECONDS, *, person_answers: bool = False
    ) -> None:
        self._send = send
        self._person_answers = person_answers
        self._seconds = seconds
        self._waiting: dict[str, tuple[AnyQuestion, asyncio.Future[Answer]]] = {}
        self._number = 0
        self._is_closed = False

    @property
    def can_ask(self) -> bool:
        """Until the client is gone."""
        return not self._is_closed

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Send the question and wait for its answer; see `Asker`."""
        if self._is_closed or _is_unimportant(question):
            return Dismissed()
        asked = cast("AnyQuestion", question)  # there are no other subclasses
        if not self._person_answers and (no := answer_for_program(asked)) is not None:
            if isinstance(asked, Trust):
                self._send(notice(UNTRUSTED, conversation=asked.conversation))
            return question.fit(no)
        self._number += 1
        request_id = f"question-{self._number}"
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = asked, answered
        self._send(_request(request_id, asked, self._seconds, lasting=self._person_answers))
        try:
            async with asyncio.timeout(self._seconds):
                return question.fit(await answered)
        except TimeoutError:
            self._withdraw(request_id, "timeout")
            return Dismissed()
        except asyncio.CancelledError:
            self._withdraw(request_id, "cancelled")
            raise
        finally:
            self._waiting.pop(request_id, None)

    def take(self, response: DialogResponse) -> None:
        """Take what the client answered.

        Raises:
            UnfitAnswerError: nothing is asked under this id, or the answer does not fit; the question goes on waiting.
        """
        asked = self._waiting.get(response.id)
        if asked is None:
            raise UnfitAnswerError(f"no question waits under the id {response.id!r}")
        question, answered = asked
        answer = question.fit(_answer(question, response, lasting=self._person_answers))
        if not answered.done():
            answered.set_result(answer)

    def close(self) -> None:
        """The client is gone: dismiss what waits and what is asked from now on."""
        self._is_closed = True
        self.dismiss()

    def dismiss(self) -> None:
        for _, answered in self._waiting.values():
            if not answered.done():
                answered.set_result(Dismissed())

    def _withdraw(self, request_id: str, reason: Literal["timeout", "cancelled"]) -> None:
        self._send({"type": "question_withdrawn", "id": request_id, "reason": reason})


def _request(request_id: str, question: AnyQuestion, seconds: float, *, lasting: bool) -> dict[str, object]:
    dialog: Mapping[str, object]
    match question:
        case Confirmation(details=details, diff=diff):
            dialog = {"method": "confirm", "message": "\n\n".join(filter(None, (details, diff)))}
        case TextInput(placeholder=placeholder):
            dialog = {"method": "input", "placeholder": placeholder}
        case Editing(text=text):
            dialog = {"method": "editor", "prefill": text}
        case Form(fields=fields):
            dialog = {"method": "editor", "prefill": _prefill(fields)}
        case OpenUrl(url=url, message=message):
            dialog = {"method": "confirm", "message": "\n".join([*_quoted(message), one_line(url)])}
        case _:
            dialog = {"method": "select", "options": list(labelled_answers(question, lasting=lasting))}
    asker = "" if question.agent is None else f"{one_line(question.agent)}: "
    common = {"type": "extension_ui_request", "id": request_id, "title": asker + question_text(question)}
    return {**common, **dialog, "timeout": int(seconds * 1000), "question": question}


def _is_unimportant(question: object) -> bool:
    """Whether a client should not wait for the answer before its session opens: instructions inform without trust."""
    return isinstance(question, Trust) and not question.uses and not question.status


def question_text(question: AnyQuestion) -> str:
    """The question for a client that shows nothing but titles: with all that its answer depends on."""
    match question:
        case Approval():
            notes = filter(None, (question.problem, question.warning, *question.permits, *question.further_reasons))
            what = f"network access for {question.tool}" if question.only_connects else question.tool
            what += f" of {question.server.title}" if question.server is not None else ""
            title = f"Step: run {what}?" if question.stepping else f"Allow {what}?"
            shown = [
                "kaa moved this away: put it back?" if question.writes_files else title,
                *map(one_line, notes),
                *_arguments(question.arguments),
            ]
        case Trust():
            shown = [question.title, one_line(question.root), question.status, *map(one_line, question.uses)]
            if question.servers:
                lines = (line for server in question.servers for line in server)
                shown += ["A yes until it changes also permits these MCP servers:", *map(one_line, lines)]
            if question.manifests:
                shown.append(f"Installing packages ({', '.join(question.manifests)}) needs the package registries.")
            for text in () if question.was_trusted else question.texts:
                shown += [f"{one_line(text.path)}:", *_quoted(text.text)]
            for what, paths in (("new", question.added), ("changed", question.changed), ("gone", question.removed)):
                shown += [f"{what}: {one_line(path)}" for path in paths]
            shown = [*filter(None, shown), *_quoted(question.diff)]
        case Choice(options=options, descriptions=descriptions):
            meanings = [
                f"{option}: {meaning}" for option, meaning in zip(options, descriptions, strict=False) if meaning
            ]
            now = [f"now: {question.current}"] if question.current else []
            shown = [
                question.title,
                *_quoted("\n".join(filter(None, [question.details, *now, *meanings, question.diff]))),
            ]
        case Form(message=message, fields=fields):
            explained = [
                f"{one_line(field.name)}{' (required)' if field.required else ''}: {one_line(_meaning(field))}"
                for field in fields
            ]
            shown = [question.title, *_quoted("\n".join(filter(None, [message, *explained])))]
        case OpenUrl():
            notes = filter(None, [f"host: {question.host}", question.warning])
            shown = [question.title, *map(one_line, notes)]
        case _:
            return sanitize(question.title)
    return "\n".join(shown)


def _arguments(arguments: Mapping[str, Json]) -> list[str]:
    """All that a tool is told. Its lines are marked, so that none passes for one of kaa's."""
    lines: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        lines += [f"{one_line(name)}:", *_quoted(text)]
    return lines


def _quoted(text: str) -> list[str]:
    shown = text[:_MAX_CHARACTERS]
    lines = [f"| {line}" for line in sanitize(shown).split("\n")] if text else []
    left = len(text) - len(shown)
    return [*lines, f"… {left} more characters are not shown: deny this unless you know them"] if left else lines


def _meaning(field: Field) -> str:
    options = field.options if isinstance(field, ChoiceField | ChoicesField) else ()
    values = f"one of {', '.join(option.value for option in options)}" if options else ""
    return "; ".join(filter(None, [field.title, field.description, values]))


def _prefill(fields: Sequence[Field]) -> str:
    """A JSON object to edit: the defaults, and null for what has none. A null is left out of the answer."""
    values = {field.name: None for field in fields} | defaults(fields)
    return msgspec.json.format(msgspec.json.encode(values)).decode()


def _filled(text: str) -> Filled:
    try:
        values = msgspec.json.decode(text, type=dict[str, Json])
    except msgspec.DecodeError as error:
        raise UnfitAnswerError(f"invalid form: {error}; use a JSON object with the fields") from error
    return Filled({name: value for name, value in values.items() if value is not None})


def labelled_answers(question: AnyQuestion, *, lasting: bool) -> Mapping[str, Answer]:
    """Return the answers of a question that is a list to choose from, by their labels.

    Args:
        lasting: also those that hold for later sessions.
    """
    return {
        label: answer
        for label, answer in _labelled(question).items()
        if not outlasts_leaving(question, answer) and (lasting or not outlasts_session(answer))
    }


def _labelled(question: AnyQuestion) -> Mapping[str, Answer]:
    match question:
        case Approval(stepping=True):
            return {
                "Run, with this permission for the session" if question.lasting else "Run": AllowOnce(),
                **({"Run, and the next ones without waiting (auto)": AllowByAuto()} if question.auto else {}),
                "Skip": Deny(),
                "Stop the run": Abort(),
            }
        case Approval(suggestion=suggestion):
            session = "Allow for this session" if question.lasting else "Allow this exact call for the session"
            broader: dict[str, Answer] = {session: AllowForSession()}
            if suggestion is not None:
                rules = "; ".join(map(one_line, suggestion.splitlines()))
                wide = question.broader_rule
                broader = {
                    f"Allow for the session: {rules}": AllowForSession(suggestion),
                    **({} if wide is None else {f"Allow for the session: {wide}": AllowForSession(wide)}),
                    f"Allow always, in all projects: {rules}": AllowAlways(suggestion),
                }
            if question.directories:
                broader["Allow always, in this project"] = AllowInProject()
            if question.auto:
                broader["Allow, and do not ask again in the sandbox (auto)"] = AllowByAuto()
            return {
                **({} if question.lasting else {"Allow once": AllowOnce()}),
                **broader,
                **({"I made this: put it back": PutBack()} if question.writes_files else {}),
                "Deny": Deny(),
                "Deny and stop": Abort(),
            }
        case Trust(is_trusted=True):
            return {
                "Keep trusting it": Dismissed(),
                "Revoke trust, ask again": TrustDecision("forget"),
                "Revoke trust, do not ask again": TrustDecision("no"),
            }
        case Trust(manifests=manifests):
            answers: dict[str, Answer] = {
                "Do not trust it this time": Dismissed(),
                "Do not trust it, do not ask again": TrustDecision("no"),
                "Trust it this time": TrustDecision("yes"),
                "Trust it until it changes": TrustDecision("stored"),
            }
            if manifests:
                both = "Trust it until it changes, permit the package registries for the session"
                answers[both] = TrustDecision("stored", registries=True)
            return answers
        case Choice(options=options):
            return {option: Chosen(option) for option in options}
        case _:
            return {}


def _answer(question: AnyQuestion, response: DialogResponse, *, lasting: bool) -> Answer:
    if response.answer is not None:
        if outlasts_leaving(question, response.answer):
            raise UnfitAnswerError("invalid answer: a call may leave the sandbox once only: use allowOnce or deny")
        if not lasting and outlasts_session(response.answer):
            raise UnfitAnswerError("invalid answer: use allowForSession, or start kaa with --person-answers")
        if not lasting and exceeds_offer(question, response.answer):
            raise UnfitAnswerError(
                "invalid rules: use those that the question suggests, or start kaa with --person-answers"
            )
        return response.answer
    if response.cancelled:
        return Dismissed()
    match question, response:
        case Confirmation(), DialogResponse(confirmed=bool(confirmed)):
            return Confirmed(confirmed)
        case OpenUrl(), DialogResponse(confirmed=bool(confirmed)):
            return Confirmed(yes=True) if confirmed else Declined()
        case Form(), DialogResponse(value=str(value)):
            return _filled(value)
        case ((TextInput() | Editing()), DialogResponse(value=str(value))):
            return Entered(value)
        case ((Approval() | Trust() | Choice()), DialogResponse(value=str(value))):
            options = labelled_answers(question, lasting=lasting)
            if value not in options:
                raise UnfitAnswerError(f"invalid option {value!r}: use one of {list(options)}")
            return options[value]
        case _:
            raise UnfitAnswerError("an answer needs value, confirmed, cancelled or answer, as the question asks for")
