"""Does the filter deny what its table says, on both kinds of machine? Run by an interpreter of classic BPF."""

from __future__ import annotations

import errno
import struct

import pytest

from forensics.replay.cell.wall.calls import denied, knows, program

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {  # clone, clone3, socket, socketpair, read
    "x86_64": (56, 435, 41, 53, 0),
    "aarch64": (220, 435, 198, 199, 63),
}
ITSELF = 77
SIGNALS = {"x86_64": (62, 129, 234, 297), "aarch64": (129, 138, 131, 240)}
TALK = {"x86_64": (42, 49, 50, 46, 307), "aarch64": (203, 200, 201, 211, 269)}
SEND = {"x86_64": 44, "aarch64": 206}
MEANS = {"x86_64": (302, 203, 314, 142, 144), "aarch64": (261, 122, 274, 118, 119)}
NICE = {"x86_64": {141: 0, 251: 1}, "aarch64": {140: 0, 30: 1}}
CONTROL = {"x86_64": (72, 16), "aarch64": (25, 29)}
ALLOW, KILL = 0x7FFF0000, 0x80000000
THREAD = 0x00010000


def error(number: int) -> int:
    return 0x00050000 | number


def outcome(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the program returns for one call, as seccomp(2) runs it over `struct seccomp_data`."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *(0,) * (6 - len(arguments)))
    steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    at, held = 0, 0
    for _ in range(len(steps)):
        operation, yes, no, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, value)
            case 0x54:
                held &= value
            case 0x15:
                at += yes if held == value else no
            case 0x35:
                at += yes if held >= value else no
            case 0x06:
                return int(value)
            case _:
                pytest.fail(f"an operation that is not expected: {operation:#x}")
    pytest.fail("the program does not end")


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def of(machine: str, number: int, *arguments: int) -> int:
    return outcome(program(machine, ITSELF), ARCHITECTURES[machine], number, *arguments)


def test_a_denied_call_is_an_error_whatever_its_arguments(machine: str) -> None:
    for number in denied(machine).values():
        assert of(machine, number) == of(machine, number, *[2**64 - 1] * 6) == error(errno.EPERM)


def test_other_calls_are_allowed(machine: str) -> None:
    clone, clone3, sock, pair, read = NUMBERS[machine]
    special = {*denied(machine).values(), *SIGNALS[machine], *NICE[machine], clone, clone3, sock, pair}
    assert read not in special
    assert {of(machine, number) for number in range(600) if number not in special} == {ALLOW}


def test_a_thread_is_made_and_a_process_is_not(machine: str) -> None:
    clone, clone3, *_ = NUMBERS[machine]
    assert of(machine, clone, THREAD | 0x3D0F00) == ALLOW
    assert of(machine, clone, 0x3D0F00 & ~THREAD) == of(machine, clone, 17) == error(errno.EPERM)
    assert of(machine, clone3) == error(errno.ENOSYS)


def test_sockets_are_of_the_internet_or_of_the_kernel(machine: str) -> None:
    _, _, sock, pair, _ = NUMBERS[machine]
    allowed = [family for family in range(64) if of(machine, sock, family) == ALLOW]
    assert allowed == [2, 10, 16]
    assert [kind for kind in range(16) if of(machine, pair, 1, kind | 0o2000000) == ALLOW] == [1]


def test_without_a_wall_a_socket_reaches_nobody(machine: str) -> None:
    _, _, sock, pair, _ = NUMBERS[machine]
    code, architecture = program(machine, ITSELF, walled=False), ARCHITECTURES[machine]
    assert [family for family in range(64) if outcome(code, architecture, sock, family) == ALLOW] == [1, 2, 10, 16]
    assert outcome(code, architecture, pair, 1, 1) == ALLOW
    for number in TALK[machine]:
        assert outcome(code, architecture, number) == error(errno.EPERM)
        assert of(machine, number) == ALLOW
    send = SEND[machine]
    assert outcome(code, architecture, send, 3, 2**40, 5, 0, 0) == ALLOW
    assert {outcome(code, architecture, send, 3, 0, 5, 0, to) for to in (1, 2**32, 2**40 + 8)} == {error(errno.EPERM)}


