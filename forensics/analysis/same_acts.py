"""Which calls ask for the same act? Those with equal arguments, where 50 is 50.0, and those that differ in nothing but
the idempotency key: whoever chose another key made another request of the same act.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from forensics.analysis.idempotency import MAY_HOLD_A_KEY, is_idempotency_key
from forensics.core.jsonvalue import SAFE_INTEGER, canonical, value_of
from forensics.rules.conditions import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Call, Calls

_WHOLE = r"[0-9]\.0+(?:[^0-9]|$)|[0-9][eE][+-]?[0-9]"
_DEEPEST = 64  # levels of arguments that are compared so; what stands deeper is compared as it is


def acts_asked(calls: Calls, adding: Sequence[int], arguments: Sequence[int]) -> Sequence[int]:
    """A number for the act that each call asks for, the same for the same act of one agent by one tool. `arguments` are
    the numbers of their arguments as they were written, and `adding` says which calls add to the world: of the others
    the number is that of the arguments.
    """
    among = {(call.agent, call.tool) for call in _spelled_otherwise(calls, adding)}
    if not among:
        return arguments
    numbers, known = list(arguments), dict[tuple[str, str, bytes], int]()
    for call in map(calls.__getitem__, compress(range(len(calls)), adding)):
        if (call.agent, call.tool) in among and call.arguments is not None:
            asked = canonical(_act(value_of(call.arguments)))
            numbers[call.row] = known.setdefault((call.agent, call.tool, asked), numbers[call.row])
    return numbers


def _spelled_otherwise(calls: Calls, adding: Sequence[int]) -> Iterator[Call]:
    """The calls whose arguments may hold a key, or a whole number that is written as a fraction."""
    may_hold_one = compile_pattern(f"{MAY_HOLD_A_KEY}|{_WHOLE}").search
    for rows in calls.parts() if any(adding) else ():
        texts = calls.arguments(rows)
        if may_hold_one(b"\n".join(filter(None, texts))) is not None:
            told = zip(rows, texts, strict=True)
            yield from (calls[row] for row, text in told if adding[row] and text and may_hold_one(text))


def _act(arguments: Any) -> Any:
    """Arguments without their idempotency keys, and with whole numbers written as such."""
    if isinstance(arguments, dict):
        arguments = {name: item for name, item in arguments.items() if not is_idempotency_key(name)}
    return _whole(arguments, _DEEPEST)


def _whole(value: Any, levels: int) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= SAFE_INTEGER else value
    if levels and isinstance(value, dict):
        return {name: _whole(item, levels - 1) for name, item in value.items()}
    return [_whole(item, levels - 1) for item in value] if levels and isinstance(value, list) else value
