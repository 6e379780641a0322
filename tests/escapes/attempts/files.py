"""Changing files outside the project."""

import ctypes
import fcntl
import os
import socket
import struct

from tests.escapes.attempts.kit import AT_FDCWD, Given, attempt, link, new_in_project, syscall, write
from tests.escapes.attempts.uring import Ring

_RENAME_EXCHANGE = 2
_FS_IOC_SETFLAGS = 0x40086602
_FS_NODUMP = 0x40


@attempt("files")
def create(given: Given) -> None:
    """Create a file."""
    write(f"{given.directory}/new")


@attempt("files", base="/tmp")
def create_in_tmp(given: Given) -> None:
    """Create a file in the host's /tmp."""
    write(f"{given.directory}/new")


@attempt("files", base="/dev/shm")
def create_in_shared_memory(given: Given) -> None:
    """Create a file in the host's /dev/shm."""
    write(f"{given.directory}/new")


@attempt("files")
def create_relative(given: Given) -> None:
    """Create a file by way of `..`."""
    os.chdir(given.project)
    write(os.path.relpath(given.directory, given.project) + "/new")


@attempt("files")
def overwrite(given: Given) -> None:
    """Overwrite a file."""
    write(given.path)


@attempt("files")
def append(given: Given) -> None:
    """Append to a file."""
    with open(given.path, "a") as file:
        file.write("harm\n")


@attempt("files")
def truncate(given: Given) -> None:
    """Truncate a file by name: no descriptor, and no right of Landlock's before ABI 3."""
    os.truncate(given.path, 0)


@attempt("files")
def truncate_on_open(given: Given) -> None:
    """Open for reading with O_TRUNC, which truncates."""
    os.open(given.path, os.O_RDONLY | os.O_TRUNC)


@attempt("files")
def reopen_for_writing(given: Given) -> None:
    """Open for reading, then open the descriptor for writing."""
    fd = os.open(given.path, os.O_RDONLY)
    write(f"/proc/self/fd/{fd}")


@attempt("files")
def reopen_path_descriptor(given: Given) -> None:
    """Open without any access, then open the descriptor for writing."""
    fd = os.open(given.path, os.O_PATH)
    write(f"/proc/self/fd/{fd}")


@attempt("files")
def rename(given: Given) -> None:
    """Rename a file."""
    os.rename(given.path, given.path + ".renamed")


@attempt("files")
def move_in(given: Given) -> None:
    """Move a file into the project."""
    os.rename(given.path, f"{given.project}/moved-in")


@attempt("files")
def move_out(given: Given) -> None:
    """Move a file out of the project."""
    os.rename(new_in_project(given, "move-out"), f"{given.directory}/moved")


@attempt("files")
def move_over(given: Given) -> None:
    """Replace a file by one of the project's."""
    os.rename(new_in_project(given, "move-over"), given.path)


@attempt("files")
def exchange(given: Given) -> None:
    """Swap a file with one of the project's."""
    ours = new_in_project(given, "exchange")
    syscall("renameat2", AT_FDCWD, ours.encode(), AT_FDCWD, given.path.encode(), _RENAME_EXCHANGE)


@attempt("files")
def delete(given: Given) -> None:
    """Delete a file."""
    os.unlink(given.path)


@attempt("files")
def delete_directory(given: Given) -> None:
    """Delete a directory."""
    os.rmdir(f"{given.directory}/empty")


@attempt("files")
def make_directory(given: Given) -> None:
    """Make a directory."""
    os.mkdir(f"{given.directory}/new")


@attempt("files")
def make_symlink(given: Given) -> None:
    """Make a symbolic link."""
    os.symlink("/", f"{given.directory}/link")


@attempt("files")
def make_fifo(given: Given) -> None:
    """Make a FIFO."""
    os.mkfifo(f"{given.directory}/fifo")


