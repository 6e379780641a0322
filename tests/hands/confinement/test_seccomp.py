"""The filter, judged for both architectures by a machine of our own."""

import errno
import os
import re
import shutil
import socket
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.confinement import bpf, seccomp
from kaa.hands.confinement.kernel import NUMBERS, Architecture, number
from kaa.hands.confinement.restrictions import ALL_FAMILIES
from tests.hands.confinement.bpf_machine import AUDIT_ARCHITECTURE, run

_ALLOW = "allowed"
_NODES = (("mknod", 1), ("mknodat", 2))
_UNKNOWN = 1000  # far beyond both tables


class Filter:
    """A program and how it judges calls by name."""

    def __init__(self, of: Architecture, families: tuple[int, ...] = ALL_FAMILIES, **changes: bool) -> None:
        walls = {"others_visible": False, "ipc_shared": False, "ptrace": True, **changes}
        self.architecture = of
        self.program = seccomp.program(of, families, **walls)

    def judge(self, name: str, *arguments: int) -> str:
        which = number(name, self.architecture)
        if which is None:
            pytest.skip(f"{self.architecture} has no {name}")
        return self.judge_number(which, *arguments)

    def judge_number(self, which: int, *arguments: int, caller: int | None = None) -> str:
        verdict = run(self.program, caller or AUDIT_ARCHITECTURE[self.architecture], which, *arguments)
        if verdict == bpf.ALLOW:
            return _ALLOW
        if verdict == bpf.NOTIFY:
            return "asked"
        return "killed" if verdict == bpf.KILL_PROCESS else errno.errorcode[verdict & 0xFFFF]


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> Architecture:
    chosen: Architecture = request.param
    return chosen


def test_calls_of_other_kinds_of_programs_kill(machine: Architecture) -> None:
    i386 = 0x40000003

    assert Filter(machine).judge_number(1, caller=i386) == "killed"


def test_x32_calls_are_unknown() -> None:
    judged = Filter("x86_64")

    assert judged.judge_number(0x40000000) == "ENOSYS"
    assert judged.judge_number(0x40000000 | 165) == "ENOSYS"
    assert judged.judge_number(0xFFFFFFFF) == "ENOSYS"


