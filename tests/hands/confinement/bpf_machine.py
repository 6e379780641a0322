"""A machine for classic BPF programs, so that filters can be judged for any architecture without a kernel."""

import struct

_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def run(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """The verdict on one system call.

    Args:
        program: array of `struct sock_filter`.
        architecture: AUDIT_ARCH_* value of the caller.
        number: of the call.
        arguments: up to six of 64 bits.
    """
    filled = [argument & 0xFFFFFFFFFFFFFFFF for argument in arguments] + [0] * (6 - len(arguments))
    memory = struct.pack("<IIQ6Q", number, architecture, 0, *filled)
    accumulator = 0
    place = 0
    while True:
        opcode, if_true, if_false, operand = struct.unpack_from("<HBBI", program, 8 * place)
        place += 1
        match opcode:
            case _ if opcode == _RETURN:
                return int(operand)
            case _ if opcode == _LOAD:
                assert operand % 4 == 0
                assert operand <= len(memory) - 4
                (accumulator,) = struct.unpack_from("<I", memory, operand)
            case _ if opcode == _EQUAL:
                place += if_true if accumulator == operand else if_false
            case _ if opcode == _GREATER_OR_EQUAL:
                place += if_true if accumulator >= operand else if_false
            case _ if opcode == _ANY_BIT:
                place += if_true if accumulator & operand else if_false
            case _:
                raise AssertionError(f"the kernel knows no {opcode:#x}")
