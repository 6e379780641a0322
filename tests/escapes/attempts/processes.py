"""Reaching into processes outside, and outliving the sandbox."""

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

from tests.escapes.attempts.kit import (
    CLONE_NEWPID,
    CLONE_NEWUSER,
    Given,
    attempt,
    checked,
    libc,
    read,
    syscall,
    unshare,
    write,
)

_PTRACE_ATTACH, _PTRACE_SEIZE, _PTRACE_POKEDATA = 16, 0x4206, 5
_F_SETOWN_EX, _F_OWNER_PID = 15, 1
_F_OWNER_PGRP = 2
_SETTLE_SECONDS = 0.05


@attempt("victim")
def kill(given: Given) -> None:
    """Kill a process."""
    os.kill(given.pid, signal.SIGKILL)


@attempt("victim")
def kill_group(given: Given) -> None:
    """Kill a process by its group."""
    os.killpg(given.pid, signal.SIGKILL)


@attempt("victim")
def kill_thread(given: Given) -> None:
    """Kill a process by its thread."""
    syscall("tgkill", given.pid, given.pid, signal.SIGKILL)


@attempt("victim")
def kill_thread_without_group(given: Given) -> None:
    """Kill a process by the older call for threads."""
    syscall("tkill", given.pid, signal.SIGKILL)


@attempt("victim")
def kill_by_descriptor(given: Given) -> None:
    """Kill a process by a descriptor of it."""
    signal.pidfd_send_signal(os.pidfd_open(given.pid), signal.SIGKILL)


@attempt("victim")
def kill_by_directory(given: Given) -> None:
    """Kill a process by its directory in /proc."""
    signal.pidfd_send_signal(os.open(f"/proc/{given.pid}", os.O_RDONLY | os.O_DIRECTORY), signal.SIGKILL)


@attempt("victim")
def queue_signal(given: Given) -> None:
    """Queue a signal."""
    information = ctypes.create_string_buffer(struct.pack("iii", signal.SIGTERM, 0, -1), 128)
    syscall("rt_sigqueueinfo", given.pid, signal.SIGTERM, information)


@attempt("victim")
def signal_by_pipe(given: Given) -> None:
    """Have the kernel send a signal when a pipe becomes readable."""
    _own(given, struct.pack("ii", _F_OWNER_PID, given.pid))


@attempt("victim")
def signal_group_by_pipe(given: Given) -> None:
    """Have the kernel send a signal to a group."""
    _own(given, struct.pack("ii", _F_OWNER_PGRP, given.pid))


@attempt("victim")
def signal_by_socket(given: Given) -> None:
    """Have the kernel send a signal when a socket becomes readable."""
    siocspgrp = 0x8902
    ours, theirs = socket.socketpair()
    with ours, theirs:
        fcntl.fcntl(ours, 10, signal.SIGTERM)  # F_SETSIG
        fcntl.ioctl(ours, siocspgrp, struct.pack("i", given.pid))
        fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
        theirs.send(b"x")
        time.sleep(_SETTLE_SECONDS)


@attempt("victim")
def signal_by_timer(given: Given) -> None:
    """Have the shell's own kill do it, by all names it may know."""
    subprocess.run(["bash", "-c", f"kill -9 {given.pid} -{given.pid}"], check=False, capture_output=True)


@attempt("victim")
def trace(given: Given) -> bytes:
    """Attach as a debugger, and read the environment from memory."""
    checked(libc.ptrace(ctypes.c_long(_PTRACE_ATTACH), given.pid, None, None), "ptrace")
    os.waitpid(given.pid, 0x40000000)  # __WALL
    return read(f"/proc/{given.pid}/environ")


@attempt("victim")
def seize(given: Given) -> bytes:
    """Attach as a debugger without stopping."""
    checked(libc.ptrace(ctypes.c_long(_PTRACE_SEIZE), given.pid, None, None), "ptrace")
    return read(f"/proc/{given.pid}/environ")


