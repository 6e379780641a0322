"""Questions to the person and their answers, as data that JSON can carry.

One union for everything kaa asks: a frontend shows each kind of question in its own way, and a remote client answers
with the same JSON. Each question names the type of its answer; `Dismissed` answers every question.
"""

from typing import ClassVar, Final, Generic, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from kaa.core.forms import Field, FieldError, checked
from kaa.core.messages import Json
from kaa.ext.choices import TrustAnswer
from kaa.ext.escalations import OUTSIDE, Escalation, EscalationKind
from kaa.ext.tools import Risk, ToolServer

AnswerT = TypeVar("AnswerT")

# Hosts are not among them: what is there is not the user's machine.
_OF_THE_MACHINE: frozenset[EscalationKind] = frozenset(
    {"outside", "directory", "read", "whole network", "socket", "port", "file"}
)


class UnfitAnswerError(ValueError):
    """An answer belongs to another kind of question."""


class _Answer(msgspec.Struct, tag_field="kind", rename="camel", frozen=True):
    """Base of all answers."""


class Dismissed(_Answer, tag="dismissed", frozen=True):
    """The person closed the question without an answer."""


class AllowOnce(_Answer, tag="allowOnce", frozen=True):
    """Yes, this time."""


class AllowForSession(_Answer, tag="allowForSession", frozen=True):
    """Yes, and whatever these rules allow until the session ends. None: calls with exactly these arguments."""

    rules: str | None = None


class AllowAlways(_Answer, tag="allowAlways", frozen=True):
    """Yes, and whatever these rules allow from now on; one rule on each line, as the person left them."""

    rules: str


class AllowInProject(_Answer, tag="allowInProject", frozen=True):
    """Yes, and from now on in this project: the user's settings keep the directories of the question."""


class AllowByAuto(_Answer, tag="allowByAuto", frozen=True):
    """Yes, and ask no more about what the sandbox confines: the mode of the session becomes `auto`."""


class PutBack(_Answer, tag="putBack", frozen=True):
    """The files of the question are the person's own: kaa puts them back, and the model is not told."""


class Deny(_Answer, tag="deny", frozen=True):
    """No. `reason`: the person's words for the model."""

    reason: str = ""


class Abort(_Answer, tag="abort", frozen=True):
    """No, and stop the whole run."""


ApprovalAnswer: TypeAlias = (
    AllowOnce | AllowForSession | AllowAlways | AllowInProject | AllowByAuto | PutBack | Deny | Abort
)


class Confirmed(_Answer, tag="confirmed", frozen=True):
    """Yes or no."""

    yes: bool


class Chosen(_Answer, tag="chosen", frozen=True):
    """One of the options of a `Choice`."""

    option: str


class Entered(_Answer, tag="entered", frozen=True):
    """The text of a `TextInput` or of an `Editing`."""

    text: str


class Filled(_Answer, tag="filled", frozen=True):
    """The values of a `Form`, by the names of its fields."""

    values: dict[str, Json]


class Declined(_Answer, tag="declined", frozen=True):
    """The person refuses to fill in a `Form` or to open an address: a decision, where `Dismissed` is none."""


class TrustDecision(_Answer, tag="trustDecision", frozen=True):
    """What the person decided about the project. `no` and `stored` are kept; `yes` holds for this run.

    Attributes:
        registries: commands may reach the package registries until kaa ends, too; only if that was offered.
    """

    choice: TrustAnswer
    registries: bool = False


Answer: TypeAlias = ApprovalAnswer | Confirmed | Chosen | Entered | Filled | Declined | TrustDecision | Dismissed


class _Asked(msgspec.Struct, kw_only=True, frozen=True):
    """Who asks. The asker of a conversation sets both; see `kaa.ext.asking.AttributingAsker`."""

    conversation: str | None = None
    agent: str | None = None