@attempt("files")
def make_socket(given: Given) -> None:
    """Bind a unix socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(f"{given.directory}/socket")


@attempt("files")
def make_unnamed(given: Given) -> None:
    """Make a file without a name, then give it one."""
    fd = os.open(given.directory, os.O_TMPFILE | os.O_WRONLY)
    link(fd, f"{given.directory}/new")


@attempt("files")
def name_unnamed_of_project(given: Given) -> None:
    """Make a file without a name in the project, then give it one outside."""
    fd = os.open(given.project, os.O_TMPFILE | os.O_WRONLY)
    link(fd, f"{given.directory}/new")


@attempt("files")
def link_in(given: Given) -> None:
    """Link a file into the project and write it there."""
    ours = f"{given.project}/linked-in"
    os.link(given.path, ours)
    write(ours)


@attempt("files")
def link_descriptor_in(given: Given) -> None:
    """Link an open file into the project and write it there."""
    ours = f"{given.project}/linked-descriptor"
    fd = os.open(given.path, os.O_PATH)
    link(fd, ours)
    write(ours)


@attempt("files")
def link_out(given: Given) -> None:
    """Link a file of the project to a name outside."""
    os.link(new_in_project(given, "link-out"), f"{given.directory}/linked")


@attempt("files")
def through_symlink_to_directory(given: Given) -> None:
    """Write through a symbolic link of the project's."""
    os.symlink(given.directory, f"{given.project}/door")
    write(f"{given.project}/door/new")


@attempt("files")
def through_symlink_to_file(given: Given) -> None:
    """Write a file through a symbolic link of the project's."""
    os.symlink(given.path, f"{given.project}/file-door")
    write(f"{given.project}/file-door")


@attempt("files")
def change_mode(given: Given) -> None:
    """Change a mode: Landlock knows no right for that."""
    os.chmod(given.path, 0o777)


@attempt("files")
def change_mode_of_descriptor(given: Given) -> None:
    """Change the mode of a file open for reading."""
    os.fchmod(os.open(given.path, os.O_RDONLY), 0o777)


@attempt("files")
def change_mode_through_proc(given: Given) -> None:
    """Change the mode of a file opened without any access."""
    os.chmod(f"/proc/self/fd/{os.open(given.path, os.O_PATH)}", 0o777)


@attempt("files", "fchmodat2")
def change_mode_with_new_call(given: Given) -> None:
    """Change a mode with the youngest call that can."""
    syscall("fchmodat2", AT_FDCWD, given.path.encode(), 0o777, 0)


@attempt("files")
def set_user_id_bit(given: Given) -> None:
    """Make a file outside run as its owner."""
    os.chmod(given.path, 0o4755)


@attempt("files", "root")
def change_owner(given: Given) -> None:
    """Give a file away."""
    os.chown(given.path, 12345, 12345)


@attempt("files")
def change_times(given: Given) -> None:
    """Change the times of a file."""
    os.utime(given.path, (1, 1))


@attempt("files")
def change_times_of_descriptor(given: Given) -> None:
    """Change the times of a file open for reading."""
    os.utime(os.open(given.path, os.O_RDONLY), (1, 1))


@attempt("files", "attributes")
def set_attribute(given: Given) -> None:
    """Set an extended attribute."""
    os.setxattr(given.path, "user.kaa", b"harm")


@attempt("files", "attributes")
def set_attribute_of_descriptor(given: Given) -> None:
    """Set an extended attribute of a file open for reading."""
    os.setxattr(os.open(given.path, os.O_RDONLY), "user.kaa", b"harm")


@attempt("files", "file flags")
def change_flags(given: Given) -> None:
    """Change the flags of a file open for reading, as chattr does."""
    fcntl.ioctl(os.open(given.path, os.O_RDONLY), _FS_IOC_SETFLAGS, struct.pack("i", _FS_NODUMP))


