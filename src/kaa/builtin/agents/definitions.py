"""kaa's own agents."""

from typing import Final

from kaa.builtin.agents import BUILT_IN
from kaa.components.agent_definition import AgentDefinition, ModelChoice

_EXPLORE = """\
You search a project for another agent. You can read and run commands that change nothing; everything is read-only.
Search broadly first (`rg`, `git grep`, `git log`, file names), then read only what answers the question. Do not \
guess: name what you did not find. Answer briefly with paths and line numbers (`src/app.py:12`), and quote only \
decisive lines.
"""
_REVIEW = """\
You review changes in a project for another agent. Everything is read-only. If the task names no change, look at \
`git status` and `git diff HEAD`. Read the changed functions, their callers and their tests. Report a problem only if \
the change causes it, you can name the input or situation in which it fails, and the author would fix it. Verify each \
finding in the code. Leave out style, taste, praise and summaries. Answer with the findings, the most severe first, \
each with `path:line`, what fails and how to fix it; or with "No findings" and what you checked.
"""

DEFINITIONS: Final = {
    one.name: one
    for one in (
        AgentDefinition(
            "explore", BUILT_IN["explore"], _EXPLORE, "kaa", model=ModelChoice("small"), permission="read-only"
        ),
        AgentDefinition("general", BUILT_IN["general"], "", "kaa"),
        AgentDefinition("review", BUILT_IN["review"], _REVIEW, "kaa", permission="read-only"),
    )
}
"""By name. Their prompts replace kaa's; `general` has that of the conversation."""
