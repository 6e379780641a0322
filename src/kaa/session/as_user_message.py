"""What is neither said by the user nor by the model, put into words as a user message for the model."""

import re
from typing import get_args

from kaa.core.messages import ExtensionNote, Origin, UserContent, UserMessage
from kaa.session.entries import BashExecution, BranchSummary, Compaction, CustomMessage
from kaa.session.naming import unix_milliseconds

_BACKTICKS = re.compile("`{3,}")
# How much space is looked through is limited, so that searching costs what is long.
_SUMMARY_END = re.compile(r"<(?=\s{0,8}/\s{0,8}summary\b)", re.IGNORECASE)


# The type of entries for messages that are not the person's own: this and the origin, such as `kaa.hook`. To pi they
# are messages of an extension.
_OWN_TYPE = "kaa."
_BUILT_IN = "builtin."  # other extensions have no dot in their names
_HASH = re.compile(r"\A([^:]*)@[0-9a-f]{12}(?=:|\Z)")
_ORIGINS: frozenset[Origin] = frozenset(get_args(Origin))


def custom_type_of(origin: Origin) -> str:
    """The type of the entry for a message of this origin."""
    return f"{_OWN_TYPE}{origin}"


def is_of_kaa(custom_type: str) -> bool:
    """Whether kaa itself wrote a message of this type, for the model to read."""
    return custom_type.startswith(_OWN_TYPE) and ":" not in custom_type  # extensions of its own name other kinds


def origin_of(custom_type: str) -> Origin:
    """Who wrote a `custom_message` of this type: never the person, whose words are messages."""
    origin = custom_type.removeprefix(_OWN_TYPE)
    if origin in (custom_type, "person"):
        return "extension"
    return origin if origin in _ORIGINS else "extension"


def type_of(extension: str, kind: str = "") -> str:
    """The type of an extension's entries: its name, which has no dot and no colon, and its own name for the kind."""
    return f"{extension}:{kind}" if kind else extension


def label_of(custom_type: str) -> str:
    """What users read of a type: without the hash that tells extensions of equal name apart (`ExtensionId.key`).

    Of an extension of kaa's own, it is what that calls the kind.
    """
    label = _HASH.sub(r"\1", custom_type.removeprefix(_OWN_TYPE))
    if not label.startswith(_BUILT_IN):
        return label
    name, _, kind = label.removeprefix(_BUILT_IN).partition(":")
    return kind or name


def custom_entry(message: UserMessage) -> CustomMessage:
    """The entry for a message that is not the person's own."""
    note = message.note
    if note is None:
        return CustomMessage(custom_type=custom_type_of(message.origin), content=message.content, display=True)
    return CustomMessage(
        custom_type=type_of(note.extension, note.kind),
        content=message.content,
        display=note.display,
        details=note.details,
    )


def custom_message(entry: CustomMessage) -> UserMessage:
    """The message of such an entry."""
    extension, _, kind = entry.custom_type.partition(":")
    note = ExtensionNote(extension, kind, entry.display, entry.details)
    return UserMessage(
        entry.content,
        unix_milliseconds(entry.timestamp),
        origin_of(entry.custom_type),
        None if is_of_kaa(entry.custom_type) else note,
    )


def note_message(content: tuple[UserContent, ...] | str, timestamp: str) -> UserMessage:
    """A message of kaa's own."""
    return UserMessage(content, unix_milliseconds(timestamp), "extension")


def compaction_message(compaction: Compaction) -> UserMessage:
    """The summary that stands for the conversation so far."""
    preface = (
        "The conversation before this point was condensed. This summary of it was written by a program; of it, only "
        "what is in <user-messages> was said by the user:"
    )
    return _summary_message(preface, compaction.summary, compaction.timestamp)


def branch_summary_message(branch: BranchSummary) -> UserMessage:
    """The summary of a branch that was left."""
    preface = (
        "Another line of work was tried from here and then left. This summary of it was written by a program, not by "
        "the user:"
    )
    return _summary_message(preface, branch.summary, branch.timestamp)


def command_message(execution: BashExecution) -> UserMessage:
    """A command the user ran himself, with its output and how it ended."""
    output = execution.output.rstrip("\n")
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(output)), default=2))
    parts = [f"I ran this command myself: `{execution.command}`"]
    parts.append(f"{fence}\n{output}\n{fence}" if output else "It printed nothing.")
    if execution.cancelled:
        parts.append("I stopped it before it was done.")
    elif execution.exit_code:
        parts.append(f"Its exit code was {execution.exit_code}.")
    if execution.truncated:
        whole = f" All of it is in {execution.full_output_path}." if execution.full_output_path else ""
        parts.append(f"The output is shortened.{whole}")
    return UserMessage("\n".join(parts), execution.timestamp)


def _summary_message(preface: str, summary: str, timestamp: str) -> UserMessage:
    inside = _SUMMARY_END.sub(r"<\\", summary)  # nothing in it may end it before its end
    return note_message(f"{preface}\n<summary>\n{inside}\n</summary>", timestamp)
