"""Agents in the background: their reports come when they end, whatever the conversation does meanwhile."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from kaa.builtin.agents.running import Job, report_of, run_agent
from kaa.components.agent_definition import ModelRole
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.agents import AgentError
from kaa.ext.api import ToolContext
from kaa.ext.errors import CommandError

_MOST_TASK_CHARACTERS = 100
# After these, nobody expects the model to go on by itself.
_QUIET = ("aborted", "budget")


class _Begun:
    """An agent that has begun, or waits for a place."""

    def __init__(self, job: Job) -> None:
        self.name = job.resume or job.definition.name
        self.task = " ".join(job.task.split())[:_MOST_TASK_CHARACTERS]
        self._is_known = False

    def learn(self, shown: str) -> None:
        """What is shown first is the id of the agent."""
        if not self._is_known:
            self.name, self._is_known = shown.strip(), True


def run_beside(job: Job, models: Mapping[ModelRole, str], context: ToolContext) -> ToolResult:
    """Have an agent work in the background.

    Args:
        models: the user's, by what they are for.

    Raises:
        CommandError: the conversation is not open.
    """
    begun = _Begun(job)
    context.run_beside(partial(_work, job, models, context.apart(begun.learn), begun))
    return text_result(
        f"The agent {job.definition.name} works in the background. Its report comes as a message when it ends; do not"
        " wait for it."
    )


async def _work(job: Job, models: Mapping[ModelRole, str], context: ToolContext, begun: _Begun) -> None:
    starts_run = True
    try:
        result = await run_agent(job, models, context)
        text = report_of(result)
        how = "has stopped at its limit in" if result.reason == "budget" else "has finished"
    except ToolError as error:
        how, text = "did not finish", str(error)
        cause = error.__cause__
        reason = cause.result.reason if isinstance(cause, AgentError) and cause.result is not None else ""
        starts_run = reason not in _QUIET
    except asyncio.CancelledError:
        # The conversation ends. Whoever goes on with it should not wait for the report.
        with suppress(CommandError):
            context.session.add_message(
                f"[agent {begun.name}] It was stopped, because kaa ended. This name continues it. Task: {begun.task}"
            )
        raise
    context.show.notice(f"Agent {begun.name} {how}: {begun.task}. /agents {begun.name} shows its work.")
    message = f"[agent {begun.name}] It {how} its task: {begun.task}\n\n{text}"
    if starts_run:
        with suppress(CommandError):  # too many messages without a word of the user's: this one waits for that
            context.send(message)
            return
    context.session.add_message(message)
