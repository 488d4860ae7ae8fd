"""Which records does a value hold, through the lists and members that stand around them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import fields_of, items_of, opens_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.core.trace import Payload
    from forensics.formats.shared.fields import Fields


def records_in(value: Payload, around: Callable[[Fields], Sequence[str]]) -> Iterator[tuple[Payload, Fields, str]]:
    """Each value that is no list and stands around no others, with its members and its JSON Pointer, in order. `around`
    names the members in which an object holds others: it is asked of each object just before what stands in these is
    told, and once. Iterative: they may stand as deep as the evidence likes.
    """
    todo: list[tuple[Payload, str]] = [(value, "")]
    while todo:
        held, pointer = todo.pop()
        if opens_with(held, b"["):
            todo.extend([(item, f"{pointer}/{at}") for at, item in enumerate(items_of(held))][::-1])
            continue
        fields = fields_of(held)
        members = around(fields)
        if members:
            todo.extend([(fields[name], f"{pointer}/{name}") for name in members][::-1])
        else:
            yield held, fields, pointer
