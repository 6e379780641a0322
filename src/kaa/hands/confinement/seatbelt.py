"""Tier `seatbelt`: a profile for `sandbox-exec` of macOS. UNTESTED: written from documentation, proven by no Mac.

The hands are started through sandbox-exec, so everything in them is confined, the fork-server too; the self-test
decides whether it holds. The language has no reference by Apple; the usual one is "Apple's Sandbox Guide" by fG!, and
the profiles in /System/Library/Sandbox/Profiles. The last rule that matches wins.
"""

import os
from collections.abc import Iterable, Iterator

from kaa.hands.confinement.contract import Unconfined
from kaa.hands.confinement.layout import needed_in_home, own_code
from kaa.hands.policy import PROTECTED_GIT_NAMES, PROTECTED_NAMES, Policy
from kaa.hands.protected import PROTECTED_ENDINGS

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper")
_SPECIAL = frozenset(".^$+?{}[]()|\\")


def profile(policy: Policy, home: str) -> str:
    """The profile in Seatbelt's language.

    Unlike mounts, its rules hold for names, so what is hidden or protected need not exist yet.
    """
    return (
        "\n".join(["(version 1)", "(allow default)", *_writing(policy), *_reading(policy, home), *_reaching(policy)])
        + "\n"
    )


def establish() -> Unconfined:
    """Nothing is left to add: sandbox-exec has confined us before we started."""
    confinement = Unconfined()
    confinement.features = {"seatbelt": "yes"}
    confinement.warnings = ["The sandbox for macOS has never been tested on a Mac by its authors."]
    return confinement


def _writing(policy: Policy) -> Iterator[str]:
    yield "(deny file-write*)"
    roots = [os.path.realpath(path) for path in (*policy.writes, policy.temporary) if path]
    yield _rule("allow", "file-write*", [*map(_below, roots), *(f'(literal "{path}")' for path in _DEVICES)])
    yield '(allow file-write* (regex #"^/dev/ttys[0-9]*$"))'
    projects = [os.path.realpath(path) for path in policy.writable] if policy.mode == "workspace-write" else []
    names = "|".join((*map(_literally, PROTECTED_NAMES), *(f"[^/]*{_literally(end)}" for end in PROTECTED_ENDINGS)))
    in_git = f"/(.*/)?({'|'.join(map(_literally, PROTECTED_GIT_NAMES))})(/|$)" if policy.git_writable else "(/|$)"
    for project in map(_literally, projects):
        yield _rule("deny", "file-write*", [_regex(f"^{project}/({names})(/|$)")])
        yield _rule("deny", "file-write*", [_regex(rf"^{project}/(.*/)?\.git{in_git}")])
        if policy.git_writable:  # moving it away would bring what is protected in it along
            yield _rule("deny", "file-write-unlink", [_regex(rf"^{project}/(.*/)?\.git$")])
    # Programs that run as somebody else leave the sandbox's idea of who may do what.
    yield "(deny file-write-setugid)"


def _reading(policy: Policy, home: str) -> Iterator[str]:
    if policy.unlisted:
        roots = [os.path.realpath(path) for path in (*policy.writes, policy.temporary) if path]
        yield _rule("deny", "file-read*", [_regex(_pattern(path)) for path in _both(policy.unlisted)])
        listed = [
            *(_regex(_pattern(path)) for path in _both(policy.listed)),
            *map(_below, (*roots, *own_code(), *needed_in_home(policy, home))),
        ]
        on_the_way = {os.path.dirname(path) for path in policy.unlisted}
        listed += [_regex(f"^{_literally(path)}$") for path in sorted(on_the_way)]
        yield _rule("allow", "file-read*", listed)
    if policy.hidden:
        yield _rule("deny", "file-read*", [_regex(_pattern(path)) for path in _both(policy.hidden)])
    if policy.shown:
        yield _rule("allow", "file-read*", [_regex(_pattern(path)) for path in _both(policy.shown)])
    if policy.shown and policy.private:
        private = [os.path.realpath(path) for path in policy.private]
        yield _rule("deny", "file-read*", map(_below, private))
        if own := [path for path in map(os.path.realpath, policy.shown) if _is_strictly_below(path, private)]:
            yield _rule("allow", "file-read*", map(_below, own))


def _is_strictly_below(path: str, directories: Iterable[str]) -> bool:
    return any(path.startswith(f"{directory}/") for directory in directories)


def _reaching(policy: Policy) -> Iterator[str]:
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    if policy.network == "isolated":
        yield "(deny network*)"
        yield '(allow network-bind network-inbound (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'
        roots = [os.path.realpath(path) for path in (*policy.writes, policy.temporary) if path]
        yield _rule("allow", "network*", map(_below, roots))  # Unix sockets of commands, not of daemons


def _rule(verdict: str, operation: str, filters: Iterable[str]) -> str:
    return f"({verdict} {operation}\n  " + "\n  ".join(filters) + ")"


def _below(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'(subpath "{escaped}")'


def _regex(pattern: str) -> str:
    escaped = pattern.replace('"', '\\"')
    return f'(regex #"{escaped}")'


def _both(patterns: Iterable[str]) -> Iterator[str]:
    """Each pattern, and what it leads to through symlinks: rules see real paths only (/tmp is /private/tmp)."""
    for pattern in patterns:
        yield pattern
        real = os.path.realpath(pattern)
        if real != pattern:
            yield real


def _pattern(glob: str) -> str:
    translated = "".join({"*": "[^/]*", "?": "[^/]"}.get(character) or _literally(character) for character in glob)
    return f"^{translated}(/|$)"


def _literally(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
