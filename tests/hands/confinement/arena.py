"""A project with secrets around it, and `probe.py` to try things on it from inside a slot."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kaa
from kaa.hands.policy import Policy, Tier
from tests.support.elsewhere import in_memory
from tests.support.warm_start import HandsProgram

_PROBE = Path(__file__).with_name("probe.py")
_PARENT_OF_KAA = Path(kaa.__file__).parent.parent
_ORDINARY_USER = 54321  # when root plays an ordinary user; nobody has this id
_REPLACED = (Path("/tmp"), Path("/var/tmp"), Path("/run"), Path("/dev"))

Attempt = tuple[Any, ...]


class Report(msgspec.Struct, frozen=True):
    """What the probe says."""

    refused: str = ""
    changed: str = ""
    features: dict[str, str] = {}
    warnings: list[str] = []
    checks: list[tuple[str, bool, str]] = []
    outcomes: list[str] = []

    @property
    def failed_checks(self) -> list[tuple[str, bool, str]]:
        return [check for check in self.checks if not check[1]]


class Arena:
    """Where things are tried, and as whom.

    Attributes:
        base: holds all others; not below /tmp, which slots see differently.
        user: id to take on before anything is confined; None for whoever runs the tests.
    """

    def __init__(self, base: Path, user: int | None) -> None:
        self.base = base
        self.user = user
        self.project = base / "project"
        self.home = base / "home"
        self.outside = base / "outside"
        self.temporary = base / "kaa" / "tmp"
        self.cache = base / "kaa" / "cache"
        self.secret = self.home / ".ssh" / "id"
        for directory in (self.project, self.secret.parent, self.outside, self.temporary, self.cache):
            directory.mkdir(parents=True)
        self.secret.write_text("secret key")
        (self.outside / "file").write_text("outside")
        (self.project / "file").write_text("inside")

    @property
    def ordinary(self) -> bool:
        """Whether this is not root."""
        return self.user is not None or os.geteuid() != 0

    def policy(self, tier: Tier, **changes: Any) -> Policy:
        """The usual policy, but for some changes."""
        usual = Policy(
            tier=tier,
            mode="workspace-write",
            writable=(str(self.project),),
            temporary=str(self.temporary),
            cache=str(self.cache),
            hidden=(str(self.home / ".ssh"),),
        )
        return usual._replace(**changes)

    def probe(
        self,
        policy: Policy,
        *attempts: Attempt,
        missing: dict[str, str] | None = None,
        mask_proc: bool = False,
        join: tuple[int, ...] = (),
        late: dict[str, str] | None = None,
        wrapper: tuple[str, ...] = (),
        mounts: Sequence[tuple[str, str]] = (),
    ) -> Report:
        """Establish a policy and try things in a slot.

        Args:
            policy: to establish.
            attempts: names of the probe's actions with their arguments.
            missing: system calls that fail, with the names of the errors.
            mask_proc: whether /proc has masks as in a container.
            join: descriptors of namespaces to join.
            late: files, with their content, and sockets, without, that appear when the slot has enclosed itself.
            wrapper: program that starts the probe.
            mounts: what it must have mounted.
        """
        self._give_away()
        user = self.user if wrapper else None  # the wrapper, too, must be the user's
        order = self.order(
            policy,
            *attempts,
            missing=missing,
            mask_proc=mask_proc,
            join=join,
            late=late,
            user_changed=bool(user),
            mounts=mounts,
        )
        if wrapper:
            return self._wrapped(wrapper, user, order)
        pipe = subprocess.PIPE
        parent = str(_PARENT_OF_KAA)
        with HandsProgram(_PROBE, parent, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=join) as process:
            out, errors = process.communicate(order)
        assert process.returncode == 0, errors.decode()
        return msgspec.json.decode(out, type=Report)

    def _wrapped(self, wrapper: Sequence[str], user: int | None, order: bytes) -> Report:
        interpreter = sys.executable if user is None else _interpreter_for_everybody()
        # Beside the project: in bubblewrap's view there may be nothing else of where these tests are.
        probe = shutil.copy(_PROBE, self.base)
        command = [*wrapper, interpreter, "-I", "-S", str(probe), str(_PARENT_OF_KAA)]
        groups: list[int] | None = None if user is None else []
        done = subprocess.run(
            command,
            input=order,
            capture_output=True,
            check=False,
            env={},
            user=user,
            group=user,
            extra_groups=groups,
        )
        if done.stderr.startswith(b"bwrap: "):
            return Report(refused=done.stderr.decode().strip())
        assert done.returncode == 0, done.stderr.decode()
        return msgspec.json.decode(done.stdout, type=Report)

    def order(
        self,
        policy: Policy,
        *attempts: Attempt,
        missing: dict[str, str] | None = None,
        mask_proc: bool = False,
        join: tuple[int, ...] = (),
        late: dict[str, str] | None = None,
        lend: int | None = None,
        user_changed: bool = False,
        mounts: Sequence[tuple[str, str]] = (),
    ) -> bytes:
        """What the probe is told."""
        fields = {
            "policy": policy._asdict(),
            "home": str(self.home),
            "user": None if user_changed else self.user,
            "missing": missing or {},
            "mask_proc": mask_proc,
            "join": join,
            "mounts": mounts,
            "late": late or {},
            "lend": lend,
            "attempts": attempts,
        }
        return json.dumps(fields).encode()

    @contextmanager
    def lending(self, policy: Policy, *attempts: Attempt, lend: int) -> Iterator["subprocess.Popen[bytes]"]:
        """A probe that lends its namespaces and stays until the other end of `lend` is closed."""
        self._give_away()
        pipe = subprocess.PIPE
        with HandsProgram(_PROBE, str(_PARENT_OF_KAA), stdin=pipe, stdout=pipe, pass_fds=[lend]) as process:
            assert process.stdin is not None
            process.stdin.write(self.order(policy, *attempts, lend=lend))
            process.stdin.close()
            try:
                yield process
            finally:
                process.kill()

    def _give_away(self) -> None:
        """To whom the probe will be."""
        if self.user is not None:
            for directory, _, names in os.walk(self.base):
                for path in (directory, *(os.path.join(directory, name) for name in names)):
                    os.chown(path, self.user, self.user, follow_symlinks=False)


@contextmanager
def arena(as_root: bool) -> Iterator[Arena]:
    """An arena for root or an ordinary user; only root can be both."""
    user = _ORDINARY_USER if os.geteuid() == 0 and not as_root else None
    base = Path(tempfile.mkdtemp(prefix="kaa-test-", dir=_place()))
    try:
        base.chmod(0o755)
        yield Arena(base, user)
    finally:
        shutil.rmtree(base)


def _interpreter_for_everybody() -> str:
    """One that ordinary users can start although the tests' own belongs to root."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        if not os.path.exists(path) or not _reachable_by_all(Path(path)):
            continue
        version = subprocess.run(
            [path, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=False
        )
        if version.stdout == b"True\n" and _reachable_by_all(_PROBE) and _reachable_by_all(_PARENT_OF_KAA):
            return path
    pytest.skip("there is no Python 3.11 here that ordinary users can start")


def _reachable_by_all(path: Path) -> bool:
    return all(way.stat().st_mode & 0o001 for way in path.resolve().parents)


def _place() -> Path | None:
    """A directory that everybody can reach and that slots see as it is."""
    for place in (*in_memory(), Path.home(), Path("/var/lib"), Path("/opt"), Path.cwd()):
        replaced = any(place.is_relative_to(other) for other in _REPLACED)
        if not replaced and os.access(place, os.W_OK) and _reachable_by_all(place / "x"):
            return place
    return None
