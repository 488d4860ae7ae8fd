"""How is a document shown without its secrets? The one place that every output goes through.

Values that were found in the evidence are replaced by their names wherever they stand, in whatever spelling, and so is
the head of one that was cut off; texts are looked through once more where the evidence could not be looked through
whole. Only texts inside a document change, never its bytes, so what comes out is read as what went in. Ids that link
records are never touched.
"""

from __future__ import annotations

import functools
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from forensics.analysis.content.matcher import spans
from forensics.analysis.content.patterns import compile_pattern, triggers
from forensics.analysis.content.values import members_of, name_of_item
from forensics.core.jsonvalue import decode_embedded
from forensics.core.late import late
from forensics.core.sanitise import one_line, visible
from forensics.core.secrets import CREDENTIAL, NAME, Secrets
from forensics.report.rows import Making, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.reading import Reading
    from forensics.core.secrets import Secret

T = TypeVar("T")

_KEPT = frozenset(
    [
        "schema",
        "sha256",
        "member_sha256",
        "digest",
        "bytes_sha256",
        "fingerprint",
        "code",
        "id",
        "call_id",
        "trace",
        "occurrence",
    ]
)
"""Fields of our own rows that hold codes, digests and the ids that link records."""

_CUT = "…"
_CUT_HEAD = 4  # characters of a value that is cut off; fewer tell nothing
_CUT_WINDOW = 400  # characters; nothing that is cut off keeps more of a value
_SHORTEST = 5  # characters; a shorter value is hidden where it stands, not wherever its letters stand
_ALONE = 12  # characters; a shorter value counts only where no letter or digit stands beside it
_SHORT, _REMEMBERED = 64, 10_000  # characters of a text that is remembered to hold nothing, and how many are
_LITERAL = 256  # bytes of a spelling in the automaton, whose states for one that repeats itself grow with the square
_JOINTS = late(r"[^A-Za-z0-9_-]+")
_DIGIT = late("[0-9]")
_WORD = late(r"[a-z]+|[A-Z]?[a-z]+")
_MAIL = "email"
_ADDRESS = r"[A-Za-z0-9][A-Za-z0-9._%+-]*(?:@|%40)(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}"
_encoder = msgspec.json.Encoder()


class _Part(msgspec.Struct, frozen=True, order=True):
    """A part of a text that is replaced."""

    start: int
    end: int
    name: str


