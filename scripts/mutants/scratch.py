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

REPOSITORY = Path(__file__).parents[2]
_PLUGIN = "kaa_mutants_plugin"  # its name where the tests run
_PYTEST_FAILED, _PYTEST_INTERRUPTED, _PYTEST_NO_TESTS = 1, 2, 5


class ScratchError(Exception):
    """A scratch cannot be made or used; the message says why."""


class Outcome(msgspec.Struct, frozen=True):
    """How a run of tests ended.

    Attributes:
        failed: the first test or file that failed; empty if none did.
        timed_out: the run took longer than its limit.
    """

    failed: str = ""
    timed_out: bool = False


class Scratch:
    """A worktree of a commit with its own environment, which runs the sources there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
        place = REPOSITORY / ".mutants"
        place.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=place))
        folder.chmod(0o755)  # tests run kaa as other users
        try:
            _checked(["git", "worktree", "add", "--quiet", "--detach", str(folder), revision], REPOSITORY)
            _checked(["make", "--silent", "setup"], folder)
            yield cls(folder)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=REPOSITORY, check=False)
            shutil.rmtree(folder, ignore_errors=True)

    def reach(self, mutants: Sequence[Mutant], arguments: Sequence[str]) -> Iterator[dict[str, object]]:
        """Run tests with probes at the lines of mutants, with two workers.

        Args:
            mutants: whose lines matter; a probe's number is its mutant's place.
            arguments: options of pytest and files.

        Returns:
            What the plugin notes of each test.
        """
        counted = self.folder / ".venv" / "reached"
        shutil.rmtree(counted, ignore_errors=True)
        counted.mkdir()
        self._order({"folder": str(counted), "count": len(mutants)})
        numbered: dict[str, dict[int, Mutant]] = {}
        for number, mutant in enumerate(mutants):
            numbered.setdefault(mutant.file, {})[number] = mutant
        for name, of_file in numbered.items():
            path = self.folder / name
            self._write(path, probes.instrument(path.read_text("utf-8"), of_file))
        package = self.folder / "src/kaa/__init__.py"
        self._write(package, package.read_text("utf-8") + probes.runtime(str(counted), len(mutants)))
        try:
            subprocess.run(
                ["scripts/all_tests.sh", ".venv/bin/python", "-p", _PLUGIN, *arguments],
                cwd=self.folder,
                env=self._environment,
                check=False,  # tests that fail are noted, and kill no mutant
            )
        finally:
            for name in (*numbered, "src/kaa/__init__.py"):
                self._restore(name)
        for path in sorted(counted.glob("tests-*")):
            yield from map(json.loads, path.read_text("utf-8").splitlines())

    def run(self, mutant: Mutant | None, tests: Sequence[str], limit_seconds: float) -> Outcome:
        """Run tests, on the sources as they are or with a mutant in them, up to the first failure.

        Args:
            mutant: the fault, if any.
            tests: their ids.
            limit_seconds: after this time the run is ended.

        Raises:
            ScratchError: pytest ends with an error of its own.
        """
        failures = self._plugin.with_name("failures")
        failures.unlink(missing_ok=True)
        self._order({"tests": list(tests), "failures": str(failures)})
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)  # examples that failed with another mutant
        if mutant is not None:
            path = self.folder / mutant.file
            self._write(path, mutant.apply(path.read_text("utf-8")))
        try:
            code = self._pytest(tests, limit_seconds)
        finally:
            if mutant is not None:
                self._restore(mutant.file)
        if code is None:
            return Outcome(timed_out=True)
        failed = json.loads(failures.read_text().split("\n")[0]) if failures.exists() else ""
        if failed or code in (0, _PYTEST_NO_TESTS):
            return Outcome(failed)
        raise ScratchError(f"pytest ended with code {code} and no failed test: run it in {self.folder}")

    def _pytest(self, tests: Sequence[str], limit_seconds: float) -> int | None:
        files = [name for name in dict.fromkeys(test.partition("::")[0] for test in tests)]
        files = [name for name in files if (self.folder / name).exists()]
        if not files:
            return _PYTEST_NO_TESTS
        room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="kaa-mutants-", dir=room, ignore_cleanup_errors=True) as folder:
            process = subprocess.Popen(
                [
                    *(".venv/bin/python", "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", _PLUGIN),
                    *("-p", "no:xdist", "-p", "no:cacheprovider", "--hypothesis-seed=36"),
                    *(f"--basetemp={folder}/tests", *files),
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
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _order(self, orders: dict[str, object]) -> None:
        shutil.copyfile(Path(__file__).with_name("pytest_plugin.py"), self._plugin)
        self._plugin.with_suffix(".json").write_text(json.dumps(orders))

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        _forget_bytecode(path)

    def _restore(self, name: str) -> None:
        _checked(["git", "checkout", "--quiet", "--", name], self.folder)
        _forget_bytecode(self.folder / name)


def _forget_bytecode(path: Path) -> None:
    """Remove compiled code, which Python would take for that of a text of the same length and second."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def _checked(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ScratchError(f"{' '.join(command)} ends with code {done.returncode}: {done.stderr.strip()}")