class Question(_Asked, Generic[AnswerT], tag_field="kind", rename="camel", frozen=True):
    """Base of all questions; `AnswerT` is the type of the answer.

    Attributes:
        title: the question, in one line.
        conversation: the id of the conversation that it belongs to; None if it is about the process.
        agent: the id of the agent that asks, if a tool runs it; None for the conversation's own.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = ()

    title: str

    def fit(self, answer: Answer) -> "AnswerT | Dismissed":
        """The answer, if it answers this question.

        Raises:
            UnfitAnswerError: it belongs to another kind of question, or is not among the options.
        """
        if isinstance(answer, Dismissed):
            return answer
        if not isinstance(answer, self.answers):
            expected = ", ".join([*map(_tag, self.answers), _tag(Dismissed)])
            raise UnfitAnswerError(f"invalid answer {_tag(type(answer))!r}: use {expected}")
        return cast("AnswerT", answer)


def _tag(kind: type[_Answer]) -> str:
    return str(kind.__struct_config__.tag)


# The rule that a question about an edit suggests.
ALL_EDITS: Final = "write: **"


class JudgedPart(msgspec.Struct, rename="camel", frozen=True):
    """A simple command of a call, and why no rule allows it; None where one does."""

    text: str
    reason: str | None


class Approval(Question[ApprovalAnswer], tag="approval", frozen=True):
    """Whether a tool call may run. `title`: what is to happen.

    Attributes:
        call_id: the tool call; empty for files that were moved away while none ran.
        tool: its tool.
        risk: what the tool can do at most.
        arguments: all that the tool is told.
        parts: of a command, its simple commands.
        reasons: why this is asked, whole sentences.
        warning: what would be lost or is not what it seems, None if nothing is known to be.
        escalations: what a yes changes besides letting the call run.
        was_run: the call was run and blocked; a yes runs it again from its beginning.
        lasting: every yes lasts until the session ends: what it permits is not taken back when the call ends.
        only_connects: the call may run, or runs already: this is only about connections to the hosts of `escalations`.
        suggestion: rules for the session and for "always", one on each line, to be shown and edited; None if no rule
            could allow this: then an answer for the session is one for exactly this call.
        auto: in the mode `auto`, this would not have been asked.
        stepping: each call waits for an answer (the mode `step`): it is run or skipped, and nothing is remembered.
        problem: why the answer before could not be taken.
        diff: the change to a file that exists, with line numbers; empty if it is not known.
        loses_outside: what would be lost may be outside the project.
        server: the MCP server that the call goes to; None for another call.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (
        AllowOnce,
        AllowForSession,
        AllowAlways,
        AllowInProject,
        AllowByAuto,
        PutBack,
        Deny,
        Abort,
    )

    call_id: str
    tool: str
    risk: Risk
    arguments: dict[str, Json]
    parts: tuple[JudgedPart, ...] = ()
    reasons: tuple[str, ...] = ()
    warning: str | None = None
    escalations: tuple[Escalation, ...] = ()
    was_run: bool = False
    lasting: bool = False
    only_connects: bool = False
    suggestion: str | None = None
    auto: bool = False
    stepping: bool = False
    problem: str | None = None
    diff: str = ""
    loses_outside: bool = False
    server: ToolServer | None = None

    def fit(self, answer: Answer) -> ApprovalAnswer | Dismissed:
        """See `Question.fit`."""
        fitting = super().fit(answer)
        if isinstance(fitting, PutBack) and not self.writes_files:
            raise UnfitAnswerError("invalid answer 'putBack': the question is not about files that were moved away")
        return fitting

    @property
    def further_reasons(self) -> tuple[str, ...]:
        """The reasons that the warning does not say already."""
        warned = frozenset((self.warning or "").split("; "))
        return tuple(reason for reason in self.reasons if reason.removeprefix("it ") not in warned)

    @property
    def only_permits(self) -> bool:
        """Whether nothing would run: the model asks for the permissions themselves."""
        return self.tool == "request_permission" and self.lasting and bool(self.escalations)

    @property
    def is_of_call(self) -> bool:
        """Whether a tool call waits for the answer."""
        return bool(self.call_id)

    @property
    def opens_machine(self) -> bool:
        """Whether a yes lets later calls use more of the machine than the project."""
        return any(one.kind in _OF_THE_MACHINE for one in self.escalations)

    @property
    def leaves_sandbox(self) -> bool:
        """Whether a yes lets the call do something on this machine that no sandbox confines."""
        is_remote = self.server is not None and bool(self.server.host)
        return OUTSIDE in self.escalations or self.writes_files or (self.risk == "outside" and not is_remote)

    @property
    def writes_files(self) -> bool:
        """Whether a yes has kaa write the files of `arguments`, which a command made and the guard moved away."""
        return any(one.kind == "file" for one in self.escalations)

    @property
    def broader_rule(self) -> str | None:
        """The rule for all tools of the server of the call; None if there is none, or no rule could allow the call."""
        rule = self.server.rule if self.server is not None and self.suggestion is not None else ""
        return rule if rule and self.tool.startswith(rule.removesuffix("*")) else None

    @property
    def directories(self) -> tuple[str, ...]:
        """What `AllowInProject` lets commands write; empty if a yes permits anything else, too."""
        if any(one.kind != "directory" for one in self.escalations):
            return ()
        return tuple(one.what for one in self.escalations)

    def _all(self, kind: EscalationKind) -> tuple[str, ...]:
        return tuple(one.what for one in self.escalations if one.kind == kind)

    @property
    def permits(self) -> tuple[str, ...]:
        """What a yes changes, in sentences; one for all hosts, and one for all files."""
        lifts = [one.text for one in self.escalations if one.kind not in ("network", "file")]
        told: tuple[str, ...] = ()
        if hosts := self._all("network"):
            from kaa.workspace.network import registries  # lazy: few questions are about hosts

            named = registries.as_asked(hosts)
            lifts.append(Escalation("network", ", ".join(named)).text)
            told = (registries.meaning(),) if registries.ALL in named else ()
        lifts += [one.text for one in self.escalations if one.kind == "file"][:1]
        return (*(f"A yes {one}." for one in lifts), *told)


