"""What can be typed behind `/undo` and `/redo`: the same in every frontend."""

from typing import Literal, TypeAlias

from kaa.ext.errors import CommandError

Step: TypeAlias = Literal["undo", "redo"]
StepOption: TypeAlias = Literal["", "--all", "--conversation"]

STEP_OPTIONS: dict[Step, tuple[StepOption, ...]] = {
    "undo": ("--all", "--conversation"),
    "redo": ("--conversation",),
}


def step_option(step: Step, arguments: str) -> StepOption:
    """The option that was typed; empty if there is none.

    Raises:
        CommandError: something else was typed, such as a number of steps.
    """
    for option in ("", *STEP_OPTIONS[step]):
        if arguments.strip() == option:
            return option
    allowed = " and ".join(STEP_OPTIONS[step])
    raise CommandError(
        f"/{step} takes no {arguments!r}, only {allowed}: it takes one step; enter it again for the next one"
    )
