"""What does an agent try that goes around Python? libc and the kernel through ctypes, and machine code of its own.

Nothing here raises an audit event that tells what it does. Only the wall can hold it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.cell import Channel

libc = ctypes.CDLL(None, use_errno=True)


def attempt(channel: Channel, act: Callable[[], int]) -> None:
    """Make an attempt and tell how it went: what it gave, and the number of the error."""
    channel.send(b"inside")
    ctypes.set_errno(0)
    given = act()
    error = ctypes.get_errno()
    channel.send(f"did {given}".encode() if given >= 0 else f"error {error}: {os.strerror(error)}".encode())
    channel.send(b"went on")


def connect(channel: Channel, argument: bytes) -> None:
    host, port = argument.decode().split()
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", int(port), socket.inet_aton(host))
    attempt(channel, lambda: libc.connect(libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0), address, len(address)))


def connect_unix(channel: Channel, argument: bytes) -> None:
    address = struct.pack("=H", socket.AF_UNIX) + argument + b"\0"
    attempt(channel, lambda: libc.connect(libc.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0), address, len(address)))


def pair_connect_unix(channel: Channel, argument: bytes) -> None:
    """A socket of a pair is a socket of the file system's family that the filter lets be made."""
    ends = (ctypes.c_int * 2)()
    address = struct.pack("=H", socket.AF_UNIX) + argument + b"\0"

    def act() -> int:
        if libc.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM, 0, ends):
            return -1
        return int(libc.connect(ends[0], address, len(address)))

    attempt(channel, act)


def write(channel: Channel, argument: bytes) -> None:
    def act() -> int:
        file = libc.open(argument, os.O_WRONLY | os.O_CREAT, 0o600)
        return int(libc.write(file, b"native", 6))

    attempt(channel, act)


def fork(channel: Channel, argument: bytes) -> None:
    attempt(channel, libc.fork)


def command(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: -1 if libc.system(argument) else 0)


def execute(channel: Channel, argument: bytes) -> None:
    arguments = (ctypes.c_char_p * 4)(b"sh", b"-c", argument, None)
    attempt(channel, lambda: libc.execv(b"/bin/sh", arguments))


def call(channel: Channel, argument: bytes) -> None:
    """Any system call, by number, with numbers for arguments."""
    numbers = [int(word) for word in argument.split()]
    attempt(channel, lambda: libc.syscall(*(ctypes.c_long(number) for number in numbers)))


def read_memory(channel: Channel, argument: bytes) -> None:
    """The memory of another process, by its number."""
    into = ctypes.create_string_buffer(16)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(into), 16)
    attempt(channel, lambda: libc.process_vm_readv(int(argument), here, 1, here, 1, 0))


def attach(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.ptrace(16, int(argument), None, None))


def unshare(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.unshare(int(argument)))


def mount(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.mount(b"none", argument, b"tmpfs", 0, None))


def uncover(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.umount2(argument, 2))


def remount(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.mount(b"none", argument, None, 32 | 4096, None))


def device(channel: Channel, argument: bytes) -> None:
    """A node for the first disk."""
    attempt(channel, lambda: libc.mknod(argument, 0o060600, 0xFE00))


def new_root(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: libc.chroot(argument))


def signal_all(channel: Channel, _argument: bytes) -> None:
    attempt(channel, lambda: libc.kill(-1, 9))


def signal_first(channel: Channel, _argument: bytes) -> None:
    attempt(channel, lambda: libc.kill(1, 9))


def other_numbering(channel: Channel, _argument: bytes) -> None:
    """The system calls of 32 bit programs, which have other numbers: `mov eax, 2; int 0x80; ret` is fork."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x02\x00\x00\x00\xcd\x80\xc3")
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    attempt(channel, function)
