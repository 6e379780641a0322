"""Tells a model that wrote code into its reply, and changed nothing, that the task asked for a change."""

import re
from typing import Final

from kaa.builtin.completion_check import Proof
from kaa.builtin.completion_check.ending import task_of
from kaa.core.hooks import Continue
from kaa.ext.api import ConversationContext

_REMINDER: Final = """\
Your reply has code, but you changed no file. If the task asks for a change, make it by calling tools \
({tools}), and check it. If it does not, say so in one sentence.\
"""
_CHANGING: Final = ("edit", "write", "apply_patch", "bash")
# A block in a language, or in JSON, as calls of tools are written. Output and the like is no code.
_BLOCK: Final = re.compile(r"^ {0,3}```[ \t]*(?!text|txt|console|output|log|plain|markdown|md\b)[A-Za-z]", re.MULTILINE)
_VERBS: Final = (
    "add|adapt|build|change|complete|convert|correct|create|delete|edit|extend|finish|fix|generate|implement|improve|"
    "insert|make|migrate|modify|move|optimi[sz]e|port|refactor|remove|rename|repair|replace|rewrite|set up|solve|"
    "translate|update|write"
)
_ASKS_FOR_CHANGE: Final = re.compile(rf"\b(?:{_VERBS})\b", re.IGNORECASE)
_ASKS_POLITELY: Final = re.compile(
    rf"(?:please |can you |could you |would you |will you )+(?:{_VERBS})\b", re.IGNORECASE
)
_ASKS_FOR_WORDS: Final = re.compile(
    r"(?:(?:please|can you|could you|would you|will you) )*"
    r"(?:how|what|why|which|who|when|where|is|are|do|does|did|should|can|could|would|explain|show|describe|tell|give|"
    r"suggest|propose|summari[sz]e|compare|review|list)\b",
    re.IGNORECASE,
)


def remind(reply: str, proof: Proof, context: ConversationContext) -> Continue | None:
    """Keep a run from ending, once for each message of the user.

    Args:
        reply: the last words of the model, of a run that changed nothing.
        proof: of the run.
        context: of the conversation.
    """
    tools = [name for name in _CHANGING if name in context.active_tools]
    if proof.reminded or context.features.completion_check in ("light", "off") or not tools:
        return None
    if _BLOCK.search(reply) is None or not asks_for_change(task_of(context)):
        return None
    proof.reminded = True
    context.show.notice("The model wrote code into its reply and changed nothing: kaa reminds it once.")
    return Continue(_REMINDER.format(tools=", ".join(tools)))


def asks_for_change(task: str) -> bool:
    """Whether a message, in English, asks for a change and not for words."""
    if _ASKS_POLITELY.match(task):
        return True
    return _ASKS_FOR_WORDS.match(task) is None and not task.endswith("?") and _ASKS_FOR_CHANGE.search(task) is not None