@attempt("victim")
def read_memory(given: Given) -> bytes:
    """Read memory through /proc."""
    start, length = _environment_of(given.pid)
    with open(f"/proc/{given.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return memory.read(length) or b""


@attempt("victim")
def write_memory(given: Given) -> None:
    """Write memory through /proc."""
    start, length = _environment_of(given.pid)
    with open(f"/proc/{given.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(b"x" * length)


@attempt("victim")
def read_memory_by_call(given: Given) -> bytes:
    """Read memory by the call for it."""
    start, length = _environment_of(given.pid)
    buffer = ctypes.create_string_buffer(length)
    ours = struct.pack("QQ", ctypes.addressof(buffer), length)
    syscall("process_vm_readv", given.pid, ours, 1, struct.pack("QQ", start, length), 1, 0)
    return buffer.raw


@attempt("victim")
def write_memory_by_call(given: Given) -> None:
    """Write memory by the call for it."""
    start, length = _environment_of(given.pid)
    buffer = ctypes.create_string_buffer(b"x" * length)
    ours = struct.pack("QQ", ctypes.addressof(buffer), length)
    syscall("process_vm_writev", given.pid, ours, 1, struct.pack("QQ", start, length), 1, 0)


@attempt("victim")
def take_descriptor(given: Given) -> bytes:
    """Take a descriptor out of a process."""
    return os.pread(syscall("pidfd_getfd", os.pidfd_open(given.pid), 0, 0), 4096, 0)


@attempt("victim")
def limit(given: Given) -> None:
    """Take away a process's right to open files."""
    resource.prlimit(given.pid, resource.RLIMIT_NOFILE, (1, 1))


@attempt("victim", "priority to lose")
def slow_down(given: Given) -> None:
    """Make a process nice."""
    os.setpriority(os.PRIO_PROCESS, given.pid, 19)


@attempt("victim", "priority to lose")
def slow_down_group(given: Given) -> None:
    """Make a group of processes nice."""
    os.setpriority(os.PRIO_PGRP, given.pid, 18)


@attempt("victim", "2 processors")
def pin(given: Given) -> None:
    """Bind a process to one processor."""
    os.sched_setaffinity(given.pid, {min(os.sched_getaffinity(given.pid))})


@attempt("victim")
def reschedule(given: Given) -> None:
    """Let a process run only when nothing else does."""
    os.sched_setscheduler(given.pid, os.SCHED_IDLE, os.sched_param(0))


@attempt("victim")
def slow_down_disk(given: Given) -> None:
    """Let a process use the disk only when nothing else does."""
    who_process, class_idle = 1, 3 << 13
    syscall("ioprio_set", who_process, given.pid, class_idle)


@attempt("victim")
def offer_to_memory_killer(given: Given) -> None:
    """Have the kernel kill a process first when memory is short."""
    write(f"/proc/{given.pid}/oom_score_adj", "999")


@attempt("victim")
def change_core_dump(given: Given) -> None:
    """Change what a process leaves behind when it dies."""
    write(f"/proc/{given.pid}/coredump_filter", "0x0")


@attempt("victim")
def enter_namespaces(given: Given) -> None:
    """Go to where a process outside is, and write there."""
    descriptor = os.pidfd_open(given.pid)
    with contextlib.suppress(OSError):
        syscall("setns", descriptor, 0x00020000)
    write(f"{given.directory}/new")


@attempt("victim")
def enter_namespaces_through_proc(given: Given) -> None:
    """Go there by its directory in /proc."""
    for name in ("user", "mnt"):
        with contextlib.suppress(OSError):
            syscall("setns", os.open(f"/proc/{given.pid}/ns/{name}", os.O_RDONLY), 0)
    write(f"{given.directory}/new")


@attempt("brain", alone=True)
def kill_the_brain(given: Given) -> None:
    """Kill the process that started the sandbox."""
    os.kill(given.brain, signal.SIGKILL)
    time.sleep(1)


@attempt("brain", alone=True)
def stop_the_brain(given: Given) -> None:
    """Stop the process that started the sandbox."""
    os.kill(given.brain, signal.SIGSTOP)
    time.sleep(1)


@attempt("survivor")
def daemon(given: Given) -> None:
    """Leave a process in a session of its own."""
    _leave(given)


@attempt("survivor")
def daemon_twice_removed(given: Given) -> None:
    """Leave a process that has been forked twice, as daemons do."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _leave(given)
        os._exit(0)
    os.wait()


@attempt("survivor")
def daemon_that_ignores_signals(given: Given) -> None:
    """Leave a process that ignores what can be ignored."""
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)
    _leave(given)


@attempt("survivor")
def daemon_of_shell(given: Given) -> None:
    """Leave a process as one does in a shell."""
    line = f'(nohup setsid bash -c "exec -a {given.text} sleep 1000" >/dev/null 2>&1 &)'
    subprocess.run(["bash", "-c", line], check=True)


@attempt("survivor")
def daemon_in_namespace(given: Given) -> None:
    """Leave a process in a namespace of its own, where the sandbox may not look."""
    with contextlib.suppress(OSError):
        unshare(CLONE_NEWUSER | CLONE_NEWPID)
    _leave(given)


@attempt("survivor")
def daemon_that_holds_the_output(given: Given) -> None:
    """Leave a process that keeps the output open: whoever waits for its end waits for ever."""
    subprocess.Popen(_sleeping(given), start_new_session=True)


@attempt("survivor")
def crowd(given: Given) -> None:
    """Leave processes that make new ones when they are killed one by one."""
    line = f'for i in 1 2 3 4 5; do (while :; do bash -c "exec -a {given.text} sleep 0.3"; done) & done'
    subprocess.Popen(["setsid", "bash", "-c", line], stdin=-3, stdout=-3, stderr=-3)


@attempt("survivor", alone=True, brain_dies=True)
def outlive_the_brain(given: Given) -> None:
    """Outlive a process that started the sandbox and was killed."""
    _leave(given)
    time.sleep(20)


@attempt("survivor", alone=True, brain_dies=True)
def outlive_the_brain_as_daemon(given: Given) -> None:
    """Outlive it as a daemon that ignores signals."""
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        _leave(given)
        os._exit(0)
    time.sleep(20)


def _own(given: Given, owner: bytes) -> None:
    """Make a process the owner of a pipe, so that it gets the signal, and write."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(read_end, _F_SETOWN_EX, owner)
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(write_end, b"x")
    time.sleep(_SETTLE_SECONDS)


def _environment_of(pid: int) -> tuple[int, int]:
    """Where a process's environment begins, and its length (fields 50 and 51 of proc(5))."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    return start, end - start


def _sleeping(given: Given) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1000)", given.text]


def _leave(given: Given) -> None:
    null = subprocess.DEVNULL
    subprocess.Popen(_sleeping(given), stdin=null, stdout=null, stderr=null, start_new_session=True)