class Confirmation(Question[Confirmed], tag="confirmation", frozen=True):
    """Whether something is to be done.

    Attributes:
        details: what the answer depends on, in lines.
        only_person: a yes lets code of others run, or trusts it; a program that drives kaa cannot say it.
        diff: a unified diff that the answer depends on, too; shown below the details.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (Confirmed,)

    details: str = ""
    only_person: bool = False
    diff: str = ""


class Choice(Question[Chosen], tag="choice", frozen=True):
    """Which of the options.

    Attributes:
        options: the options.
        details: what the answer depends on, in lines.
        descriptions: what each option means, in the order of the options; empty if there is nothing to say.
        current: the option in force.
        requested: the person has just asked for this list, so it may open at once.
        only_person: a choice spends what is the person's; a program that drives kaa cannot make it.
        diff: a unified diff that the answer depends on, too; shown below the details.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (Chosen,)

    options: tuple[str, ...]
    details: str = ""
    descriptions: tuple[str, ...] = ()
    current: str | None = None
    requested: bool = False
    only_person: bool = False
    diff: str = ""

    def fit(self, answer: Answer) -> Chosen | Dismissed:
        """See `Question.fit`."""
        fitting = super().fit(answer)
        if isinstance(fitting, Chosen) and fitting.option not in self.options:
            raise UnfitAnswerError(f"invalid option {fitting.option!r}: use {', '.join(self.options)}")
        return fitting


class TextInput(Question[Entered], tag="text", frozen=True):
    """A line of text. `placeholder`: shown while nothing is entered."""

    answers: ClassVar[tuple[type[_Answer], ...]] = (Entered,)

    placeholder: str = ""


class Editing(Question[Entered], tag="editor", frozen=True):
    """A text of several lines.

    Attributes:
        text: what the person begins with.
        own_editor: the person asked to edit it: a terminal opens the editor that they have chosen, if there is one.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (Entered,)

    text: str = ""
    own_editor: bool = False


class Form(Question[Filled | Declined], tag="form", frozen=True):
    """Values for some fields at once.

    Attributes:
        message: why they are asked for, in lines; may come from anywhere.
        fields: what is asked for; their names differ.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (Filled, Declined)

    fields: tuple[Field, ...]
    message: str = ""

    def fit(self, answer: Answer) -> Filled | Declined | Dismissed:
        """See `Question.fit`."""
        fitting = super().fit(answer)
        if not isinstance(fitting, Filled):
            return fitting
        try:
            return Filled(checked(self.fields, fitting.values))
        except FieldError as error:
            raise UnfitAnswerError(f"invalid value: {error}") from error


class OpenUrl(Question[Confirmed | Declined], tag="openUrl", frozen=True):
    """Whether the person opens an address in a browser. The frontend opens it after a yes, and never before.

    Attributes:
        url: the address, `https:` or `http:`; it goes to the browser exactly as it is.
        message: why, in lines; may come from anywhere.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (Confirmed, Declined)

    url: str
    message: str = ""

    @property
    def host(self) -> str:
        """The host that the browser would contact; as the browser sees it, without a user name."""
        return urlsplit(self.url).hostname or ""

    @property
    def warning(self) -> str:
        """Why the host may look like another one; empty if it does not."""
        if not self.host.isascii() or "xn--" in self.host:
            return f"the host {self.host} has letters of other alphabets, which can look like those of a host you know"
        if "@" in urlsplit(self.url).netloc:
            return f"the text before the @ is a user name: the host is {self.host}"
        return ""


class TrustText(msgspec.Struct, rename="camel", frozen=True):
    """A file with instructions, as it would be trusted. `is_cut`: the file is longer, the rest is not used."""

    path: str
    text: str
    is_cut: bool = False


class Trust(Question[TrustDecision], tag="trust", frozen=True):
    """Whether a project may configure and instruct kaa.

    Names and texts are the project's: for a terminal they have to be sanitized.

    Attributes:
        root: the project's directory.
        uses: which configuration would be used, a line for each purpose with its files.
        was_trusted: the person trusted an earlier version; the next four say what changed since.
        diff: unified diffs.
        texts: the instructions.
        is_trusted: the person trusts all of it as it is; the question is whether to end that.
        status: what was decided before, in a sentence; only where the person asks for it.
        servers: the MCP servers that the answer `stored` approves, too, each in lines.
        manifests: files of package managers; if there are some, the answer can permit the package registries.
    """

    answers: ClassVar[tuple[type[_Answer], ...]] = (TrustDecision,)

    root: str
    uses: tuple[str, ...] = ()
    was_trusted: bool = False
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    diff: str = ""
    texts: tuple[TrustText, ...] = ()
    is_trusted: bool = False
    status: str = ""
    servers: tuple[tuple[str, ...], ...] = ()
    manifests: tuple[str, ...] = ()


AnyQuestion: TypeAlias = Approval | Confirmation | Choice | TextInput | Editing | Form | OpenUrl | Trust
