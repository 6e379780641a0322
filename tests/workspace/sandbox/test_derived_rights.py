"""What an agent may do is never more than what its conversation may do, however it was started and whatever changes.

An agent has the workspace of its conversation, a narrowed one, or one over a copy of the project; so have agents of
agents. The kernel's part is tested in `tests/workspace/test_narrowed.py` and `tests/shell/worktrees`.
"""

import fnmatch
import os
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.workspace.network.allow_list import HostVerdict, NetworkState
from kaa.workspace.network.destinations import Destination
from kaa.workspace.protocol import WiderError
from kaa.workspace.sandbox.narrowing import followed, narrowed_options
from kaa.workspace.sandbox.network import Network
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.relocation import relocated_options

_HOSTS = ("a.example", "b.example", "deep.b.example")
_NETWORKS = ("off", "on", "a.example", "*.b.example", "a.example,b.example")
_WRITABLE = ("beside", "project", "project/part", "project/other", ".")
_HIDDEN = ("project/part/x", "project/**/x", "*/other", "project/other/*", "beside/x", "!project/part/x", "proj*/x")
_COPIES = ("copy-1", "copy-2", "copy-3")
_PLACES = ("", "part", "other", "part/below")


class Start(NamedTuple):
    """A way to start an agent: in a copy of the project, or in a narrowed workspace."""

    isolated: bool
    writable: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None


class Change(NamedTuple):
    """What the person changes while agents work, or answers to a question about a host."""

    sandbox: SandboxChange = SandboxChange()
    network: str = ""
    answered: str = ""
    asked_by: int = 0


class Worker:
    """A conversation or an agent: its options and its network, kept as `Sandbox` keeps them."""

    def __init__(self, root: str, project: str, options: SandboxOptions, network: Network) -> None:
        self.root, self.project, self.options, self.network = root, project, options, network
        self._chosen = options
        self.agent: Worker | None = None

    def start(self, way: Start, folder: str, copy: str) -> "Worker":
        if way.isolated:
            options = relocated_options(self.options, self.project, copy)
            network = Network(self.network.state, {})
            self.network.lead(network)
            root = os.path.join(copy, os.path.relpath(self.root, self.project))
            self.agent = Worker(os.path.normpath(root), copy, options, network)
        else:
            writable = None if way.writable is None else [os.path.join(folder, one) for one in way.writable]
            options = narrowed_options(self.options, self.root, self.network.state, writable, way.hosts)
            network = Network(options.network, {})
            self.network.limit(network)
            self.agent = Worker(self.root, self.project, options, network)
        return self.agent

    def change(self, change: SandboxChange) -> None:
        self.options = change.of(self.options, self.root)
        if self.agent is not None:
            self.agent.change(followed(self.agent._chosen, self.options))

    def writes(self, path: str) -> bool:
        roots = [self.root] if self.options.root_writable else []
        places = [os.path.realpath(one) for one in (*roots, *self.options.writable)]
        return self.options.mode == "workspace-write" and any(f"{path}/".startswith(f"{one}/") for one in places)

    def hides(self, path: str) -> bool:
        hidden = any(_covers(one, path) for one in self.options.hidden if one[0] != "!")
        return hidden and not any(_covers(one[1:], path) for one in self.options.hidden if one[0] == "!")

    def reaches(self, host: str) -> bool:
        return self.network.state.judge(Destination(host, 443)) is HostVerdict.ALLOWED


def _covers(pattern: str, path: str) -> bool:
    """True if a pattern names a path or a directory above it; no wildcard stands for a slash."""
    parts, names = pattern.split("/"), path.split("/")
    return len(parts) <= len(names) and all(map(fnmatch.fnmatchcase, names, parts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rights").resolve()
    for name in ("beside", *(f"{one}/{place}" for one in ("project", *_COPIES) for place in _PLACES)):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


_starts = st.lists(
    st.builds(Start, st.just(True))
    | st.builds(
        Start,
        st.just(False),
        st.none() | st.sampled_from([(), ("project",), ("beside",), ("project/part",)]),
        st.none() | st.sampled_from([(), ("a.example",), ("deep.b.example",)]),
    ),
    min_size=1,
    max_size=3,
)
_changes = st.lists(
    st.builds(
        Change,
        st.builds(
            SandboxChange,
            mode=st.sampled_from([None, "read-only", "workspace-write"]),
            git_writable=st.sampled_from([None, True, False]),
            ports=st.sampled_from([None, "open", "closed"]),
        ),
        st.sampled_from(["", *_NETWORKS]),
        st.sampled_from(["", *_HOSTS]),
        st.integers(0, 3),
    ),
    max_size=4,
)


@settings(deadline=None, max_examples=100)
@given(
    root=st.sampled_from(["project", "project/part"]),
    mode=st.sampled_from(["read-only", "workspace-write"]),
    network=st.sampled_from(_NETWORKS),
    writable=st.lists(st.sampled_from(_WRITABLE), max_size=2, unique=True),
    hidden=st.lists(st.sampled_from(_HIDDEN), max_size=3, unique=True),
    git=st.booleans(),
    ports=st.sampled_from(["open", "closed"]),
    starts=_starts,
    changes=_changes,
)
def test_an_agent_may_never_do_more_than_its_conversation(
    folder: Path,
    root: str,
    mode: str,
    network: str,
    writable: list[str],
    hidden: list[str],
    git: bool,
    ports: str,
    starts: list[Start],
    changes: list[Change],
) -> None:
    options = msgspec.convert(
        {
            "mode": mode,
            "writable": [os.path.normpath(folder / one) for one in writable],
            "hidden": ["!" * one.startswith("!") + str(folder / one.removeprefix("!")) for one in hidden],
            "git_writable": git,
            "ports": ports,
        },
        SandboxOptions,
    )
    conversation = Worker(
        str(folder / root), str(folder / "project"), options, Network(NetworkState.parse(network), {})
    )
    workers = [conversation]
    for way, copy in zip(starts, _COPIES, strict=False):
        try:
            workers.append(workers[-1].start(way, str(folder), str(folder / copy)))
        except WiderError:
            break

    _compare(workers, folder)
    for change in changes:
        conversation.change(change.sandbox)
        if change.network:
            conversation.network.choose(change.network)
        if change.answered:
            workers[change.asked_by % len(workers)].network.allow(change.answered)
        _compare(workers, folder)


def _compare(workers: list[Worker], folder: Path) -> None:
    """Compare each right of each agent with that of the worker that started it."""
    for parent, agent in pairwise(workers):
        assert agent.options.git_writable <= parent.options.git_writable
        assert (agent.options.ports == "open") <= (parent.options.ports == "open")
        for host in _HOSTS:
            assert agent.reaches(host) <= parent.reaches(host), host
        assert agent.writes(str(folder / "beside/x")) <= parent.writes(str(folder / "beside/x"))
        for place in _PLACES:
            path, meant = (os.path.normpath(os.path.join(one, place, "x")) for one in (agent.project, parent.project))
            assert agent.writes(path) <= parent.writes(meant), path
            assert parent.hides(meant) <= agent.hides(path), path
            assert parent.hides(meant) <= agent.hides(meant), meant
            if agent.project != parent.project:
                assert not agent.writes(meant), meant
