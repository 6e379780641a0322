"""Scratches: copies of a commit with environments of their own, in which sources are changed and tests run."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scripts.mutants import probes
from scripts.mutants.listed import Mutant
from scripts.mutants.reach import ReachMap, Visit

REPOSITORY = Path(__file__).parents[2]
_PLUGIN = "kaa_mutants_plugin"  # its name where the tests run
_PACKAGE = "src/kaa/__init__.py"
_PYTEST_NO_TESTS = 5
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 as all_tests.sh does, for tests that create and sync many files


class ScratchError(Exception):
    """A scratch cannot be made or used; the message says why."""


class Outcome(msgspec.Struct, frozen=True):
    """How a run of tests ended.

    Attributes:
        failed: the tests or files that failed; if the time was up, the test that ran then.
        timed_out: the run took longer than its limit.
    """

    failed: tuple[str, ...] = ()
    timed_out: bool = False


class Scratch:
    """A worktree of a commit with its own environment, which runs the sources there."""

    def __init__(self, folder: Path, revision: str) -> None:
        self.folder = folder
        self.revision = revision
        (packages,) = (folder / ".venv").glob("lib/python*/site-packages")
        self._plugin = packages / f"{_PLUGIN}.py"
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "MAKE"))
        }

    @classmethod
    @contextmanager
    def made(cls, revision: str) -> "Iterator[Scratch]":
        """Make a scratch of a commit, and remove it at the end.

        Raises:
            ScratchError: git or the installation fails.
        """
        commit = commit_of(revision)
        place = REPOSITORY / ".mutants"
        place.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=place))
        folder.chmod(0o755)  # tests run kaa as other users
        try:
            _checked(["git", "worktree", "add", "--quiet", "--detach", str(folder), commit], REPOSITORY)
            _checked(["make", "--silent", "setup"], folder)
            yield cls(folder, commit)
        finally:
            _end_programs(folder)
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=REPOSITORY, check=False)
            shutil.rmtree(folder, ignore_errors=True)

    def reach(self, mutants: Sequence[Mutant], tests: Sequence[str] = ()) -> ReachMap:
        """Run tests with probes at the lines of mutants, with two workers.

        Args:
            mutants: whose lines matter.
            tests: files; all if there are none.

        Raises:
            MutantError: a mutant does not fit the sources.
            ScratchError: no test ran.
        """
        counted = self.folder / ".venv" / "reached"
        shutil.rmtree(counted, ignore_errors=True)
        counted.mkdir()
        self._order({"folder": str(counted), "count": len(mutants)})
        numbered: dict[str, dict[int, Mutant]] = {}
        for number, mutant in enumerate(mutants):
            numbered.setdefault(mutant.file, {})[number] = mutant
        try:
            for name, of_file in numbered.items():
                self._write(name, probes.instrument(self._text(name), of_file))
            self._write(_PACKAGE, self._text(_PACKAGE) + probes.runtime(str(counted), len(mutants)))
            subprocess.run(
                ["scripts/all_tests.sh", ".venv/bin/python", "-p", _PLUGIN, *tests],
                cwd=self.folder,
                env=self._environment,
                check=False,  # tests that fail are noted, and kill no mutant
            )
        finally:
            for name in (*numbered, _PACKAGE):
                self._restore(name)
        noted = [json.loads(line) for path in counted.glob("tests-*") for line in path.read_text("utf-8").splitlines()]
        if not noted:
            raise ScratchError("no test ran with probes: what pytest prints above says why")
        names = tuple(mutant.name for mutant in mutants)
        visits = {
            note["test"]: Visit(note["seconds"], note["outcome"], tuple(names[number] for number in note["reached"]))
            for note in noted
        }
        return ReachMap(self.revision, names, visits)

    def run(self, mutant: Mutant | None, tests: Sequence[str], limit_seconds: float) -> Outcome:
        """Run tests, on the sources as they are or with a mutant in them, up to the first failure.

        Args:
            mutant: the fault, if any.
            tests: their ids.
            limit_seconds: after this time the run is ended.

        Raises:
            MutantError: the mutant does not fit the sources.
            ScratchError: without a mutant, pytest ends with an error of its own.
        """
        if mutant is None:
            return self._run(tests, limit_seconds)
        try:
            self._write(mutant.file, mutant.apply(self._text(mutant.file)))
            return self._run(tests, limit_seconds)
        except ScratchError:
            return Outcome((tests[0],))  # nothing could begin, for example because conftest.py cannot be imported
        finally:
            self._restore(mutant.file)

    def failing(self, tests: Sequence[str], limit_seconds: float) -> tuple[str, ...]:
        """Return the tests that fail without a mutant.

        Raises:
            ScratchError: they take too long, or pytest ends with an error of its own.
        """
        outcome = self._run(tests, limit_seconds, "--maxfail=0")
        if outcome.timed_out:
            raise ScratchError(f"{outcome.failed[0]} takes too long, without a mutant")
        return outcome.failed

    def _run(self, tests: Sequence[str], limit_seconds: float, *options: str) -> Outcome:
        notes = self._plugin.with_name("kaa_mutants_notes")
        notes.write_text("")
        self._order({"tests": list(tests), "notes": str(notes)})
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)  # examples that failed with another mutant
        code = self._pytest(tests, limit_seconds, options)
        noted = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
        if code is None:
            running = [note["test"] for note in noted if note["what"] == "begun"]
            return Outcome((running[-1] if running else tests[0],), timed_out=True)
        failed = tuple(dict.fromkeys(note["test"] for note in noted if note["what"] == "failed"))
        if code and not failed and code != _PYTEST_NO_TESTS:
            raise ScratchError(f"pytest ended with code {code} before the first test of {', '.join(tests)}")
        return Outcome(failed)

    def _pytest(self, tests: Sequence[str], limit_seconds: float, options: Sequence[str]) -> int | None:
        named = dict.fromkeys(test.partition("::")[0] for test in tests)
        files = [name for name in named if (self.folder / name).exists()]
        if not files:
            return _PYTEST_NO_TESTS
        room = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="kaa-mutants-", dir=room, ignore_cleanup_errors=True) as folder:
            process = subprocess.Popen(
                [
                    *(".venv/bin/python", "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", _PLUGIN),
                    *("-p", "no:xdist", "-p", "no:cacheprovider", "--hypothesis-seed=36"),
                    *(f"--basetemp={folder}/tests", *options, *files),
                ],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                return process.wait(limit_seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()
                process.wait()
                _end_programs(self.folder)

    def _order(self, orders: dict[str, object]) -> None:
        shutil.copyfile(Path(__file__).with_name("pytest_plugin.py"), self._plugin)
        self._plugin.with_suffix(".json").write_text(json.dumps(orders))

    def _text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")
        _forget_bytecode(self.folder / name)

    def _restore(self, name: str) -> None:
        _checked(["git", "checkout", "--quiet", "--", name], self.folder)
        _forget_bytecode(self.folder / name)


def commit_of(revision: str) -> str:
    """Return the id of a commit.

    Raises:
        ScratchError: there is none.
    """
    return _checked(["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], REPOSITORY).strip()


def changed_tests(old: str, new: str) -> list[str]:
    """Return the files of tests in a commit that are new or different from those in another one.

    Raises:
        ScratchError: git does not know one of the commits.
    """
    names = _checked(["git", "diff", "--name-only", "--diff-filter=d", old, new, "--", "tests"], REPOSITORY)
    return [name for name in names.splitlines() if Path(name).match("test_*.py")]


def _checked(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ScratchError(f"{' '.join(command)} ends with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _end_programs(folder: Path) -> None:
    """Kill what tests have left behind when they were ended or a mutant had them fail: programs of a scratch."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if os.fsencode(folder) in entry.read_bytes():
                os.kill(int(entry.parent.name), signal.SIGKILL)


def _forget_bytecode(path: Path) -> None:
    """Remove compiled code, which Python would take for that of a text of the same length and second."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()
