"""Which promises does every reader keep, and how is each one tried?

A damaged or hostile file gives a document with an error, a gap or a finding, in bounded time and memory, and nothing
else: no other exception, no write beside it, no other story for the same content (RELIABILITY sections 1 to 4).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.api import Options, examine
from forensics.report.jsonout import json_bytes
from forensics.testing.mutations import Mutation, mutations, shuffles, truncations
from forensics.testing.story import Story, story_of

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

_SECONDS = 2.0  # of CPU time, for a file of at most _SMALL bytes
_SMALL = 1 << 20
_MEGABYTES = 256
_SHUFFLES = 20
_UNITS_PER_MEGABYTE = 1 << 20 if sys.platform == "darwin" else 1 << 10  # of ru_maxrss: bytes there, else kilobytes


class Sample(msgspec.Struct, frozen=True):
    """A whole file of one format: its bytes, and the name by which `--input-format` forces its reader. `mutations` is
    how many damaged copies are tried, `seed` which ones.
    """

    format: str
    data: bytes
    mutations: int = 2000
    seed: int = 0


class Breach(msgspec.Struct, frozen=True):
    """A promise that was not kept: which, with what, and the bytes that show it."""

    promise: str
    what: str
    data: bytes

    def __repr__(self) -> str:
        return f"{self.promise}: {self.what} ({len(self.data)} bytes)"


Promise = Callable[[Sample, Path], Iterator[Breach]]
"""Tries one sample in an empty folder, and tells every breach."""


def check_reader(format_name: str, sample: bytes | Path, *, mutations: int = 2000, seed: int = 0) -> tuple[Breach, ...]:
    """Every breach of a promise by the reader of that format, tried with damaged copies of a whole file (its bytes, or
    its path). Empty where it keeps them all.
    """
    data = sample.read_bytes() if isinstance(sample, Path) else sample
    one = Sample(format_name, data, mutations, seed)
    with tempfile.TemporaryDirectory(prefix="forensics-testing-") as folder:
        return tuple(breach for promise in PROMISES.values() for breach in promise(one, Path(folder)))


def _only_our_errors(promise: str, sample: Sample, folder: Path, damaged: Iterable[Mutation]) -> Iterator[Breach]:
    """Each damaged copy gives a document, in time. Read as its format, and every tenth one by its content alone."""
    path = folder / "evidence"
    before = _peak()
    for one in damaged:
        path.write_bytes(one.data)
        for forced in (sample.format, None)[: 2 if one.number % 10 == 0 else 1]:
            start = time.process_time()
            fault = _fault(path, forced)
            spent = time.process_time() - start
            if fault is None and spent > _SECONDS and len(one.data) <= _SMALL:
                fault = f"took {spent:.1f} s of CPU time"
            if fault is not None:
                yield Breach(promise, f"copy {one.number} ({one.how}): {fault}", one.data)
    grown = _peak() - before
    if grown > _MEGABYTES and len(sample.data) <= _SMALL:
        yield Breach(promise, f"memory grew by {grown} MB", sample.data)


def _fault(path: Path, forced: str | None) -> str | None:
    """What went wrong in an examination; a failure is the answer here, whatever its type."""
    try:
        json.loads(json_bytes(examine(path, Options(input_format=forced)).audit()), parse_constant=_refuse)
    except Exception as error:  # noqa: BLE001 - any exception that escapes is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def _refuse(text: str) -> None:
    message = f"{text} is no JSON"
    raise ValueError(message)


def _peak() -> int:
    """The most memory that the process ever held, in MB; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // _UNITS_PER_MEGABYTE


# the promises --------------------------------------------------------------------------------------------------------


def survives_being_cut(sample: Sample, folder: Path) -> Iterator[Breach]:
    """The file cut at every fiftieth part."""
    yield from _only_our_errors("survives_being_cut", sample, folder, truncations(sample.data))


