"""`kaa lab` as a person runs it: tasks, a scripted model, results that stay, and tasks that are hostile."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kaa.frontends.lab.results import Attempt, Results
from tests.end_to_end.kaa_process import Kaa
from tests.frontends.lab.files import write_task
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import WRONG_KEY, Answer, Fault, ModelServer, ScriptItem, call, say
from tests.support.patience import HANG_SECONDS

SOLVING = (call("bash", command="touch done"), say("Done."))
IDLE = (say("I would rather not."),)


class Lab:
    """The command with a folder of tasks and a model."""

    def __init__(self, kaa: Kaa, model: ModelServer) -> None:
        self.kaa = kaa
        self.model = model
        self.tasks = kaa.project / "tasks"
        self.tasks.mkdir()
        self.out = kaa.project / "out"

    def arguments(self, *more: str, confined: bool = False) -> tuple[str, ...]:
        """Confine only where a test is about that: it doubles the cost of a run."""
        unconfined = () if confined else ("--unconfined",)
        return ("lab", "run", "--tasks", "tasks", "--out", "out", "--jobs", "1", *unconfined, *more)

    def run(self, script: list[ScriptItem], *more: str, code: int = 0, confined: bool = False) -> str:
        """Run with a model that follows a script. Returns what was printed on both streams."""
        self.model.begin(script)
        done = self.kaa.run(*self.arguments(*more, confined=confined))
        assert done.code == code, done.err
        return done.out + done.err

    def check(self, *more: str, code: int = 0) -> str:
        done = self.kaa.run("lab", "check", "--tasks", "tasks", *more)
        assert done.code == code, done.err
        return done.out + done.err

    @property
    def attempts(self) -> list[Attempt]:
        return Results(self.out).attempts()


@pytest.fixture
def lab(kaa: Kaa) -> Iterator[Lab]:
    with ModelServer() as model:
        kaa.use(model, "openai-completions", cost={"input": 1.0, "output": 2.0, "cacheRead": 0, "cacheWrite": 0})
        yield Lab(kaa, model)


def test_tasks_are_run_with_each_variant_and_compared(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    write_task(lab.tasks, "two")

    said = lab.run([*SOLVING, *IDLE, *SOLVING, *SOLVING], "--variant", "bare", "--variant", 'b={"steeringMode": "all"}')

    assert [(one.key.task, one.key.variant, one.outcome, one.turns) for one in lab.attempts] == [
        ("one", "bare", "solved", 2),
        ("one", "b", "unsolved", 1),
        ("two", "bare", "solved", 2),
        ("two", "b", "solved", 2),
    ]
    first = lab.attempts[0]
    assert (first.model, first.reason, first.tool_calls, first.input, first.output) == (
        *("test/test-model", "done"),
        *(1, 200, 20),
    )
    assert first.cost == pytest.approx(0.00024)
    assert "[4/4] b two #1: solved, 2 turns" in said
    assert "bare        2  100% (34-100)" in said
    trace = lab.out / "traces" / "bare" / "one" / "1"
    assert b'"agent_end"' in (trace / "events.jsonl").read_bytes()
    (session,) = trace.glob("*_*.jsonl")
    assert msgspec.json.decode(session.read_bytes().splitlines()[0])["type"] == "session"
    assert (trace / "check.txt").read_text().startswith("reward 1\n")
    assert "-50 points" in lab.kaa.run("lab", "compare", "out").out
    assert "+50 points" in lab.kaa.run("lab", "compare", "out:b", "out:bare").out
    assert "1/1 in 2" in lab.kaa.run("lab", "show", "out", "--by-task").out


def test_the_agent_gets_the_instruction_and_sees_neither_check_nor_solution(lab: Lab) -> None:
    write_task(lab.tasks, "one", solution="# the secret way\ntouch done\n")
    look = call("bash", command=f"ls; cat {lab.tasks}/one/solution/solve.sh; ls ..; echo HOME=$HOME; cat ~/.x")
    (Path(lab.kaa.environ["HOME"]) / ".x").write_text("of the user")

    lab.run([look, say("Done.")], confined=True)

    first, second = lab.model.requests
    assert first.json["messages"][-1] == {"role": "user", "content": "Create the file done."}
    seen = second.json["messages"][-1]["content"]
    assert seen.startswith("readme.txt\n")
    assert "secret" not in seen
    assert "of the user" not in seen
    assert "tests" not in seen.splitlines()


def test_it_goes_on_after_it_was_stopped(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    write_task(lab.tasks, "two")
    stall = Answer(text=("wait", "for", "ever"), fault=Fault("stall"))
    lab.model.begin([*SOLVING, stall])

    with lab.kaa.running(*lab.arguments()) as process:
        lab.model.wait_until_stalled()
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_SECONDS) == 128 + signal.SIGTERM

    assert [one.key.task for one in lab.attempts] == ["one"]
    shown = lab.kaa.run("lab", "show", "out")
    assert "1 of 2 runs are missing" in shown.err
    said = lab.run([*SOLVING])
    assert "1 runs are there already, 1 are missing" in said
    assert [(one.key.task, one.outcome) for one in lab.attempts] == [("one", "solved"), ("two", "solved")]
    assert list(Path(lab.kaa.environ.get("TMPDIR", "/tmp")).glob(f"kaa-lab-{process.pid}-*")) == []


def test_a_model_that_never_answers_is_given_up(lab: Lab) -> None:
    write_task(lab.tasks, "one", config="agent.timeout_sec = 0.5\n")

    lab.run([Answer(text=("wait", "for", "ever"), fault=Fault("stall"))])

    (attempt,) = lab.attempts
    assert attempt.outcome == "unsolved"
    assert attempt.reason in ("budget", "killed")  # on a busy machine kaa may not have started in time


def test_without_a_model_nothing_counts(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    (lab.kaa.home / "models.json").unlink()

    said = lab.run([], "--model", "test/test-model", code=1)

    assert "kaa could not run" in said
    assert [one.outcome for one in lab.attempts] == ["failed"]


def test_a_wrong_key_ends_the_lab_and_is_no_result(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    write_task(lab.tasks, "two")

    said = lab.run([WRONG_KEY], code=1)

    assert "kaa could not run" in said
    assert "1/1" not in said
    lab.run([*SOLVING, *SOLVING])
    assert [one.outcome for one in lab.attempts] == ["solved", "solved"]


def test_a_broken_task_stops_it_before_anything_is_run(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    (write_task(lab.tasks, "two") / "tests" / "test.sh").unlink()

    assert "two: it has no check" in lab.run([], code=1)

    assert not lab.out.exists()
    assert "one" in lab.kaa.run("lab", "list", "--tasks", "tasks").out


def test_a_task_that_needs_a_missing_program_is_skipped_with_the_reason(lab: Lab) -> None:
    write_task(lab.tasks, "one")
    write_task(lab.tasks, "two", config='metadata.needs = ["kaa-no-such-program"]\n')

    assert "two is skipped: it needs kaa-no-such-program" in lab.run([*SOLVING])

    assert [one.key.task for one in lab.attempts] == ["one"]
    assert "skipped  two: needs kaa-no-such-program" in lab.check()


class TestChecks:
    """What `kaa lab check` says of tasks."""

    def test_each_finding_has_its_reason(self, lab: Lab) -> None:
        sound: dict[str, str] = {}
        rewards = 'echo "{\\"a\\": 1, \\"b\\": $b}" >"$LAB_VERIFIER_DIR/reward.json"'
        in_part = f"if [ -e done ]; then b=1; else b=0.5; fi; {rewards}\n"
        to_nothing = {"check": 'ln -s /etc/passwd "$LAB_VERIFIER_DIR/reward.txt"\n'}
        endless = {"check": "sleep 1000\n", "config": "verifier.timeout_sec = 0.1\n"}
        endless_solution = {"solution": "sleep 1000\n", "config": "agent.timeout_sec = 0.1\n"}
        findings = {
            "sound": (sound, ""),
            "a-part-is-not-enough": ({"check": in_part}, ""),
            "passes": (
                {"check": 'echo 1 >"$LAB_VERIFIER_DIR/reward.txt"\n'},
                "its check passes before anything is done",
            ),
            "no-reward": ({"check": "exit 0\n"}, "the check wrote no reward.txt in $LAB_VERIFIER_DIR (exit code 0)"),
            "no-number": ({"check": 'echo nan >"$LAB_VERIFIER_DIR/reward.txt"\n'}, "reward.txt has no number"),
            "too-large": ({"check": 'echo 1e999 >"$LAB_VERIFIER_DIR/reward.json"\n'}, "reward.json has no number"),
            "link": (to_nothing, "the check wrote no reward.txt"),
            "failing": ({"solution": "echo oops >&2; exit 3\n"}, "its solution fails: exit code 3: oops"),
            "wrong": ({"solution": "true\n"}, "its check fails with the solution: reward 0"),
            "endless": (endless, "did not end within 0.1 s"),
            "endless-solution": (endless_solution, "it did not end in time"),
            "unprepared": (sound, "setup.sh failed: no compiler"),
        }
        for name, (parts, _) in findings.items():
            write_task(lab.tasks, name, **parts)
        (lab.tasks / "unprepared" / "environment" / "setup.sh").write_text("echo no compiler; exit 1")

        lines = {line.split()[1].rstrip(":"): line for line in lab.check("--unconfined", code=1).splitlines()}

        assert lines.keys() == findings.keys()
        for name, (_, reason) in findings.items():
            assert lines[name].startswith("bad" if reason else "ok"), lines[name]
            assert reason in lines[name]

    def test_a_project_is_prepared_by_its_script(self, lab: Lab) -> None:
        folder = write_task(lab.tasks, "one", check="[ -e Dockerfile ] || [ -e setup.sh ] || . ./made\n")
        (folder / "environment" / "setup.sh").write_text("""
            echo 'if [ -e done ]; then r=1; else r=0; fi; echo $r >"$LAB_VERIFIER_DIR/reward.txt"' >made
        """)

        assert "ok       one" in lab.check()

    def test_a_solution_cannot_leave_its_folder(self, lab: Lab) -> None:
        with folder_elsewhere() as folder:
            victim = folder / "victim"
            victim.write_text("mine")
            write_task(lab.tasks, "one", solution=f"echo theirs >{victim}; touch {folder}/new; touch done\n")

            lab.check(code=0)

            assert victim.read_text() == "mine"
            assert list(folder.iterdir()) == [victim]

    def test_what_it_leaves_running_is_ended(self, lab: Lab) -> None:
        marker = f"1000.{id(lab)}"
        write_task(lab.tasks, "one", solution=f"(setsid sleep {marker} >/dev/null 2>&1 &) ; touch done\n")

        assert "ok       one" in lab.check()

        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, encoding="utf-8", check=True).stdout
        assert f"sleep {marker}" not in running
