"""Machines that lack something: each tier says so, or holds without it, or is found out by its self-test."""

import pytest

from kaa.hands.confinement import landlock
from kaa.hands.policy import Tier
from tests.hands.confinement.arena import Arena

_needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="needs Landlock")
_NO_LANDLOCK = {"landlock_create_ruleset": "ENOSYS"}
_PRETENDS = ""  # the call does nothing and reports success


@pytest.fixture(scope="module")
def refusals() -> dict[int | None, str]:
    """Why users get no namespaces, of those that were asked for; empty if they get them."""
    return {}


@pytest.fixture(autouse=True)
def _needs_namespaces(request: pytest.FixtureRequest, refusals: dict[int | None, str]) -> None:
    for name in ("someone", "root"):
        if name in request.fixturenames:
            arena: Arena = request.getfixturevalue(name)
            if arena.user not in refusals:
                refusals[arena.user] = arena.probe(arena.policy("full")).refused
            if reason := refusals[arena.user]:
                pytest.skip(f"needs user namespaces: {reason}")


@pytest.mark.parametrize(
    "missing",
    [
        {"unshare": "EPERM"},  # most containers
        {"mount": "EACCES"},  # Ubuntu since 23.10, where AppArmor lets everybody make empty user namespaces
        {"mount_setattr": "ENOSYS"},  # before Linux 5.12
    ],
)
def test_without_namespaces_tier_full_is_refused(someone: Arena, missing: dict[str, str]) -> None:
    report = someone.probe(someone.policy("full"), missing=missing)

    assert report.refused.startswith("the kernel refused: ")


@_needs_landlock
def test_without_namespaces_tier_landlock_holds(someone: Arena) -> None:
    report = someone.probe(someone.policy("landlock"), missing={"unshare": "EPERM", "mount": "EPERM"})

    assert report.refused == ""
    assert report.failed_checks == []


def test_without_landlock_tier_full_holds(someone: Arena) -> None:
    report = someone.probe(someone.policy("full"), ("read", str(someone.secret)), missing=_NO_LANDLOCK)

    assert report.failed_checks == []
    assert report.features["landlock"] == "no"
    assert report.outcomes == ["EACCES"]


def test_without_landlock_tier_landlock_is_refused(someone: Arena) -> None:
    report = someone.probe(someone.policy("landlock"), missing=_NO_LANDLOCK)

    assert "Landlock" in report.refused


@_needs_landlock
def test_masked_proc_of_a_container_will_do_with_landlock(root: Arena) -> None:
    report = root.probe(root.policy("full"), ("read", "/proc/1/environ"), mask_proc=True)

    assert report.failed_checks == []
    assert report.outcomes == ["EACCES"]


def test_masked_proc_of_a_container_will_not_do_without(root: Arena) -> None:
    report = root.probe(root.policy("full"), missing=_NO_LANDLOCK, mask_proc=True)

    assert [name for name, _, _ in report.failed_checks] == ["a slot encloses itself"]


@pytest.mark.parametrize("tier", ["full", "landlock"])
def test_without_seccomp_no_slot_encloses_itself(someone: Arena, tier: Tier) -> None:
    report = someone.probe(someone.policy(tier), missing={"seccomp": "EINVAL"})

    assert [name for name, _, _ in report.failed_checks] == ["a slot encloses itself"]


@_needs_landlock
def test_landlock_that_does_nothing_is_found_out(someone: Arena) -> None:
    report = someone.probe(someone.policy("landlock"), missing={"landlock_restrict_self": _PRETENDS})

    broken = {name for name, _, _ in report.failed_checks}
    assert {"outside is read-only", "secrets are unreadable"} <= broken


def test_filter_that_does_nothing_is_found_out(someone: Arena) -> None:
    report = someone.probe(someone.policy("full"), missing={"seccomp": _PRETENDS})

    assert [name for name, _, _ in report.failed_checks] == ["system calls are filtered"]


def test_mounts_that_are_not_read_only_are_found_out(someone: Arena) -> None:
    report = someone.probe(someone.policy("full"), missing={"mount_setattr": _PRETENDS, **_NO_LANDLOCK})

    assert "outside is read-only" in {name for name, _, _ in report.failed_checks}