def test_signals_go_to_the_process_itself(machine: str) -> None:
    for number in SIGNALS[machine]:
        assert of(machine, number, ITSELF, 9) == ALLOW
        assert {of(machine, number, other, 9) for other in (0, 1, 2, 2**32 - 1, 2**64 - 1)} == {error(errno.EPERM)}


@pytest.mark.parametrize("walled", [True, False])
def test_means_are_those_of_the_process_itself(machine: str, *, walled: bool) -> None:
    """Limits and turns on the processor: 0 is the caller, and every other number somebody else."""
    code, architecture = program(machine, ITSELF, walled=walled), ARCHITECTURES[machine]
    for number in MEANS[machine]:
        assert {outcome(code, architecture, number, own) for own in (0, ITSELF)} == {ALLOW}
        assert {outcome(code, architecture, number, one) for one in (1, 2, 2**32 - 1)} == {error(errno.EPERM)}
    for number, kind in NICE[machine].items():
        assert {outcome(code, architecture, number, kind, own) for own in (0, ITSELF)} == {ALLOW}
        assert outcome(code, architecture, number, kind, 1) == error(errno.EPERM)
        others = {outcome(code, architecture, number, other, 0) for other in range(4) if other != kind}
        assert others == {error(errno.EPERM)}  # a group of processes, or all of a user


@pytest.mark.parametrize("walled", [True, False])
def test_no_file_sends_its_signals_to_others(machine: str, *, walled: bool) -> None:
    code, architecture = program(machine, ITSELF, walled=walled), ARCHITECTURES[machine]
    control, device = CONTROL[machine]
    denied_of_files = [one for one in range(2000) if outcome(code, architecture, control, 3, one) != ALLOW]
    assert denied_of_files == [8, 10, 15, 1024]
    sets = {outcome(code, architecture, device, 3, one) for one in (0x8901, 0x8902, 0x5412, 2**32 + 0x8901)}
    assert sets == {error(errno.EPERM)}
    assert {outcome(code, architecture, device, 3, one) for one in (0x5401, 0x5413, 0x541B, 0x5421)} == {ALLOW}


@pytest.mark.parametrize("walled", [True, False])
def test_no_command_changes_a_file_that_is_open_for_reading(machine: str, *, walled: bool) -> None:
    """FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FS_IOC_ENABLE_VERITY, FICLONE: a kind each, whatever the
    size of what they take.
    """
    code, architecture = program(machine, ITSELF, walled=walled), ARCHITECTURES[machine]
    commands = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40806685, 0x40049409)
    device = CONTROL[machine][1]
    assert {outcome(code, architecture, device, 3, one) for one in commands} == {error(errno.EPERM)}


def test_another_architecture_ends_the_process(machine: str) -> None:
    assert outcome(program(machine, ITSELF), 0x40000003, 2) == KILL
    assert of(machine, 0x40000000) == of(machine, 0xFFFFFFFF) == error(errno.ENOSYS)


@pytest.mark.parametrize("walled", [True, False])
def test_no_jump_leaves_the_program(machine: str, *, walled: bool) -> None:
    code = program(machine, ITSELF, walled=walled)
    steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    assert all(at + 1 + max(yes, no) < len(steps) for at, (operation, yes, no, _) in enumerate(steps) if operation != 6)
    assert len(steps) < 4096  # BPF_MAXINSNS


def test_a_number_stands_once_on_each_machine(machine: str) -> None:
    numbers = list(denied(machine).values())
    assert len(numbers) == len(set(numbers))


def test_other_machines_have_none() -> None:
    assert not knows("riscv64")
    with pytest.raises(KeyError):
        program("riscv64", ITSELF)