@pytest.mark.parametrize("name", ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2"])
def test_calls_with_a_fallback_are_unknown(machine: Architecture, name: str) -> None:
    assert Filter(machine).judge(name, 0, 0, 0) == "ENOSYS"


@pytest.mark.parametrize(
    "name",
    [
        *("mount", "umount2", "pivot_root", "chroot", "setns", "fsopen", "move_mount", "open_tree", "mount_setattr"),
        *("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "open_by_handle_at"),
        *("process_vm_readv", "process_vm_writev", "pidfd_getfd", "kexec_load", "init_module", "finit_module"),
        *("reboot", "swapon", "settimeofday", "quotactl", "syslog", "acct", "fanotify_init", "iopl", "modify_ldt"),
    ],
)
def test_calls_that_lead_out_are_denied(machine: Architecture, name: str) -> None:
    assert Filter(machine).judge(name) == "EPERM"


@pytest.mark.parametrize(("flags", "verdict"), [(17, _ALLOW), (0x10000000 | 17, "EPERM"), (0x00020000, "EPERM")])
def test_clone_makes_no_namespaces(machine: Architecture, flags: int, verdict: str) -> None:
    assert Filter(machine).judge("clone", flags) == verdict


@pytest.mark.parametrize("flag", [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
def test_unshare_makes_no_namespaces(machine: Architecture, flag: int) -> None:
    shared_file_table = 0x400
    judged = Filter(machine)

    assert judged.judge("unshare", flag) == "EPERM"
    assert judged.judge("unshare", flag | shared_file_table) == "EPERM"
    assert judged.judge("unshare", shared_file_table) == _ALLOW


def test_threads_start(machine: Architecture) -> None:
    threads = 0x3D0F00  # CLONE_VM|FS|FILES|SIGHAND|THREAD|SYSVSEM|SETTLS|PARENT_SETTID|CHILD_CLEARTID

    assert Filter(machine).judge("clone", threads) == _ALLOW


@pytest.mark.parametrize(("command", "verdict"), [(0x5412, "EPERM"), (0x541C, "EPERM"), (0x5401, _ALLOW)])
def test_nothing_is_typed_into_terminals(machine: Architecture, command: int, verdict: str) -> None:
    judged = Filter(machine)

    assert judged.judge("ioctl", 0, command) == verdict
    assert judged.judge("ioctl", 0, command | 0xDEADBEEF << 32) == verdict  # the kernel looks at 32 bits only


@pytest.mark.parametrize(
    ("family", "protocol", "verdict"),
    [
        (socket.AF_UNIX, 0, _ALLOW),
        (socket.AF_INET, 0, _ALLOW),
        (socket.AF_INET6, socket.IPPROTO_UDP, _ALLOW),
        (16, 0, _ALLOW),  # netlink, about interfaces
        (16, 9, "EACCES"),  # about the audit log
        (17, 0, "EACCES"),  # packets
        (38, 0, "EACCES"),  # cryptography of the kernel
        (40, 0, "EACCES"),  # the host of this virtual machine
    ],
)
def test_socket_families(machine: Architecture, family: int, protocol: int, verdict: str) -> None:
    assert Filter(machine).judge("socket", family, socket.SOCK_STREAM, protocol) == verdict


def test_no_socket_without_a_family(machine: Architecture) -> None:
    judged = Filter(machine, families=())

    assert judged.judge("socket", socket.AF_INET) == "EACCES"
    assert judged.judge("socket", socket.AF_UNIX) == "EACCES"
    assert judged.judge("socketpair", socket.AF_UNIX, socket.SOCK_STREAM) == _ALLOW
    assert judged.judge("socketpair", socket.AF_UNIX, socket.SOCK_DGRAM) == "ESOCKTNOSUPPORT"
    assert judged.judge("socketpair", socket.AF_INET) == "EACCES"


@pytest.mark.parametrize("call", ["socket", "socketpair"])
@pytest.mark.parametrize("flags", [0, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK])
def test_where_somebody_listens_unix_sockets_must_connect(machine: Architecture, call: str, flags: int) -> None:
    judged = Filter(machine, notify=True)

    allowed = {kind for kind in range(16) if judged.judge(call, socket.AF_UNIX, kind | flags) == _ALLOW}

    assert allowed == {socket.SOCK_STREAM, socket.SOCK_SEQPACKET}
    assert judged.judge(call, socket.AF_UNIX, socket.SOCK_DGRAM | flags) == "ESOCKTNOSUPPORT"
    assert judged.judge("socket", socket.AF_INET, socket.SOCK_DGRAM | flags) == _ALLOW
    assert judged.judge("socket", 17, socket.SOCK_STREAM | flags) == "EACCES"
    assert Filter(machine).judge(call, socket.AF_UNIX, socket.SOCK_DGRAM | flags) == _ALLOW


def test_somebody_is_asked_about_connections(machine: Architecture) -> None:
    assert Filter(machine, notify=True).judge("connect", 3, 0, 16) == "asked"
    assert Filter(machine).judge("connect", 3, 0, 16) == _ALLOW


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("chmod", 1),
        ("fchmod", 1),
        ("fchmodat", 2),
        ("fchmodat2", 2),
        ("creat", 1),
        ("mkdir", 1),
        ("mkdirat", 2),
        *_NODES,
    ],
)
def test_no_set_user_id_bits(machine: Architecture, name: str, before: int) -> None:
    judged = Filter(machine)
    regular_file = 0o100000

    assert judged.judge(name, *[0] * before, regular_file | 0o4755) == "EPERM"
    assert judged.judge(name, *[0] * before, regular_file | 0o3755) == _ALLOW


@pytest.mark.parametrize(("name", "before"), [("open", 1), ("openat", 2)])
@pytest.mark.parametrize(
    ("flags", "mode", "verdict"),
    [
        (0o100, 0o4755, "EPERM"),  # O_CREAT
        (0o20200000, 0o4755, "EPERM"),  # O_TMPFILE
        (0o100, 0o644, _ALLOW),
        (0, 0o4755, _ALLOW),  # without O_CREAT whatever is in the register
        (0o200000, 0o7777, _ALLOW),  # O_DIRECTORY alone
    ],
)
def test_no_set_user_id_bits_on_new_files(
    machine: Architecture, name: str, before: int, flags: int, mode: int, verdict: str
) -> None:
    assert Filter(machine).judge(name, *[0] * before, flags, mode) == verdict


@pytest.mark.parametrize("name", ["prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setattr"])
def test_where_others_can_be_seen_they_are_left_alone(machine: Architecture, name: str) -> None:
    shared, own = Filter(machine, others_visible=True), Filter(machine)

    assert shared.judge(name, 4711) == "EPERM"
    assert shared.judge(name, 0) == _ALLOW
    assert own.judge(name, 4711) == _ALLOW


@pytest.mark.parametrize(("name", "user"), [("setpriority", 2), ("ioprio_set", 3)])
def test_priorities_of_others_are_left_alone(machine: Architecture, name: str, user: int) -> None:
    judged = Filter(machine, others_visible=True)

    assert judged.judge(name, user - 2, 4711) == "EPERM"
    assert judged.judge(name, user, 0) == "EPERM"
    assert judged.judge(name, user - 2, 0) == _ALLOW


@pytest.mark.parametrize("name", ["shmget", "msgget", "semget"])
def test_shared_ipc_is_switched_off(machine: Architecture, name: str) -> None:
    assert Filter(machine, ipc_shared=True).judge(name) == "ENOSYS"
    assert Filter(machine).judge(name) == _ALLOW


def test_tracing_only_where_it_is_confined(machine: Architecture) -> None:
    assert Filter(machine).judge("ptrace") == _ALLOW
    assert Filter(machine, ptrace=False).judge("ptrace") == "EPERM"


@given(which=st.integers(0, 600), arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_every_call_gets_a_verdict(which: int, arguments: list[int]) -> None:
    for machine in ("x86_64", "aarch64"):
        judged = Filter(machine, others_visible=True, ipc_shared=True, ptrace=False, notify=True)

        verdicts = {_ALLOW, "asked", "EPERM", "EACCES", "ENOSYS", "ESOCKTNOSUPPORT"}
        assert judged.judge_number(which, *arguments) in verdicts


def test_unknown_calls_are_the_kernels_matter(machine: Architecture) -> None:
    assert Filter(machine).judge_number(_UNKNOWN) == _ALLOW


def test_program_fits_the_kernel(machine: Architecture) -> None:
    most = 4096  # BPF_MAXINSNS
    program = Filter(machine, others_visible=True, ipc_shared=True, ptrace=False).program

    assert len(program) // 8 < most
    assert struct.unpack_from("<HBBI", program, len(program) - 8) == (bpf.RETURN, 0, 0, bpf.ALLOW)


@pytest.mark.parametrize(("of", "header"), [("x86_64", "asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")])
def test_numbers_are_those_of_the_headers(of: Architecture, header: str) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source = f"#include <{header}>\n".encode()
    done = subprocess.run([compiler, "-E", "-dM", "-"], input=source, capture_output=True, check=False)
    defined = {name: int(value) for name, value in re.findall(r"#define __NR_(\w+) (\d+)", done.stdout.decode())}
    if not defined:
        pytest.skip(f"needs {header}")

    ours = {name: number(name, of) for name in NUMBERS}

    assert {name: value for name, value in ours.items() if name in defined and value != defined[name]} == {}


_NAMING = ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "mknod")


@pytest.mark.parametrize("name", [*_NAMING, "mknodat", "creat", "truncate"])
def test_calls_that_name_files_are_noted_of_background_commands_only(machine: Architecture, name: str) -> None:
    assert Filter(machine, notify=True).judge(name) == _ALLOW
    assert Filter(machine, notify=True, note=True).judge(name) == "asked"


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (os.O_RDONLY, _ALLOW),
        (os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW, _ALLOW),
        (os.O_WRONLY, "asked"),
        (os.O_RDWR, "asked"),
        (os.O_RDONLY | os.O_CREAT, "asked"),
        (os.O_RDONLY | os.O_TRUNC, "asked"),
        (os.O_WRONLY | os.O_TMPFILE, "asked"),
    ],
)
def test_opening_to_write_is_noted(machine: Architecture, flags: int, verdict: str) -> None:
    judged = Filter(machine, notify=True, note=True)

    assert judged.judge("openat", 0, 0, flags, 0o644) == verdict
    assert judged.judge("openat", 0, 0, flags, 0o4755) == ("EPERM" if flags & (os.O_CREAT | 0o20000000) else verdict)


@pytest.mark.parametrize("command", [0x50009401, 0x5000940E, 0x50009417, 0x50009418])
def test_making_subvolumes_is_noted(machine: Architecture, command: int) -> None:
    judged = Filter(machine, notify=True, note=True)

    assert judged.judge("ioctl", 0, command) == "asked"
    assert judged.judge("ioctl", 0, 0x5401) == _ALLOW
    assert judged.judge("ioctl", 0, 0x5412) == "EPERM"