class Redactor:
    """Replaces the secret values of these evidences, and whatever looks like one beside them."""

    def __init__(self, evidences: Sequence[Secrets] = ()) -> None:
        self._evidences = tuple(evidences) or (Secrets(),)
        self._names = {value: secret for one in self._evidences for value, secret in one.known.items()}
        self._ids = frozenset(value for one in self._evidences for value in one.ids)
        packed = {value: secret for one in self._evidences for value, secret in one.packed.items()}
        held = {**packed, **self._names}
        self._spelled = {
            written: secret
            for value, secret in held.items()
            for written in ({value.encode()} if secret.kind == _MAIL else _spelled(value))
        }
        mails = frozenset(value for value, secret in self._names.items() if secret.kind == _MAIL)
        addresses = frozenset(written.encode() for value in mails for written in (value, quote(value, safe="")))
        self._spelled.update((quote(value, safe="").encode(), self._names[value]) for value in mails)
        self._longer = _longer(self._spelled)
        self._patterns = _patterns({*filter(_is_short, self._spelled), *self._longer}, addresses)
        self._heads = _heads(self._spelled)
        self._longest = min(max(map(len, self._spelled), default=1), _CUT_WINDOW)
        everywhere = all(_is_distinct(value) for value in self._names)
        self._known_only = everywhere and all(one.complete for one in self._evidences)
        self._clean: set[str] = set()  # short texts, such as names of fields, that were found to hold nothing

    @property
    def idle(self) -> bool:
        """Whether nothing is to be hidden: every byte was looked through, and no value found."""
        return self._known_only and not self._names

    # documents -------------------------------------------------------------------------------------------------------

    def document(self, document: T) -> T:
        """The same document without the values."""
        return document if self.idle else self._any(document, None)

    def _any(self, item: Any, key: str | None) -> Any:
        if isinstance(item, msgspec.Struct):
            return self._row(item) if self._may_hold(item) else item
        if isinstance(item, str):
            return self.text(item, key)
        if isinstance(item, Rows):
            return Rows(len(item), functools.partial(self._rows, item), Making(item.making.parts))
        if isinstance(item, (dict, list, tuple)):
            return self.value(item, key)
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            shown = self.text(str(item), key)
            return item if shown == str(item) else shown
        return item

    def _rows(self, rows: Rows[Any], wanted: range) -> list[Any]:
        return [self._any(row, None) for row in rows[wanted.start : wanted.stop]]

    def _row(self, row: msgspec.Struct) -> msgspec.Struct:
        changed = {}
        for name in row.__struct_fields__:
            before = getattr(row, name)
            keeps = name in _KEPT or isinstance(before, (int, float))  # numbers of ours count and place
            after = before if keeps else self._any(before, None)
            if after is not before:
                changed[name] = after
        return msgspec.structs.replace(row, **changed) if changed else row

    def _may_hold(self, item: object) -> bool:
        try:
            data = _encoder.encode(item)
        except (UnicodeEncodeError, TypeError):  # broken text, or rows that are made when they are asked for
            return True
        if self._holds_known(data):
            return True
        if not self._known_only:
            return any(trigger.pattern.search(data) is not None for trigger in triggers())
        return bool(self._heads) and _CUT.encode() in data

    def value(self, value: Any, key: str | None = None) -> Any:
        """The same JSON value without them; a member is judged by its name too."""
        if isinstance(value, dict):
            names = _told_apart(self.text(name) for name in value)
            made = {
                name: self._any(item, lent)
                for name, (_, lent, item) in zip(names, members_of("", key, value), strict=True)
            }
            return made if made != value else value
        items = [self._any(item, name_of_item(value, at, key)) for at, item in enumerate(value)]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)

    # texts -----------------------------------------------------------------------------------------------------------

    def text(self, text: str, key: str | None = None) -> str:
        """The same text without them; `key` is the name of the field that holds it."""
        if text in self._clean or (len(text) < _CUT_HEAD and key is None):
            return text
        data = text.encode("utf-8", "surrogatepass")
        if self._known_only and not self._holds_known(data):
            if _CUT in text:
                return self._uncut(text)
            if len(text) <= _SHORT and len(self._clean) < _REMEMBERED:
                self._clean.add(text)
            return text
        inside = self._json(text)
        if inside is not None:
            return inside
        if _CUT in text:  # before the parts of a value are hidden one by one
            text = self._uncut(text)
            data = text.encode("utf-8", "surrogatepass")
        parts = sorted([*self._known_in(data), *self._looks_like(data, key)])
        return _replaced(data, parts).decode("utf-8", "surrogatepass") if parts else text

    def _json(self, text: str) -> str | None:
        """A text that is JSON stays JSON; None for any other."""
        decoded = decode_embedded(text)
        if decoded is None or decoded.faults:
            return None
        shown = self.value(decoded.value)
        if shown is decoded.value:
            return text
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))

    def _holds_known(self, data: bytes) -> bool:
        return any(pattern.search(data) is not None for pattern in self._patterns)

    def _known_in(self, data: bytes) -> Iterator[_Part]:
        for pattern in self._patterns:
            for start, end in self._places(pattern, data):
                secret = self._spelled.get(data[start:end])  # None: an address that is none of a person
                alone = not (_is_word(data[max(start - 1, 0) : start]) or _is_word(data[end : end + 1]))
                if secret is not None and (alone or end - start >= _ALONE):
                    yield _Part(start, end, secret.name)

    def _places(self, pattern: Any, data: bytes) -> Iterator[tuple[int, int]]:
        """Where a spelling begins and ends; of a long one only the beginning is in the pattern."""
        begin: int | None = 0
        while begin is not None:
            at, begin = begin, None
            for match in pattern.finditer(data, at):
                start, end = match.span()
                longer = self._longer.get(data[start:end])
                if longer is not None:
                    end = start + next((len(one) for one in longer if data.startswith(one, start)), 0)
                if end == start:
                    begin = start + 1
                    break
                yield start, end

    def _looks_like(self, data: bytes, key: str | None) -> Iterator[_Part]:
        if self._known_only:
            return
        shown = NAME.sub(lambda name: b" " * len(name[0]), data)  # a name looks like a secret itself
        for span in spans(shown, key):
            if span.value not in self._ids:
                yield _Part(span.start, span.end, self._secret(span.value, span.kind, span.group).name)

    def _secret(self, value: str, kind: str, group: str) -> Secret:
        known = self._names.get(value)
        return known if known is not None else self._evidences[0].secret(value, kind, group)

    def _uncut(self, text: str) -> str:
        """The text without the head of a value that it cuts off."""
        if not self._heads or _CUT not in text:
            return text
        pieces = text.split(_CUT)
        return _CUT.join([*map(self._headless, pieces[:-1]), pieces[-1]])

    def _headless(self, piece: str) -> str:
        window = piece[-self._longest :]
        for at in range(len(window) - _CUT_HEAD + 1):
            tail = window[at:]
            for written, secret in self._heads.get(tail[:_CUT_HEAD], ()):
                if written.startswith(tail):
                    return piece[: len(piece) - len(tail)] + secret.name
        return piece


