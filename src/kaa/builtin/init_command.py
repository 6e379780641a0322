"""/init: the model proposes a short AGENTS.md.

Generated instruction files make agents worse and dearer where they repeat what the code says, so the file is to hold
only what cannot be read from it, and the user sees it before it is written.
"""

from kaa.ext.api import CommandAction, CommandContext, Submit

_NAMES = ("AGENTS.md", "CLAUDE.md")
_MAX_LINES = 40

_TASK = f"""\
{{aim}} It tells coding agents what they cannot learn from the project's files in a minute. Each line costs tokens in \
every session, and a line that only repeats the code makes agents worse.

Worth a line:
- the commands to build, to test (all, and one test), to lint and to format. Find them (README, Makefile, package \
files, CI), run each that is quick and harmless, and keep only those that worked; say which you could not run;
- conventions and traps that would surprise: generated files, a required order, services that tests need, what must \
not be changed.

Not worth a line: what the project is, its folders, its dependencies, advice that holds everywhere, and whatever a \
linter enforces. At most {_MAX_LINES} lines, better 10 to 20; plain Markdown, no introduction.

{{end}}"""
_NEW = "Write AGENTS.md for this project."
_IMPROVED = "Improve {name} of this project."
_SHOW = (
    "Then show the whole text in your answer, with one line on how you verified the commands, and ask whether to write"
    " it. Do not write the file before the user agrees."
)
_PROPOSE = (
    "Keep what its author wrote unless it is wrong or repeats the code. Then show your proposal as a diff in your"
    " answer, with the reason for each change, and ask whether to apply it. Do not change the file before the user"
    " agrees."
)


async def initialize(arguments: str, context: CommandContext) -> CommandAction:
    """Run /init."""
    name = await _existing(context)
    aim, end = (_NEW, _SHOW) if name is None else (_IMPROVED.format(name=name), _PROPOSE)
    text = _TASK.format(aim=aim, end=end)
    wishes = arguments.strip()
    return Submit(f"{text}\n\nThe user adds: {wishes}" if wishes else text)


async def _existing(context: CommandContext) -> str | None:
    for name in _NAMES:
        try:
            info = await context.workspace.stat(name)
        except OSError:
            continue
        if info is not None and info.kind != "directory" and info.size:
            return name
    return None
