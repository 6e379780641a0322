import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kaa.hands.confinement.canaries import Canaries
from kaa.hands.confinement.establishing import establish
from kaa.hands.confinement.selftest import self_test
from kaa.hands.policy import Mode, Policy, Tier
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import HandsProgram


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    for name in ("project", "kaa/tmp", "kaa/cache"):
        (tmp_path / name).mkdir(parents=True)
    writable, temporary, cache = (str(tmp_path / name) for name in ("project", "kaa/tmp", "kaa/cache"))
    return Policy("landlock", "workspace-write", (writable,), temporary, cache)


def test_nothing_is_left(policy: Policy, tmp_path: Path) -> None:
    with Canaries.prepare(policy) as canaries:
        assert Path(canaries.outside).parent == tmp_path / "kaa"
        assert canaries.untouched()
        (Path(canaries.outside) / "written").touch()
        assert not canaries.untouched()

    assert sorted(os.listdir(tmp_path / "kaa")) == ["cache", "tmp"]


def test_nothing_is_left_when_the_hands_are_killed(policy: Policy, tmp_path: Path) -> None:
    script = (
        "import time\n"
        "from kaa.hands.confinement.canaries import Canaries; from kaa.hands.policy import Policy\n"
        f"with Canaries.prepare({policy!r}) as canaries:\n"
        "    print('ready', flush=True); time.sleep(1000)\n"
    )
    with HandsProgram(Path("script"), code=script, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(os.listdir(tmp_path / "kaa")) == 3
        process.send_signal(signal.SIGKILL)

    deadline = time.monotonic() + HANG_SECONDS
    while len(os.listdir(tmp_path / "kaa")) > 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_canaries_stay_out_of_writable_directories(policy: Policy, tmp_path: Path) -> None:
    with Canaries.prepare(policy._replace(writable=(str(tmp_path / "kaa"),))) as canaries:
        assert not canaries.outside.startswith(str(tmp_path / "kaa"))


@pytest.mark.parametrize(("tier", "mode"), [("none", "workspace-write"), ("full", "full-access")])
def test_without_walls_there_is_nothing_to_test(policy: Policy, tier: Tier, mode: Mode) -> None:
    open_policy = policy._replace(tier=tier, mode=mode)

    with Canaries.prepare(open_policy) as canaries:
        confinement = establish(open_policy, "/home/me")
        tested = self_test(confinement, open_policy, canaries)

    assert tested == ([], None)
    assert confinement.namespaces() == ()
    assert confinement.proxy_listener() is None
