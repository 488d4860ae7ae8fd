"""Do messages arrive whole and in order, whatever pieces the bytes come in, and is everything else no message?"""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.errors import CellFaultError
from forensics.replay.cell.channel import MESSAGE, RAISED, TRIPPED, Channel

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 4096
Frames = list[tuple[int, bytes]]


def framed(frames: Frames) -> bytes:
    return b"".join(struct.pack(">IB", len(body), kind) + body for kind, body in frames)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, LIMIT), theirs


def received(data: bytes, sizes: list[int]) -> tuple[list[bytes], Channel]:
    """What a channel says of bytes that come in pieces of these sizes, and then an end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, LIMIT)
        said, at = [], 0
        for size in [*sizes, len(data)]:
            theirs.sendall(data[at : at + size])
            at += size
            while (message := channel.receive(0.0)) is not None:
                said.append(message)
        theirs.shutdown(socket.SHUT_WR)
        assert channel.receive(1.0) is None
        assert channel.ended
        return said, channel


frames = st.lists(st.tuples(st.sampled_from((MESSAGE, TRIPPED, RAISED)), st.binary(max_size=200)), max_size=8)


@given(frames, st.lists(st.integers(1, 60), max_size=20))
def test_messages_arrive_whole_and_in_order(sent: Frames, sizes: list[int]) -> None:
    said, channel = received(framed(sent), sizes)
    assert said == [body for kind, body in sent if kind == MESSAGE]
    assert channel.reports == [(kind, body) for kind, body in sent if kind != MESSAGE]


@given(st.binary(max_size=300))
def test_any_bytes_are_messages_or_a_fault(data: bytes) -> None:
    try:
        said, channel = received(data, [])
    except CellFaultError:
        return
    sent = framed([(MESSAGE, body) for body in said])
    assert len(sent) + sum(5 + len(body) for _, body in channel.reports) <= len(data)


def test_reports_are_kept_up_to_a_number(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.sendall(framed([(TRIPPED, b"{}")] * 100 + [(MESSAGE, b"last")]))
    assert channel.receive(1.0) == b"last"
    assert len(channel.reports) == 16


def test_nothing_in_time_is_no_end(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    assert channel.receive(0.01) is None
    assert not channel.ended
    other.sendall(framed([(MESSAGE, b"late")]))
    assert channel.receive(1.0) == b"late"


def test_a_side_that_is_gone_is_told_by_the_next_receive(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.close()
    for _ in range(3):
        channel.send(b"anybody?")
    assert channel.receive() is None
    assert channel.ended


def test_what_was_sent_before_the_end_is_read(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    there = Channel(other, LIMIT)
    there.send(b"one")
    there.send(b"two")
    there.finish()
    assert [channel.receive(1.0) for _ in range(3)] == [b"one", b"two", None]
    channel.send(b"the other way stays open")
    assert there.receive(1.0) == b"the other way stays open"


def test_a_report_waits_for_a_message_of_another_thread(ends: tuple[Channel, socket.socket]) -> None:
    """One that is larger than what lies between the sides, so that it is sent in pieces as they are read."""
    channel, other = ends
    body = b"x" * LIMIT
    senders = [threading.Thread(target=channel.send, args=(body,), daemon=True) for _ in range(200)]
    reporter = threading.Thread(target=channel.report, args=(TRIPPED, b"{}", 30.0), daemon=True)
    for thread in (*senders[:100], reporter, *senders[100:]):
        thread.start()
    theirs = Channel(other, LIMIT)
    assert [theirs.receive(30.0) for _ in senders] == [body] * len(senders)
    for thread in (*senders, reporter):
        thread.join(30.0)
    assert theirs.receive(0.1) is None
    assert theirs.reports == [(TRIPPED, b"{}")]


def test_closing_twice_is_closing(ends: tuple[Channel, socket.socket]) -> None:
    channel, _ = ends
    channel.close()
    channel.finish()
    channel.close()
    channel.send(b"x")
    assert channel.receive() is None
