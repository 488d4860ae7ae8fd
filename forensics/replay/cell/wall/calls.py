"""Which system calls does a child not have? Those that make processes, reach other ones or other address families,
change mounts and namespaces, hold memory past the limits, or open parts of the kernel that no agent needs. Of some
calls only what reaches others is denied: a signal, a limit or a turn on the processor for another process, and a file
that sends its signals (SIGIO) to one.

The filter is a second line: what it denies, the namespaces and the missing capabilities mostly deny as well. Alone it
stands before what no namespace separates (AF_VSOCK, sockets of the file system, keyrings, io_uring), and before fork,
whose number of processes the kernel doesn't limit for root. The program is classic BPF over `struct seccomp_data`
(seccomp(2)); the list follows what container engines deny by default.
"""

from __future__ import annotations

import errno
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: number on x86_64, number on aarch64 (None: not there)
_NUMBERS: dict[str, tuple[int, int | None]] = {
    # makes a process
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    # reaches another process
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "tkill": (200, 130),
    # mounts, roots and namespaces
    "chroot": (161, 51),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "umount2": (166, 39),
    "unshare": (272, 97),
    # holds memory that no limit counts
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
    # keys are kept by user, and no namespace separates them
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "request_key": (249, 218),
    # does what other calls do, past this filter
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    # the machine itself
    "acct": (163, 89),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "lookup_dcookie": (212, 18),
    "perf_event_open": (298, 241),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_CLONE, _CLONE3, _SOCKET, _SOCKET_PAIR = (56, 220), (435, 435), (41, 198), (53, 199)
_SEND = (44, 206)
_TALK = {
    "bind": (49, 200),
    "connect": (42, 203),
    "listen": (50, 201),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
}
_SIGNALS = {
    "kill": (62, 129),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "tgkill": (234, 131),
}
_OWN = {  # the first argument names a process; 0 is the caller
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}
_OWN_OF_A_KIND = {  # the first argument says what the second one names, a process by this number
    "setpriority": ((141, 140), 0),
    "ioprio_set": ((251, 30), 1),
}
_FILE_CONTROL, _DEVICE_CONTROL = (72, 25), (16, 29)
_OWNERS = (8, 10, 15, 1024)  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE
_DEVICES = (0x8901, 0x8902, 0x5412, 0x541C, 0x540E, 0x5410)  # FIOSETOWN, SIOCSPGRP; TIOCSTI, -LINUX, -SCTTY, -SPGRP
FILE_SYSTEMS = (0x58, 0x66, 0x76, 0x94)  # the kinds of commands by which a file is changed that is open for reading
_THREAD = 0x00010000
_FILE_SYSTEM = 1  # AF_UNIX
_FAMILIES = (2, 10, 16)  # AF_INET, AF_INET6, AF_NETLINK: of this network namespace, which holds loopback only
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT, _FIFTH_ARGUMENT_AT = 0, 4, 16, 24, 48
_STREAM, _TYPE = 1, 0xF


def knows(machine: str) -> bool:
    """Whether there is a filter for this kind of machine."""
    return machine in _ARCHITECTURES


def denied(machine: str) -> dict[str, int]:
    """The calls that are denied whatever their arguments, with their numbers on this kind of machine."""
    column = list(_ARCHITECTURES).index(machine)
    numbers = {name: numbers[column] for name, numbers in _NUMBERS.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def program(machine: str, itself: int, *, walled: bool = True) -> bytes:
    """The filter for this kind of machine (`uname -m`) and the process of this number. Raises KeyError where there is
    none.

    Behind a wall sockets may be of the families that the network namespace holds. Where the process is not `walled`,
    sockets are made (the tripwire tells of what is done with them, and would not be asked if there were none) and reach
    nobody.
    """
    column = list(_ARCHITECTURES).index(machine) if knows(machine) else -1
    architecture = _ARCHITECTURES[machine]
    refused = [*denied(machine).values(), *(() if walled else (numbers[column] for numbers in _TALK.values()))]
    body = [
        *_only_if(_CLONE3[column], [_return(_ERROR | errno.ENOSYS)]),  # libc then uses clone, whose flags can be read
        *_only_if(_CLONE[column], _thread_only()),
        *_only_if(_SOCKET[column], _families_only(_FAMILIES if walled else (*_FAMILIES, _FILE_SYSTEM))),
        *_only_if(_SOCKET_PAIR[column], _streams_only()),
        *([] if walled else _only_if(_SEND[column], _connected_only())),
        *(step for numbers in _SIGNALS.values() for step in _only_if(numbers[column], _process_only(itself))),
        *(step for numbers in _OWN.values() for step in _only_if(numbers[column], _process_only(0, itself))),
        *(step for numbers, kind in _OWN_OF_A_KIND.values() for step in _only_if(numbers[column], _of(kind, itself))),
        *_only_if(_FILE_CONTROL[column], _but(_OWNERS)),
        *_only_if(_DEVICE_CONTROL[column], _but(_DEVICES, FILE_SYSTEMS)),
        *(step for number in refused for step in _only_if(number, [_return(_ERROR | errno.EPERM)])),
        _return(_ALLOW),
    ]
    head = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, architecture, 1, 0),
        _return(_KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_AT_LEAST, _X32, 0, 1),  # another numbering of the same calls
        _return(_ERROR | errno.ENOSYS),
    ]
    return b"".join((*head, *body))


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _return(value: int) -> bytes:
    return _step(_RETURN, value)


