"""What an erring model knows of a task: a plausible edit that is wrong, one that is right, and how to tell."""

from pathlib import Path
from typing import NamedTuple

TASKS = Path(__file__).parent / "tasks"


class Playbook(NamedTuple):
    """A task as an erring model sees it.

    Attributes:
        file: that is wrong.
        old: what is to be replaced in it.
        wrong: what a hurried model puts there: it loads, and fails a test.
        broken: what a careless model puts there: it does not even load.
        test: the command of the project's tests.
    """

    task: str
    file: str
    old: str
    wrong: str
    broken: str
    test: str

    @property
    def right(self) -> str:
        """The whole file as the reference solution has it."""
        return (TASKS / self.task / "solution" / self.file).read_text("utf-8")

    @property
    def instruction(self) -> str:
        """By which the task is recognized."""
        return (TASKS / self.task / "instruction.md").read_text("utf-8").strip()


PLAYBOOKS = (
    Playbook(
        "py-median",
        "stats.py",
        "    values.sort()\n    return values[len(values) // 2]\n",
        "    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n",
        "    ordered = sorted(values)\n    if len(ordered) % 2 == 0\n        return sum(ordered) / 2\n"
        "    return ordered[len(ordered) // 2]\n",
        "python3 test_stats.py",
    ),
    Playbook(
        "py-cache-expiry",
        "cache.py",
        "        if self._clock() - written > self._ttl:",
        "        if self._clock() - written >= self._ttl:",
        "        if self._clock() - written >= self._ttl):",
        "python3 test_cache.py",
    ),
    Playbook(
        "js-deep-merge",
        "merge.js",
        "      for (const inner in b[key]) {\n        result[key][inner] = b[key][inner];\n      }\n",
        "      result[key] = Object.assign({}, result[key], b[key]);\n",
        "      result[key] = merge(result[key], b[key];\n",
        "node test.js",
    ),
    Playbook(
        "c-ring-buffer",
        "ring.c",
        "    if (index > ring_count(ring))\n        return -1;\n",
        "    if (index >= ring_count(ring))\n        return -1;\n",
        "    if (index >= ring_count(ring)\n        return -1;\n",
        "make test",
    ),
)
