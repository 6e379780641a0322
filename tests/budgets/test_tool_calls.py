"""What the second and later calls of each tool cost in a running `kaa -p`, counted: the same on every machine.

Lower the budget in the change that makes a call cheaper. Where a call becomes more expensive, say in the change why.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.support.budget import Budget
from tests.support.counted_run import CountedRun, Work
from tests.support.model_server import MODEL_ID, Answer, Call, ModelServer, say

# programs: started, in the sandbox or not. messages: to the hands, but for those that order slots and stop commands.
# flushes: of files to disk, but for the session. entries: of the session. hooks: calls of hooks and observers of
# extensions. contexts: objects made for them. bytes: in files outside the project, give or take some words of a result
# and the digest of a file, which is not kept while its time stamp is fresh.
_BUDGET = Budget.parse(
    """
                 programs  messages  flushes  entries  hooks  contexts  session bytes  checkpoint bytes  other bytes
    read                .         2        .        2     16        18           3900                 .            .
    write               .        12        1        3     16        18           1050               500            .
    edit Python         .        14        1        3     16        18           1500              3350            .
    edit JSON           .        14        1        3     16        18           1550              1400            .
    bash                1         6        .        2     16        18            850                 .            .
    """,
    # On a busy machine two questions of one edit may go in one message.
    slack={"messages": 1, "session bytes": 100, "checkpoint bytes": 100},
)


def _edit(path: str, old: str, new: str) -> tuple[str, dict[str, Json]]:
    return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}


# Three calls each. They differ, since kaa notices a model that repeats itself, but not in length.
_CALLS: dict[str, list[tuple[str, dict[str, Json]]]] = {
    "read": [("read", {"path": f"file_{n}.py"}) for n in range(3)],
    "write": [("write", {"path": "notes.txt", "content": f"note {n}\n"}) for n in range(3)],
    "edit Python": [_edit("module.py", f"value + {n}\n", f"{n} + value\n") for n in range(20, 23)],
    "edit JSON": [_edit("data.json", f'"key_{n}": 1', f'"key_{n}": 2') for n in range(20, 23)],
    "bash": [("bash", {"command": f"echo {n}"}) for n in range(3)],
}
_WAITING_SECONDS = 1.2


class Measured(NamedTuple):
    """What one run did.

    Attributes:
        calls: the work of each call, by kind.
        wake_ups: in a second in which the last reply was waited for.
    """

    calls: dict[str, list[Work]]
    wake_ups: float


@pytest.fixture(scope="module")
def measured(make_kaa: Callable[[], Kaa]) -> Measured:
    """A conversation with all the calls, one after another."""
    kaa = make_kaa()
    flat = [call for calls in _CALLS.values() for call in calls]
    script = [
        Answer(calls=(Call(name, msgspec.json.encode(arguments).decode(), id=f"call_{number:02}"),))
        for number, (name, arguments) in enumerate(flat)
    ]
    with ModelServer([*script, say("Done.")], holds=True) as server:
        kaa.use(server, "anthropic-messages")
        with CountedRun(kaa, server, "--model", f"test/{MODEL_ID}", "-p", "Work.") as run:
            run.work_until_next_request()
            works: dict[str, list[Work]] = {}
            for kind, calls in _CALLS.items():
                for _ in calls:
                    server.answer_held()
                    works.setdefault(kind, []).append(run.work_until_next_request())
            wake_ups = run.activity.wake_ups(_WAITING_SECONDS)
            server.answer_held()
            assert run.end() == 0
        assert '"is_error":true' not in server.requests[-1].body.decode()
    return Measured(works, wake_ups)


def test_a_call_costs_what_the_budget_says(measured: Measured) -> None:
    for number in (1, 2):
        counts = {kind: works[number].counts for kind, works in measured.calls.items()}
        details = {kind: works[number].details for kind, works in measured.calls.items()}

        violations = _BUDGET.violations(counts, details)

        assert not violations, f"call {number + 1} of its kind\n{violations}"


def test_what_depends_on_time_has_a_limit(measured: Measured) -> None:
    for work in (work for works in measured.calls.values() for work in works[1:]):
        # A program gets a slot that is ready; another one is made ready if it does not end within milliseconds.
        assert work.timed["slots"] <= work.counts["programs"]
        # A program whose output has ended is stopped, unless it ends as fast.
        assert work.timed["stops"] <= 2 * work.counts["programs"]
        # What comes within 50 ms is flushed at once.
        assert 1 <= work.timed["session flushes"] <= work.counts["entries"]


def test_nothing_wakes_while_the_model_thinks_about_results(measured: Measured) -> None:
    assert measured.wake_ups == 0
