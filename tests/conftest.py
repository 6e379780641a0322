"""What holds for all tests: what confines commands here, and no property test fails because the machine was busy."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from kaa.host import known_projects, paths, programs
from kaa.workspace import places
from tests.end_to_end.kaa_process import Kaa
from tests.support.warm_start import warm_runs

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Each run draws other examples, so that few are enough. After a change to what a property test tests, run it with
# `--hypothesis-profile=thorough`.
settings.register_profile("each run", _UNTIMED, max_examples=25)
settings.register_profile("thorough", _UNTIMED, max_examples=1000)
settings.load_profile("each run")


def pytest_configure() -> None:
    """Make `python3` the interpreter of the tests: a launcher in its place, such as pyenv's, takes ten times longer."""
    own = Path(sys.base_prefix, "bin")
    directories = os.environ["PATH"].split(os.pathsep)
    if directories[0] != str(own) and (own / "python3").exists():
        os.environ["PATH"] = os.pathsep.join([str(own), *directories])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: they are 700,000 objects and no garbage, a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the collected tests out of later garbage collections: 0.4 s each time. These come as seldom as in kaa."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """In a worker, report a test that passed once: usually it is five messages, half a millisecond for both processes.

    Only with options that ask for more does anybody read when it began and what prepared it.
    """
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.verbose > 0 or options.durations or options.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> None:
    """Programs that tests start can be interrupted, even if `nohup` or a script's `&` has this process ignore signals.

    They inherit what is ignored; what is handled here, they get as the default.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def warm(default_signals: None) -> Iterator[None]:
    """Runs of kaa start in a process that has loaded it."""
    with warm_runs():
        yield


@pytest.fixture(scope="session")
def noted_projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have kaa note projects of tests here instead of in the home of the person who runs them.

    It recognizes projects by their inodes, which other tests get again. And what hides the places of all projects from
    a program took 3 ms for each: each run of all tests left a hundred, so that one command for a key took 12 s.
    """
    home = os.path.expanduser("~")
    theirs, own = paths.list_of_projects(os.environ, home), tmp_path_factory.mktemp("noted") / "projects"
    their_caches = {paths.cache_directory(os.environ, home, ""), paths.cache_directory({}, home, "")}

    def listed(environ: Mapping[str, str], home: str) -> str:
        chosen = paths.list_of_projects(environ, home)
        return str(own) if chosen == theirs else chosen

    def cached(environ: Mapping[str, str], home: str, root: str) -> str:
        chosen = paths.cache_directory(environ, home, root)
        return str(own.with_name("kaa")) if chosen in their_caches else chosen

    with pytest.MonkeyPatch.context() as patch:
        for module in (known_projects, places):
            patch.setattr(module, "list_of_projects", listed)
            patch.setattr(module, "cache_directory", cached)
        yield own


@pytest.fixture(autouse=True)
def writable_places(noted_projects: Path) -> Iterator[None]:
    """What commands of a test could write is forgotten: kaa compares paths with all places that its process knows."""
    before = dict(programs._written)
    caches = noted_projects.with_name("kaa") / "caches"
    known = set(os.listdir(caches)) if caches.exists() else set()  # of fixtures that several tests share
    yield
    for name in set(os.listdir(caches)) - known if caches.exists() else ():
        shutil.rmtree(caches / name, ignore_errors=True)
    for file in (noted_projects, Path(paths.list_of_added(str(noted_projects)))):
        file.unlink(missing_ok=True)
    programs._written.clear()
    programs._written.update(before)


@pytest.fixture(scope="session")
def tier(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What confines commands on this machine."""
    report = Kaa(tmp_path_factory.mktemp("doctor")).run("doctor", "--json")
    return str(msgspec.json.decode(report.out)["tier"])


@pytest.fixture
def mounts(tier: str) -> None:
    """Needs namespaces: without them there is no loopback, `.git` can be written, and kaa warns of all that."""
    if tier not in ("full", "bwrap"):
        pytest.skip(f"tier {tier} has no namespaces")


@pytest.fixture
def confined(tier: str) -> None:
    """Needs any sandbox: without one, kaa runs and writes nothing unasked."""
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
