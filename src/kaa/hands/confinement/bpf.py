"""An assembler for the filter programs of seccomp: classic BPF over one system call's number and arguments.

Every part either falls through to the next or ends with a verdict, so parts can be put together in any order.
"""

import errno
import struct
from typing import NamedTuple

# Verdicts and opcodes: linux/seccomp.h, linux/bpf_common.h
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000
NOTIFY = 0x7FC00000
ALLOW = 0x7FFF0000
LOAD, EQUAL, GREATER_OR_EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# struct seccomp_data: int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]
NUMBER_OFFSET, ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16

NEVER = 0  # for jumps: go on with the next instruction


class Instruction(NamedTuple):
    """`struct sock_filter`. Jumps count instructions to skip."""

    opcode: int
    if_true: int
    if_false: int
    operand: int


def load(offset: int) -> Instruction:
    """Take 32 bits of `struct seccomp_data` into the accumulator."""
    return Instruction(LOAD, 0, 0, offset)


def argument(index: int) -> Instruction:
    """Take the lower half of an argument. Both architectures are little-endian; what we judge is 32 bits wide."""
    return load(_ARGUMENTS_OFFSET + 8 * index)


def jump(test: int, operand: int, if_true: int = NEVER, if_false: int = NEVER) -> Instruction:
    """Compare the accumulator, then skip some instructions."""
    return Instruction(test, if_true, if_false, operand)


def allow() -> Instruction:
    """End: the call is made."""
    return Instruction(RETURN, 0, 0, ALLOW)


def refuse(error: int = errno.EPERM) -> Instruction:
    """End: the call fails with this error."""
    return Instruction(RETURN, 0, 0, ERRNO | error)


def notify() -> Instruction:
    """End: whoever listens decides."""
    return Instruction(RETURN, 0, 0, NOTIFY)


def kill() -> Instruction:
    """End: the process dies."""
    return Instruction(RETURN, 0, 0, KILL_PROCESS)


def on_call(number: int, body: list[Instruction]) -> list[Instruction]:
    """Judge one system call by a body that ends with a verdict. The accumulator must hold the number."""
    return [jump(EQUAL, number, if_false=len(body)), *body]


def encode(program: list[Instruction]) -> bytes:
    """The program as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
