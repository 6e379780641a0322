import socket
from pathlib import Path
from typing import Any

import pytest

from kaa.hands.confinement.layout import Layout
from kaa.hands.confinement.view import Kind, SlotView, host_sockets, is_replaced, open_sockets, plan
from kaa.hands.policy import Policy

_POLICY = Policy("full", "workspace-write", temporary="/var/lib/kaa-tmp")


def planned(sockets: tuple[str, ...] = (), **parts: Any) -> SlotView:
    layout = Layout((), (), (), ())._replace(**parts)
    return plan(_POLICY, layout, list(sockets))


def kinds(view: SlotView, *targets: str) -> list[str | None]:
    found = {step.target: step.kind for step in view.steps}
    return [found.get(target) for target in targets]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Outside of what is replaced, as far as the plan can tell; the paths of plans need not exist."""
    return f"/home{tmp_path}"


def test_system_directories_are_replaced() -> None:
    assert kinds(planned(), "/tmp", "/dev", "/dev/shm") == ["temporary", "devices", "shared memory"]


def test_parents_come_before_their_children(place: str) -> None:
    view = planned(writable=(f"{place}/a/b", place), protected=(f"{place}/a/b/.git",), hidden=(f"{place}/a",))

    order = [step.target for step in view.steps]
    assert (
        order.index(place) < order.index(f"{place}/a") < order.index(f"{place}/a/b") < order.index(f"{place}/a/b/.git")
    )


def test_nothing_is_done_where_it_changes_nothing(place: str) -> None:
    view = planned(
        writable=(f"{place}/project",),
        protected=(f"{place}/elsewhere/.git",),
        hidden=("/tmp/secret", "/dev/secret"),
        readable=(f"{place}/code", f"{place}/project/code", "/tmp/code"),
    )

    assert kinds(view, f"{place}/elsewhere/.git", "/tmp/secret", "/dev/secret") == [None] * 3
    assert kinds(view, f"{place}/code", f"{place}/project/code", "/tmp/code") == [None, None, "readable"]


def test_project_below_tmp_is_put_into_the_new_one() -> None:
    view = planned(writable=("/tmp/project",), hidden=("/tmp/project/.env",), protected=("/tmp/project/.git",))

    wanted = ["writable", "hidden file", "protected"]
    assert kinds(view, "/tmp/project", "/tmp/project/.env", "/tmp/project/.git") == wanted


def test_exception_below_something_hidden_comes_back(tmp_path: Path) -> None:
    hidden = Path(f"/usr/{tmp_path.name}")
    view = plan(_POLICY, Layout((), (), ("/usr",), (str(hidden), "/opt")), [])

    steps = {step.target: step for step in view.steps}
    assert steps["/usr"].kind == "hidden directory"
    assert steps["/usr"].has_more
    assert steps[str(hidden)].kind == "readable"
    assert "/opt" not in steps


def test_what_holds_something_protected_is_pinned(place: str) -> None:
    view = planned(
        sockets=(f"{place}/x/y/daemon.sock",),
        writable=(place,),
        protected=(f"{place}/.vscode", f"{place}/a/b/.git"),
        hidden=(f"{place}/c/.env", "/home/other/d/secret"),
    )

    assert set(view.pins) == {f"{place}/{pinned}" for pinned in ("a", "a/b", "c", "x", "x/y")}


def test_sockets_of_the_host_are_found(tmp_path: Path) -> None:
    path = tmp_path / "with blank.sock"
    with open_sockets() as table, socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        assert str(path.resolve()) in host_sockets(table)

        path.unlink()
        assert str(path.resolve()) not in host_sockets(table)


@pytest.mark.parametrize(
    ("path", "replaced"),
    [
        ("/tmp/daemon", True),
        ("/tmp/project/daemon", False),
        ("/home/daemon", False),
        ("/dev/shm/daemon", True),
        ("/home/.ssh", False),
        ("/home/.ssh/agent", True),
    ],
)
def test_what_is_replaced_is_not_the_hosts(path: str, replaced: bool) -> None:
    kinds: dict[str, Kind] = {"/tmp": "temporary", "/tmp/project": "writable", "/dev": "devices"}
    kinds["/home/.ssh"] = "hidden directory"

    assert is_replaced(path, kinds) == replaced


def test_nothing_of_the_host_covers_a_copy(place: str, tmp_path: Path) -> None:
    """Projects in a directory that is writable too, exceptions from what is hidden, and entries of the home."""
    copy, home = tmp_path / "copy", f"{place}/home"
    for name in ("project", "shown", "home/entry"):
        (copy / name).mkdir(parents=True)
    policy = _POLICY._replace(replaced=((place, str(copy)),))
    below = (f"{place}/project", f"{place}/shown", home, f"{home}/entry")
    layout = Layout((place, below[0]), (), (), (below[1],), carved={home: (below[3],)})

    view = plan(policy, layout, [])

    assert kinds(view, place, *below) == ["copy", None, None, None, None]


def test_a_copy_shows_as_it_is_only_what_has_a_place_in_it(place: str, tmp_path: Path) -> None:
    copy, live, new = tmp_path / "copy", f"{place}/live", f"{place}/.vscode"
    (copy / "live").mkdir(parents=True)
    policy = _POLICY._replace(replaced=((place, str(copy)), (live, live)))
    layout = Layout((place,), (new, f"{live}/.git"), (), ())

    view = plan(policy, layout, [])

    assert kinds(view, place, live, f"{live}/.git", new) == ["copy", "writable", "protected", None]
    assert {step.target: step.source for step in view.steps}[place] == str(copy)