def _told_apart(names: Iterable[str]) -> Iterator[str]:
    """The names of the members of an object, where two may be spellings of one value: the second is `name#2`."""
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}"


def _replaced(data: bytes, parts: list[_Part]) -> bytes:
    pieces, position = [], 0
    for part in parts:
        if part.start >= position:
            pieces += [data[position : part.start], part.name.encode()]
            position = part.end
    return b"".join([*pieces, data[position:]])


def _is_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_"


def _is_distinct(value: str) -> bool:
    """Whether a value is told from other text by itself: long enough, and no word."""
    return len(value) >= _SHORTEST and _WORD.fullmatch(value) is None


def _spelled(value: str) -> set[bytes]:
    """A distinct value as it may be written: as it is, escaped once and twice, quoted for a URL, in base64."""
    if not _is_distinct(value):
        return set()
    from base64 import b64encode, urlsafe_b64encode

    plain = value.encode("utf-8", "surrogatepass")
    escaped = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    twice = {json.dumps(one, ensure_ascii=False)[1:-1] for one in escaped}
    packed = {quote(plain, safe=""), *(encode(plain).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode))}
    shown = {visible(value), one_line(value, 2 * len(value)), *_pieces(value)}
    return {plain, *(one.encode("utf-8", "surrogatepass") for one in escaped | twice | packed | shown)}


def _pieces(value: str) -> Iterator[str]:
    """The parts of a value that analyses of tokens see alone: long ones that are no word."""
    return (one for one in _JOINTS.split(value) if len(one) >= _ALONE and _DIGIT.search(one) and not one.isdigit())


def _is_short(written: bytes) -> bool:
    return len(written) < _LITERAL


def _longer(spelled: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """The long spellings by their beginning, the longest first."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for written in sorted(spelled, key=lambda one: (-len(one), one)):
        if not _is_short(written):
            found[written[:_LITERAL]].append(written)
    return dict(found)


def _patterns(spelled: set[bytes], addresses: frozenset[bytes]) -> tuple[Any, ...]:
    """One automaton for all spellings, the longest first. Addresses, of which there may be tens of thousands, have one
    of their own: they are told by their shape, and then looked up.
    """
    import re2

    ordered = sorted(spelled - addresses, key=lambda one: (-len(one), one))
    literals = "|".join(re2.escape(one).decode("latin-1") for one in ordered)
    return tuple(compile_pattern(pattern) for pattern in (literals, _ADDRESS if addresses else "") if pattern)


def _heads(spelled: dict[bytes, Secret]) -> dict[str, list[tuple[str, Secret]]]:
    """The spellings by their first characters."""
    found: dict[str, list[tuple[str, Secret]]] = defaultdict(list)
    for written, secret in sorted(spelled.items()):
        text = written.decode("utf-8", "surrogatepass")
        found[text[:_CUT_HEAD]].append((text, secret))
    return dict(found)


def redactor_of(readings: Iterable[Reading | None], *, new: bool = False, written: Iterable[str] = ()) -> Redactor:
    """What hides the secrets of these readings; `new` says that there may be texts beside theirs. `written` are the
    texts that people wrote for the documents themselves (reasons, titles, names of files).
    """
    known = [reading.secrets for reading in readings if reading is not None]
    known = [_slips(written, known), *known]
    return Redactor([msgspec.structs.replace(one, complete=False) for one in known] if new else known)


def _slips(written: Iterable[str], known: Sequence[Secrets]) -> Secrets:
    """The credentials in texts that people wrote. Personal data stay: who vouches for a tool is meant to be read."""
    own = Secrets(known[0].key) if known else Secrets()
    ids = frozenset(value for one in known for value in one.ids)
    texts = (text.encode("utf-8", "surrogatepass") for text in dict.fromkeys(written))
    found = [span for text in texts for span in spans(text, None) if span.group == CREDENTIAL and span.value not in ids]
    named = {span.value: own.secret(span.value, span.kind, span.group) for span in found}
    packed = {span.packed: named[span.value] for span in found if span.packed is not None}
    return msgspec.structs.replace(own, known=named, packed=packed, complete=bool(known))
