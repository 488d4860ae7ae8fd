"""Does a call say of itself that it is for show only? An argument such as `dry_run: true` asks a tool to do nothing.

What a call claims of itself clears nothing: a tool may not know the argument, or ignore it. It only leaves open whether
two such calls took effect twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import unfold, value_of
from forensics.core.late import late
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Call

_SPELLED = late(r"[^a-z]")
_ASKS = frozenset(
    {
        *("dryrun", "isdryrun", "dryrunonly", "dryrunmode", "noop", "whatif", "pretend"),
        *("simulate", "simulated", "simulation", "simulateonly", "issimulation"),
        *("preview", "previewonly", "ispreview", "planonly", "testonly"),
        *("checkonly", "checkmode", "validateonly", "validationonly"),
    }
)
_ACTS = frozenset({"commit", "apply", "execute", "doit", "forreal"})
_MODES = frozenset({"mode", "runmode", "executionmode"})
_YES = frozenset({"true", "yes", "on", "1", "all", "client", "server"})  # the last three are those of Kubernetes
_NO = frozenset({"false", "no", "off", "0"})
_FLAG = late(
    r"[^;&|<>#$`'\"\n]*(?<!\S)(--(?:dry[-_]?run|what-?if|simulate)|-whatif)(?:=(?:true|all|client|server))?(?!\S)[^;&|<>#$`'\"\n]*",
    re.IGNORECASE,
)
"""A flag of a text that is one plain command: behind what joins two it may be the other that has it."""
_WOULD = late(r"\W*would[ _-]|\W*(?:dry[ _-]?run|simulat(?:ed|ion)|preview)\b", re.IGNORECASE)
_NAME = 40


def dry_run_claimed(calls: Sequence[Call]) -> str:
    """What calls with equal arguments claim, as the end of a sentence: that an argument asks for a dry run, and whether
    each result tells it as one. Empty where no argument asks for that.
    """
    asked = _asked(value_of(calls[0].arguments)) if calls[0].arguments is not None else ""
    if not asked:
        return ""
    told = all(call.result is not None and _tells_of_one(unfold(value_of(call.result))) for call in calls)
    results = "the results tell what would be done" if told else "no result bears it out"
    return f"; {one_line(asked, _NAME)} asks for a dry run and {results}, but nothing proves that the tool heeds it"


def _asked(arguments: Any) -> str:
    """The argument that asks for a dry run, or the flag in one."""
    held = arguments if isinstance(arguments, Mapping) else {}
    asking = (_asks(str(name), value) for name, value in held.items())
    return next(filter(None, asking), "")


def _asks(name: str, value: Any) -> str:
    spelled, said = _SPELLED.sub("", name.lower()), _said(value)
    if spelled in _MODES:
        return name if _SPELLED.sub("", said) in _ASKS else ""
    if said in _YES if spelled in _ASKS else spelled in _ACTS and said in _NO:
        return name
    words = value if isinstance(value, list) else [value]
    flags = (_FLAG.fullmatch(word) for word in words if isinstance(word, str))
    return next((flag[1] for flag in flags if flag), "")


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value[:_NAME].lower()
    return "true" if value in (True, 1) else "false" if value in (False, 0) else ""


def _tells_of_one(result: Any) -> bool:
    """Whether a result tells what would be done: a text that begins so, or a member that is named so."""
    if isinstance(result, str):
        return _WOULD.match(result) is not None
    if not isinstance(result, Mapping):
        return False
    return any(str(name).lower().startswith("would") for name in result) or _asked(result) != ""
