"""Which services of the user's machine commands looked for and could not reach because of the sandbox.

The connect broker tells where connections failed. Here that is held against the machine: what is not there either is
not reported. What a command asked for is looked at, never connected to.
"""

import ipaddress
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping

from kaa.hands.confinement.failed_connections import FailedConnection
from kaa.workspace.blocked import Blocked
from kaa.workspace.network.listening import listening_ports

_MAX_REPORTED = 5
# The C library asks these whenever a name is looked up, and does without them.
_LOOKUPS = ("/run/nscd/", "/run/systemd/", "/run/avahi-daemon/", "/run/samba/winbindd/", "/var/lib/sss/pipes/")
_NOT_OF_LOOKUPS = "/run/systemd/private"  # systemctl's
_X_PORT = 6000

# Commands do not get these variables, so that programs go on without a screen, an agent or a bus. Some say so.
_MISSED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"(?i)(?:cannot|can't|can not|could not|unable to|failed to) (?:open|connect to) (?:the )?(?:x |x11 )?display"
        r"|no display name|\$DISPLAY|no X11 DISPLAY|missing X server|failed to connect to wayland",
        ("DISPLAY", "WAYLAND_DISPLAY"),
    ),
    (r"(?i)connection to your authentication agent|SSH_AUTH_SOCK", ("SSH_AUTH_SOCK",)),
    (r"(?i)cannot connect to the docker daemon|cannot connect to podman", ("DOCKER_HOST", "CONTAINER_HOST")),
    (r"(?i)failed to connect to (?:session |user |scope )?bus|DBUS_SESSION_BUS_ADDRESS", ("DBUS_SESSION_BUS_ADDRESS",)),
    (r"no server running on .*tmux|error connecting to .*tmux", ("TMUX",)),
)
_TRACED = re.compile(r"(?im)^.*\bptrace\b.*(?:no such process|operation not permitted).*$")
_NUMBER = re.compile(r"\b\d+\b")
_PROCESS_OPTION = re.compile(r"(?:-p|--pid|--attach|attach)[ =]?(\d+)\b")


def blocked_connections(failed: Iterable[FailedConnection], own_ports: Collection[int]) -> tuple[Blocked, ...]:
    """What of the connections that failed would have led somewhere outside the sandbox.

    Args:
        own_ports: on which kaa itself listens for the user.
    """
    return tuple(dict.fromkeys(_blocked(failed, own_ports)))[:_MAX_REPORTED]


def missed_services(text: str, environment: Mapping[str, str]) -> tuple[Blocked, ...]:
    """The services of variables that commands do not get, if a program says that it misses one.

    Args:
        text: the end of the output of a command.
    """
    names = [
        name
        for pattern, group in _MISSED
        if any(map(environment.get, group)) and re.search(pattern, text)
        for name in group
    ]
    found = (service_of(name, environment[name], environment) for name in names if environment.get(name))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def variables_of(admitted: Collection[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that name admitted services, for commands to find them by."""
    names = {name for _, group in _MISSED for name in group if environment.get(name)}
    found = ((name, service_of(name, environment[name], environment)) for name in names)
    return {name: environment[name] for name, service in found if service is not None and service.what in admitted}


def service_of(name: str, value: str, environment: Mapping[str, str]) -> Blocked | None:
    """The socket or the port of the user's machine that a variable names; None if it names none that is there."""
    path = ""
    match name:
        case "DISPLAY":
            host, _, number = value.rpartition(":")
            screen = number.partition(".")[0]
            if not screen.isdecimal():
                return None
            if host in ("localhost", "127.0.0.1"):
                return Blocked("port", str(_X_PORT + int(screen)))
            path = f"/tmp/.X11-unix/X{screen}" if host in ("", "unix") else ""  # noqa: S108 - where X listens
        case "WAYLAND_DISPLAY":
            path = os.path.join(environment.get("XDG_RUNTIME_DIR", ""), value)
        case "TMUX":
            path = value.partition(",")[0]
        case "DBUS_SESSION_BUS_ADDRESS":
            path = value.partition("unix:path=")[2].partition(",")[0].partition(";")[0]
        case _:
            path = value.removeprefix("unix://")
    real = os.path.realpath(path) if path.startswith("/") else ""
    return Blocked("socket", real) if _is_socket(real) else None


def traced_outside(text: str, command: str) -> tuple[Blocked, ...]:
    """The process of the user's machine that a debugger could not attach to."""
    lines = _TRACED.findall(text)
    numbers = [number for line in lines for number in _NUMBER.findall(line)]
    named = [*numbers, *(_PROCESS_OPTION.findall(command) if lines else ())]
    found = next((number for number in named if os.path.exists(f"/proc/{number}")), None)
    return () if found is None else (Blocked("process", found),)


def _blocked(failed: Iterable[FailedConnection], own_ports: Collection[int]) -> Iterator[Blocked]:
    listening: Collection[int] | None = None
    for one in failed:
        if one.path:
            looked_up = one.path.startswith(_LOOKUPS) and one.path != _NOT_OF_LOOKUPS
            if not looked_up and not one.path.startswith("/proc/") and _is_socket(one.path):
                yield Blocked("socket", one.path)
        elif not (host := _address(one)).is_loopback and not host.is_unspecified:
            yield Blocked("direct", f"[{host}]:{one.port}" if host.version == 6 else f"{host}:{one.port}")
        else:
            listening = listening_ports() if listening is None else listening
            if one.port in listening and one.port not in own_ports:
                yield Blocked("port", str(one.port))


def _address(failed: FailedConnection) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    host = ipaddress.ip_address(failed.address)
    return getattr(host, "ipv4_mapped", None) or host


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