def _only_if(number: int, then: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, number, 0, len(then)), *then]


def _thread_only() -> list[bytes]:
    return [
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_AND, _THREAD),
        _step(_EQUAL, _THREAD, 0, 1),
        _return(_ALLOW),
        _return(_ERROR | errno.EPERM),
    ]


def _families_only(families: tuple[int, ...]) -> list[bytes]:
    tests = [step for family in families for step in (_step(_EQUAL, family, 0, 1), _return(_ALLOW))]
    return [_step(_LOAD, _FIRST_ARGUMENT_AT), *tests, _return(_ERROR | errno.EAFNOSUPPORT)]


def _connected_only() -> list[bytes]:
    """Send with no address: on a pair of sockets, since nothing else can be connected."""
    return [
        _step(_LOAD, _FIFTH_ARGUMENT_AT),
        _step(_EQUAL, 0, 0, 3),
        _step(_LOAD, _FIFTH_ARGUMENT_AT + 4),
        _step(_EQUAL, 0, 0, 1),
        _return(_ALLOW),
        _return(_ERROR | errno.EPERM),
    ]


def _process_only(*processes: int, at: int = _FIRST_ARGUMENT_AT) -> list[bytes]:
    """Done to one of these processes, named by its number."""
    tests = [step for process in processes for step in (_step(_EQUAL, process, 0, 1), _return(_ALLOW))]
    return [_step(_LOAD, at), *tests, _return(_ERROR | errno.EPERM)]


def _of(kind: int, itself: int) -> list[bytes]:
    """Done to this process, which the second argument names where the first one says that it names a process."""
    is_process = [_step(_LOAD, _FIRST_ARGUMENT_AT), _step(_EQUAL, kind, 1, 0), _return(_ERROR | errno.EPERM)]
    return [*is_process, *_process_only(0, itself, at=_SECOND_ARGUMENT_AT)]


def _but(commands: tuple[int, ...], kinds: tuple[int, ...] = ()) -> list[bytes]:
    """Any command but these and those of these kinds (its second byte), in the second argument; the kernel takes its
    lower half alone.
    """
    tests = [step for command in commands for step in _refused(command)]
    of_kind = [step for kind in kinds for step in _refused(kind << 8)]
    return [_step(_LOAD, _SECOND_ARGUMENT_AT), *tests, _step(_AND, 0xFF00), *of_kind, _return(_ALLOW)]


def _refused(value: int) -> tuple[bytes, bytes]:
    return _step(_EQUAL, value, 0, 1), _return(_ERROR | errno.EPERM)


def _streams_only() -> list[bytes]:
    """A pair of datagram sockets could be connected again, to a socket of the file system."""
    return [
        _step(_LOAD, _SECOND_ARGUMENT_AT),
        _step(_AND, _TYPE),
        _step(_EQUAL, _STREAM, 0, 1),
        _return(_ALLOW),
        _return(_ERROR | errno.EAFNOSUPPORT),
    ]