def survives_damage(sample: Sample, folder: Path) -> Iterator[Breach]:
    """Seeded damage to its bytes and to the values in it."""
    damaged = mutations(sample.data, sample.seed, sample.mutations)
    yield from _only_our_errors("survives_damage", sample, folder, damaged)


def survives_another_order(sample: Sample, folder: Path) -> Iterator[Breach]:
    """Its lines in other orders."""
    mixed = shuffles(sample.data, sample.seed, min(_SHUFFLES, sample.mutations))
    yield from _only_our_errors("survives_another_order", sample, folder, mixed)


def leaves_the_input_alone(sample: Sample, folder: Path) -> Iterator[Breach]:
    """Neither the file nor its folder changes, and the same file gives the same bytes."""
    own = folder / "alone"
    own.mkdir()
    path = own / "evidence"
    path.write_bytes(sample.data)
    before = path.stat()
    first, second = (json_bytes(_audit(path)) for _ in range(2))
    after = path.stat()
    if [p.name for p in own.iterdir()] != [path.name]:
        yield Breach("leaves_the_input_alone", "a file was written beside it", sample.data)
    if path.read_bytes() != sample.data or (before.st_mtime_ns, before.st_mode) != (after.st_mtime_ns, after.st_mode):
        yield Breach("leaves_the_input_alone", "it was changed", sample.data)
    if first != second:
        yield Breach("leaves_the_input_alone", "two examinations of it differ", sample.data)


def tells_one_story(sample: Sample, folder: Path) -> Iterator[Breach]:
    """The same content written down in another way gives the same calls, verdicts and findings."""
    path = folder / "evidence"
    path.write_bytes(sample.data)
    wanted = story_of(_audit(path, sample.format))
    for how, data in _written_otherwise(sample.data):
        path.write_bytes(data)
        told = story_of(_audit(path, sample.format))
        if told != wanted:
            yield Breach("tells_one_story", f"{how}: {_difference(wanted, told)}", data)


def _audit(path: Path, forced: str | None = None) -> AuditDocument:
    return examine(path, Options(input_format=forced)).audit()


def _difference(wanted: Story, told: Story) -> str:
    pairs = ((field, getattr(wanted, field), getattr(told, field)) for field in Story.__struct_fields__)
    return "; ".join(
        f"{field} were {before!r:.200} and are {after!r:.200}" for field, before, after in pairs if before != after
    )


def _written_otherwise(data: bytes) -> Iterator[tuple[str, bytes]]:
    texts = _texts(data)
    if texts is None:
        return
    yield "with a byte order mark", b"\xef\xbb\xbf" + data
    if len(texts) > 1 or b"\n" not in data.strip():
        yield "with carriage returns", b"".join(_spelled(t, ensure_ascii=False) + b"\r\n" for t in texts)
        yield "all characters escaped", b"".join(_spelled(t, ensure_ascii=True) + b"\n" for t in texts)
    if len(texts) == 1:
        yield "indented", _spelled(texts[0], ensure_ascii=False, indent=2)


def _texts(data: bytes) -> list[Any] | None:
    """The JSON values of the file: one, or one a line; None where it is something else, or no strict JSON."""
    for parts in ([data], [line for line in data.split(b"\n") if line.strip()]):
        try:
            return [json.loads(part, object_pairs_hook=_once, parse_constant=_refuse) for part in parts]
        except (ValueError, RecursionError):
            continue
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        message = "a key stands twice"
        raise ValueError(message)
    return dict(pairs)


def _spelled(value: Any, *, ensure_ascii: bool, indent: int | None = None) -> bytes:
    """A value as JSON; a lone surrogate, which UTF-8 can't hold, as its escape."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent).encode("utf-8", "backslashreplace")


PROMISES: dict[str, Promise] = {
    promise.__name__: promise
    for promise in (
        survives_being_cut,
        survives_damage,
        survives_another_order,
        leaves_the_input_alone,
        tells_one_story,
    )
}