@attempt("files", "root")
def open_by_handle(given: Given) -> None:
    """Open a file by its handle, by way of the project's mount (CVE-2014-3519 and "shocker")."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount_id = ctypes.create_string_buffer(4)
    syscall("name_to_handle_at", AT_FDCWD, given.path.encode(), handle, mount_id, 0)
    project = os.open(given.project, os.O_RDONLY)
    os.write(syscall("open_by_handle_at", project, handle, os.O_WRONLY), b"harm\n")


@attempt("files", "io_uring")
def create_with_io_uring(given: Given) -> None:
    """Create a file by io_uring, which no system-call filter sees."""
    with Ring() as ring:
        os.close(ring.open(f"{given.directory}/new", os.O_CREAT | os.O_WRONLY, 0o644))


@attempt("files")
def through_own_root(given: Given) -> None:
    """Write by way of /proc/self/root."""
    write(f"/proc/self/root{given.path}")


@attempt("files")
def through_thread_root(given: Given) -> None:
    """Write by way of /proc/thread-self/root."""
    write(f"/proc/thread-self/root{given.path}")


@attempt("files")
def through_own_directory(given: Given) -> None:
    """Write by way of /proc/self/cwd and `..`."""
    os.chdir(given.project)
    write("/proc/self/cwd/" + os.path.relpath(given.path, given.project))


@attempt("files")
def through_root_of_first_process(given: Given) -> None:
    """Write by way of the root of process 1."""
    write((f"/proc/1/root{given.path}") if given.sandboxed else given.path)


@attempt("files")
def through_root_of_parent(given: Given) -> None:
    """Write by way of the roots of all ancestors."""
    pid = os.getppid()
    while pid > (1 if not given.sandboxed else 0):
        try:
            write(f"/proc/{pid}/root{given.path}")
        except OSError:
            pass
        else:
            return
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    raise PermissionError("no ancestor's root leads out")


@attempt("files")
def through_root_of_brain(given: Given) -> None:
    """Write by way of the root of the process that started the sandbox."""
    write(f"/proc/{given.brain}/root{given.path}")


@attempt("files")
def through_directory_of_brain(given: Given) -> None:
    """Write by way of the working directory of the process that started the sandbox."""
    write(f"/proc/{given.brain}/cwd/" + os.path.relpath(given.path, given.project))


@attempt("victim")
def through_root_of_stranger(given: Given) -> None:
    """Write by way of the root of a process outside."""
    write(f"/proc/{given.pid}/root{given.path}")


@attempt("victim")
def through_directory_of_stranger(given: Given) -> None:
    """Write by way of the working directory of a process outside."""
    write(f"/proc/{given.pid}/cwd/new")


@attempt("victim")
def through_descriptor_of_stranger(given: Given) -> None:
    """Write by way of a descriptor of a process outside."""
    write(f"/proc/{given.pid}/fd/1")


@attempt("project", alone=True)
def move_project(given: Given) -> None:
    """Move the project's directory away."""
    os.rename(given.project, f"{given.home}/elsewhere")


@attempt("project", alone=True)
def move_parent_of_project(given: Given) -> None:
    """Move the directory that the project is in."""
    os.rename(os.path.dirname(given.project), f"{given.home}/elsewhere")


@attempt("project", alone=True)
def replace_project_by_link(given: Given) -> None:
    """Put a symbolic link where the project was."""
    os.rename(given.project, given.project + ".aside")
    os.symlink("/", given.project)


@attempt("set-id", "root")
def leave_set_user_id_program(given: Given) -> None:
    """Leave a program in the project that runs as root for whoever starts it."""
    write(given.path)
    os.chmod(given.path, 0o4755)


@attempt("set-id", "root")
def create_set_user_id_program(given: Given) -> None:
    """Create a program in the project with the bit set from the start."""
    os.umask(0)
    os.close(os.open(given.path, os.O_CREAT | os.O_WRONLY, 0o4755))


@attempt("set-id", "root")
def leave_program_with_capability(given: Given) -> None:
    """Leave a program in the project that has capabilities for whoever starts it."""
    write(given.path)
    effective, cap_dac_override = 0x02000001, 1 << 1
    os.setxattr(given.path, "security.capability", struct.pack("<5I", effective, cap_dac_override, 0, 0, 0))
