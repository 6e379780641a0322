"""Plans as Markdown: reads what a model or a person wrote, and marks in it how far each step is."""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

import msgspec

StepState: TypeAlias = Literal["pending", "in progress", "done", "failed"]

FORM: Final = """\
# Plan: the goal in one line

What you found and decided, and what is left out: briefly.

## 1. What the step does

How: precise enough for somebody who has not seen this conversation. Names, paths, edge cases.

- Files: `src/app.py`, `tests/test_app.py`
- Check: `pytest tests/test_app.py`
- Expect: what the check shows when the step is done\
"""
"""What a plan looks like, for models."""

MOST_STEPS: Final = 50
_MOST_CHARACTERS = 60_000
_GOAL = re.compile(r"# +(?:plan *(?::|-|\u2013|\u2014) *)?(\S.*)", re.IGNORECASE)
# As `_GOAL`, but with the word, and at any level: what is no goal there was meant as one.
_MEANT_AS_GOAL = re.compile(
    r"#{1,3} +[*_]{0,2}(?:\w+ +){0,2}plan[*_]{0,2} *(?:(?::|-|\u2013|\u2014).*)?", re.IGNORECASE
)
_MEANT_AS_TITLE = re.compile(r"#{1,4} +(?:step +)?\d+ *[.:)] *\S", re.IGNORECASE)
_TITLE = re.compile(r"## +(?:step +)?(?:\d+ *[.:)] *)?(\S.*)", re.IGNORECASE)
# The bold type may end before the colon or behind it.
_FIELD = re.compile(
    r"(?:[-*+] *)?[*_]{0,2}(files?|checks?|expect(?:ed)?|status)[*_]{0,2} *:[*_]{0,2} *(.*)", re.IGNORECASE
)
# A check without its colon; with words behind the command, it is a sentence.
_MEANT_AS_CHECK = re.compile(r"(?:[-*+] *)?[*_]{0,2}checks?[*_]{0,2} *[-=\u2013\u2014]? *`[^`]+`[.;]?", re.IGNORECASE)
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Between commands of one line; behind anything else stands what is said of them.
_MORE = re.compile(r"\s*(?:,|;|&&|\+|,? *and|,? *then)\s*(?=`)", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_STATES = get_args(StepState)
_NO_COMMAND = "its `Check:` has no command. Write `Check: none` if no command can show that it is done."


class PlanError(ValueError):
    """A text is no plan; the message has a line for each thing that is wrong."""


class Step(msgspec.Struct, frozen=True):
    """A step of a plan.

    Attributes:
        title: what it does, in a line.
        text: all of it as it was written, with its heading and without its state.
        files: what it changes: paths or globs.
        checks: commands that succeed when it is done.
    """

    title: str
    text: str
    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    state: StepState = "pending"

    def covers(self, path: str) -> bool:
        """Whether it names a file of the project; a directory covers what is in it."""
        return any(_covers(pattern, path) for pattern in self.files)


class Plan(msgspec.Struct, frozen=True):
    """A plan. `goal`: in a line. `introduction`: what comes before the first step, with the goal."""

    goal: str
    introduction: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """The plan as it was written, with the states of steps that have begun."""
        return "\n\n".join([self.introduction, *map(_with_state, self.steps)]) + "\n"

    def at(self, number: int, state: StepState) -> "Plan":
        """The plan with another state of the step of this number, which counts from 0."""
        step = msgspec.structs.replace(self.steps[number], state=state)
        return msgspec.structs.replace(self, steps=(*self.steps[:number], step, *self.steps[number + 1 :]))

    @property
    def next(self) -> int | None:
        """The number of the first step that is not done, from 0; None if all are."""
        return next((number for number, step in enumerate(self.steps) if step.state != "done"), None)

    def covers(self, path: str) -> bool:
        """Whether a step names a file of the project."""
        return any(step.covers(path) for step in self.steps)


def find(text: str) -> str:
    """The plan in a reply, without what stands before and around it; empty if there is none."""
    lines = text.strip().splitlines()
    if len(lines) > 2 and (fence := _FENCE.match(lines[0])) and lines[-1].strip().startswith(fence[1]):
        lines = lines[1:-1]  # the whole of it as a block of code
    marked, _ = _marked(lines)
    for number, (line, is_code) in enumerate(marked):
        if not is_code and _GOAL.match(line):
            if any(not code and _TITLE.match(later) for later, code in marked[number + 1 :]):
                return "\n".join(line for line, _ in marked[number:])
            return ""
    return ""


def begins_like_plan(text: str) -> bool:
    """True if the first heading of a reply is that of a plan, or of a numbered step that has a check."""
    marked, _ = _marked(text.strip().splitlines())
    lines = [line for line, is_code in marked if not is_code]
    heading = next((line for line in lines if line.startswith("#")), "")
    if _MEANT_AS_GOAL.fullmatch(heading.rstrip()):
        return True
    fields = (_FIELD.match(line.strip()) for line in lines)
    return _MEANT_AS_TITLE.match(heading) is not None and any(field and field[1][0] in "cC" for field in fields)


def parse(text: str) -> Plan:
    """Read a plan.

    Raises:
        PlanError: it is none.
    """
    if len(text) > _MOST_CHARACTERS:
        raise PlanError(f"The plan has {len(text):,} characters; at most {_MOST_CHARACTERS:,} are possible.")
    parts: list[list[tuple[str, bool]]] = [[]]
    lines, is_open = _marked(text.strip().splitlines())
    for line, is_code in lines:
        if not is_code and _TITLE.match(line):
            parts.append([])
        parts[-1].append((line, is_code))
    introduction, *steps = parts
    goal = next((found[1].strip() for line, code in introduction if not code and (found := _GOAL.match(line))), "")
    wrong = [] if goal else ["It does not begin with its goal: `# Plan: GOAL`."]
    if is_open:
        wrong.append("A block of code is not closed.")
    if not steps:
        wrong.append("It has no step: `## 1. What the step does`.")
    if len(steps) > MOST_STEPS:
        wrong.append(f"It has {len(steps)} steps; at most {MOST_STEPS} are possible.")
    read = []
    for number, step in enumerate(steps, 1):
        try:
            read.append(_step(step))
        except PlanError as error:
            wrong.append(f"Step {number}: {error}")
    if wrong:
        raise PlanError("\n".join(wrong))
    return Plan(goal, "\n".join(line for line, _ in introduction).strip(), tuple(read))


def _step(lines: Sequence[tuple[str, bool]]) -> Step:
    """A step.

    Raises:
        PlanError: one of its lines has no value, or a state that there is not.
    """
    heading = _TITLE.match(lines[0][0])
    assert heading is not None
    files: list[str] = []
    checks: list[str] = []
    state: StepState = "pending"
    kept: list[str] = []
    fenced: list[str] | None = None  # of a check whose command stands in the block below it
    for line, is_code in lines:
        field = None if is_code else _FIELD.match(line.strip())
        if field is None:
            if is_code and fenced is not None and not _FENCE.match(line):
                fenced.append(line.strip())
            elif not is_code and line.strip() and fenced is not None:
                checks += _command(fenced)
                fenced = None
            if not is_code and _MEANT_AS_CHECK.fullmatch(line.strip()):
                raise PlanError(f"{line.strip()!r} has no colon: write `- Check: …`.")
            kept.append(line)
            continue
        name, value = field[1].lower(), field[2].strip()
        if fenced is not None:
            checks += _command(fenced)
            fenced = None
        if name == "status":
            state = _state(value)
            continue
        kept.append(line)
        if name.startswith("file"):
            files += _paths(value)
        elif name.startswith("check"):
            if value:
                checks += _commands(value)
            else:
                fenced = []
    if fenced is not None:
        checks += _command(fenced)
    text = "\n".join(kept).strip()
    return Step(
        heading[1].strip(), text, tuple(files), tuple(check for check in checks if not _is_nothing(check)), state
    )


def _state(value: str) -> StepState:
    for state in _STATES:
        if value.lower().rstrip(".").replace("_", " ") == state:
            found: StepState = state
            return found
    raise PlanError(f"it has the status {value!r}: use {', '.join(_STATES)}.")


def _command(lines: Sequence[str]) -> list[str]:
    if not any(lines):
        raise PlanError(_NO_COMMAND)
    return ["\n".join(line for line in lines if line)]


def _paths(value: str) -> list[str]:
    words = re.findall(r"`([^`]+)`|([^\s,`()][^,`()]*)", value)
    names = [(quoted or bare).strip().removeprefix("./") for quoted, bare in words]
    return [name for name in names if not _is_nothing(name)]


def _is_nothing(value: str) -> bool:
    return value.strip().strip("`*_.()").lower() in ("none", "-", "n/a", "")


def _commands(value: str) -> list[str]:
    """The commands of a line, without the backticks around them, and without what is said of them behind these.

    Raises:
        PlanError: there is none, although the line does not say so, or it is not complete.
    """
    if not value.strip("`*_.() "):
        raise PlanError(_NO_COMMAND)
    if not value.startswith("`"):
        return [value]
    commands: list[str] = []
    place = 0
    while found := _SPAN.match(value, place):
        commands.append(found[2].strip())
        more = _MORE.match(value, found.end())
        if more is None:
            return commands
        place = more.end()
    raise PlanError(f"its `Check:` is not complete, because a backtick is not closed: {value}")


def _covers(pattern: str, path: str) -> bool:
    from fnmatch import fnmatchcase  # lazy: for the end of an execution

    bare = pattern.rstrip("/")
    return path == bare or path.startswith(f"{bare}/") or fnmatchcase(path, pattern)


def _with_state(step: Step) -> str:
    return step.text if step.state == "pending" else f"{step.text}\n- Status: {step.state}"


def _marked(lines: Sequence[str]) -> tuple[list[tuple[str, bool]], bool]:
    """Each line, and whether it belongs to a block of code; and whether the last block is not closed."""
    marked, fence = [], ""
    for line in lines:
        found = _FENCE.match(line)
        marked.append((line, bool(fence or found)))
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    return marked, bool(fence)
