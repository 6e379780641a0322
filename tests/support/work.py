"""How much work something is, counted and not timed: the same on every machine, busy or not."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(work: Callable[[], object]) -> int:
    """How many instructions of Python `work` takes. What C does within one of them is not seen."""
    executed = 0

    def count(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal executed
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return executed
