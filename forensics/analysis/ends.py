"""What does a result say of how its call ended? That it failed, that there was nothing left to do, or that an answer
never came, so that nobody knows whether it took effect.

One rule for every format: a message, a log line and a span that say `Request timed out` say the same. Only a result
that is nothing but such words counts; a report that speaks of a timeout is none, and whether it matters depends on the
tool (`DOUBTFUL`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum

from forensics.analysis.inband import says_it_failed
from forensics.core.jsonvalue import unfold
from forensics.core.late import late
from forensics.core.rpc_errors import RpcEnd, answered, error_in


class End(StrEnum):
    """How a call ended, by the words of its result."""

    FAILED = "failed"
    DONE_BEFORE = "done_before"
    OPEN = "open"
    DOUBTFUL = "doubtful"


NOTHING_DONE = frozenset({End.FAILED, End.DONE_BEFORE})
"""After these the call did nothing, as its result says."""

_LONGEST = 400  # characters of a text that is nothing but an error
_MOST_MEMBERS = 16
_LEAST_LOST, _LEAST_REFUSED, _MOST_STATUS = 500, 400, 599
_LATE_STATUS = 408

# the words -----------------------------------------------------------------------------------------------------------

_CUT_OFF = (
    r"timed[ -]?out|deadline[ _]?exceeded|reset by (?:the )?(?:peer|server|remote)|broken ?pipe|socket hang ?up"
    r"|connection (?:(?:was|has been|is|got) )?(?:forcibly )?"
    r"(?:reset|aborted|dropped|lost|broken|terminated|interrupted)"
    r"|connection (?:(?:was|has been) )?closed (?:unexpectedly|prematurely|by|before|without|while)"
    r"|(?:server|remote end|remote host|peer) (?:unexpectedly )?(?:closed (?:the )?connection|disconnected)"
    r"|lost (?:the )?connection|unexpected (?:eof|end of (?:file|stream|input))"
    r"|(?:no|without) (?:a )?(?:response|reply|answer) (?:was )?(?:from|received|within)"
    r"|did ?n[o']t (?:respond|reply|answer)|did not (?:respond|reply|answer)"
    r"|\be(?:timedout|sockettimedout|connreset|connaborted|pipe)\b|\b(?:mcp|json-?rpc) error -3200[01]\b"
)
"""Verbs for an answer that did not come: in the result of a write they leave doubt wherever they stand."""
_LATE = (
    r"time[- ]?out(?:error|exception|expired)?\b(?!s)|\b(?:internal server error|bad gateway)\b"
    r"|\bservice (?:temporarily )?unavailable\b|\bremotedisconnected\b|\bincompleteread\b"
    r"|\b(?:request|operation|call|execution|command) (?:(?:was|has been|is) )?(?:cancell?ed|aborted|interrupted)\b"
)
"""Nouns for it: they tell in what is an error already, or where they are all that is said."""
_OF_AN_ERROR = (
    r"connection ?(?:closed|error|reset|aborted)|network ?error|internal error|(?:cancell?ed|abort)error"
    r"|deadlineexceeded|(?:http|status|code)\W{0,3}5\d\d\b|\b5\d\d (?:server error|[a-z]+ error)"
)
"""What tells only in an error: a tool that closes connections may say that one is closed."""
_LOST = late(rf"{_CUT_OFF}|{_LATE}|{_OF_AN_ERROR}", re.IGNORECASE)
_MISSED = late(rf"(?P<verb>{_CUT_OFF})|{_LATE}", re.IGNORECASE)
_SIGNS = (
    "timed", "timeout", "time out", "time-out", "deadline", "reset", "broken", "hang", "connect", "eof", "end of",
    "respon", "reply", "answer", "epipe", "econn", "incompleteread", "network", "internal", "gateway", "unavailable",
    "abort", "cancel", "interrupt", "error -", "50", "52",
)  # fmt: skip
"""One of these stands in every text in which `_LOST` finds anything: looking for them costs a hundredth of it."""
_SUBJECTS = late(
    r"\W*(?:(?:the|a|an|this|your|https?|rpc|grpc|api|[45]\d\d|error|request|command|operation|upstream|gateway|read"
    r"|write|connect|connection|socket|stream|server|tool|call|execution|query|response|client|network|proxy|job|task"
    r"|step|process|transaction|payment|db|database|service|remote|host|peer|status|code)\W*){0,8}",
    re.IGNORECASE,
)
_WORDS_BEFORE = late(
    r"\W*(?:(?!(?:no|not|never|if|when|until|unless|that|which|and|but|with|tests?|\d+)\b)[\w'./:()-]+\s+){0,6}\W*",
    re.IGNORECASE,
)
_WHY = late(
    r"[^\w=]*(?:\s(?:after|while|when|waiting|for|before|during|by|from|within|without|on|in|to|at|of|exceeded|limit).*)?",
    re.IGNORECASE | re.DOTALL,
)
_OF_WHOM = late(r"(?:no|without) ", re.IGNORECASE)
_MOST_BEFORE, _MOST_BEHIND = 80, 200  # characters around the words, of a text that says nothing else
_ERROR_HEAD = late(
    r"\W*(?:traceback \(most recent call last\)"
    r"|(?:tool_use_)?error>"
    r"|(?:(?:an? )?(?:unexpected|unknown|internal|rpc|grpc|http|network|server|api|runtime|fatal|tool|execution) )?"
    r"(?:error|exception)\s*(?:[:(\[]|$)(?!\W*(?:none|null|no errors?|0|false)?\s*(?:\n|$))"
    r"|(?-i:(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Expired|Timeout(?!\W*\d))\s*(?:[:(\[]|$))"
    r"|(?:fatal|panic)\s*:"
    r"|(?:error|exception|failure|failed)\s+"
    r"(?:\w+ing|while|when|during|in|from|at|with|occurred|code|response)\b.{0,80}?:"
    r"|(?:mcp|json-?rpc) error -?\d+"
    r"|(?:failed|unable) to\b|(?:could not|cannot|can't|couldn't)\b|no such\b|(?:permission|access) denied"
    r"|(?:http )?[45]\d\d (?:[a-z-]+ ){0,3}"
    r"(?:error|request|found|forbidden|unauthorized|conflict|timeout|gateway|unavailable)\b)",
    re.IGNORECASE,
)
_DONE_BEFORE = late(
    r"\W*(?:(?!(?:created|sent|added|charged|refunded|done|success\w*|ok|if|should|what|when|we|i)\b)[\w'#-]+\s+){0,5}?"
    r"(?:(?:is|was|were|has|have|had|been)\s+){0,2}already\s+(?:been\s+)?(?:\w+ed|done|sent|paid|exists?|made|run)\b",
    re.IGNORECASE,
)
_GONE = late(r"\b(?:session|token|login|lease|link|lock)\b[^.\n]{0,20}timed out", re.IGNORECASE)
_QUOTED = late(r"\"[^\"]*\"|`[^`]*`|“[^”]*”|(?<!\w)'[^']*'(?!\w)")

# the members ---------------------------------------------------------------------------------------------------------

_STATUS = ("status_code", "statuscode", "http_status", "status", "code")
_TELLING = ("error", "err", "message", "msg", "detail", "details", "reason", "error_message", "error_description")
_STATE = ("status", "state", "outcome", "result")
_LATE_STATES = frozenset({"timeout", "timed_out", "timedout", "timed out", "time_out"})
_RESPONSE = frozenset({
    *_STATUS, "body", "text", "headers", "reason", "url", "ok", "elapsed", "content_type", "error", "message", "data",
    "json", "content", "duration", "duration_ms",
})  # fmt: skip
"""The members of an answer of HTTP, as tools hand it on."""
_ASKED = frozenset(
    {*_STATUS, *_TELLING, *_STATE, "content", "jsonrpc", "iserror", "is_error", "errors", "success", "ok"}
)


_STATES = frozenset({*_STATUS, *_STATE})


def may_say_how(members: Collection[str]) -> bool:
    """Whether an object with these members could say how its call ended; for all others `end_said` says nothing."""
    return any(name.lower() in _ASKED for name in members)


def says_only_a_state(members: Collection[str]) -> bool:
    """Whether all that an object with these members may say of it is a state or a status, as `end_said` reads it."""
    return all(name.lower() in _STATES for name in members if name.lower() in _ASKED)


def states_of(told: Mapping[str, object]) -> tuple[object, ...]:
    """The states and statuses of an object, in its order."""
    return tuple(value for name, value in told.items() if name.lower() in _STATES)


def text_may_say_how(text: str) -> bool:
    """Whether a text could: most results are longer than an error, and do not begin as one."""
    return len(text) <= _LONGEST or _ERROR_HEAD.match(text) is not None


def end_said(result: object, *, failed: bool = False) -> End | None:
    """What a result says of the end of its call, None where it says nothing; `failed` is the record's own mark."""
    told = answered(unfold(result))
    if isinstance(told, str):
        return _of_text(told, failed=failed)
    if isinstance(told, list):
        return _of_parts(told, failed=failed)
    return _of_object(told, failed=failed) if isinstance(told, Mapping) else None


def _of_parts(parts: Collection[object], *, failed: bool) -> End | None:
    """The parts of a message: only one that is a single text can be nothing but an error."""
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    alone = texts[0] if len(texts) == 1 and len(parts) == 1 else None
    return end_said(alone, failed=failed) if isinstance(alone, str) else None


# texts ---------------------------------------------------------------------------------------------------------------


def _of_text(text: str, *, failed: bool) -> End | None:
    said = text.strip()
    if failed:
        return (_of_a_failure(said) or End.FAILED) if said else None
    if _ERROR_HEAD.match(said):
        return _of_a_failure(said) or _of_an_error(said)
    if len(said) > _LONGEST:
        return None
    if "\n" not in said and _DONE_BEFORE.match(said):
        return End.DONE_BEFORE
    return _missed(said) if _has_a_sign(said) else None


def _has_a_sign(said: str) -> bool:
    low = said.lower()
    return any(sign in low for sign in _SIGNS)


def _missed(said: str) -> End | None:
    """What a short text says that does not begin as an error does: that an answer is missed, and perhaps more."""
    if _GONE.search(said):
        return End.FAILED
    own = _QUOTED.sub("", said)
    found = _MISSED.search(own)
    if found is None:
        return None
    before, behind = own[: found.start()], own[found.end() :]
    verb = found["verb"] is not None
    alone = len(before) <= _MOST_BEFORE and len(behind) <= _MOST_BEHIND and "\n" not in own
    subject = (_WORDS_BEFORE if verb else _SUBJECTS).fullmatch(before)
    if alone and subject and (_WHY.fullmatch(behind) or _OF_WHOM.match(found[0])):
        return End.OPEN
    return End.DOUBTFUL if verb else None


def _of_an_error(said: str) -> End:
    """An error that fills the result failed; behind one that only begins it more may have happened."""
    whole = len(said) <= _LONGEST or said.startswith("Traceback")
    return End.FAILED if whole else End.DOUBTFUL


def _of_a_failure(said: str) -> End | None:
    """Whether a failed call was cut off, as its first or last line says: between them may stand a log."""
    first, last = said[:_LONGEST].splitlines()[0], said[-_LONGEST:].splitlines()[-1]
    lines = filter(_has_a_sign, {first: None, last: None})
    return End.OPEN if any(_LOST.search(line) and not _GONE.search(line) for line in lines) else None


# objects -------------------------------------------------------------------------------------------------------------


def _of_object(told: Mapping[str, object], *, failed: bool) -> End | None:
    content = told.get("content")
    if isinstance(content, list) and "status" not in told:
        return _of_parts(content, failed=failed or told.get("isError") is True)
    error = error_in(told)
    if error is not None and error.end is not RpcEnd.FAILED:
        return End.OPEN if error.end is RpcEnd.OPEN else End.FAILED
    if len(told) > _MOST_MEMBERS:
        return None
    members = {str(name).lower(): value for name, value in told.items()}
    if failed or says_it_failed(told):
        lost = _is_lost(members) or any(_LOST.search(text) for text in _texts(members))
        return End.OPEN if lost else End.FAILED
    return _of_a_response(members) or _of_a_report(members)


def _of_a_response(members: Mapping[str, object]) -> End | None:
    """An answer of HTTP, as a tool hands it on, by its status."""
    status = _status(members)
    if status is None or status < _LEAST_REFUSED or not members.keys() <= _RESPONSE:
        return None
    return End.OPEN if _is_lost(members) else End.FAILED


def _of_a_report(members: Mapping[str, object]) -> End | None:
    """An object that is no error, and in whose words an answer is missed or the act was done before."""
    states = [members.get(name) for name in _STATE]
    if any(isinstance(state, str) and state.lower() in _LATE_STATES for state in states):
        return End.DOUBTFUL
    texts = [*_texts(members), *(state.replace("_", " ") for state in states if isinstance(state, str))]
    if any(_missed(text) for text in texts if _has_a_sign(text)):
        return End.DOUBTFUL
    return End.DONE_BEFORE if any(map(_DONE_BEFORE.match, texts)) else None


def _is_lost(members: Mapping[str, object]) -> bool:
    status = _status(members)
    return status is not None and (status >= _LEAST_LOST or status == _LATE_STATUS)


def _status(members: Mapping[str, object]) -> int | None:
    """The status of HTTP among the members, where one has it."""
    told = (members.get(name) for name in _STATUS)
    numbers = (n for n in told if isinstance(n, int) and not isinstance(n, bool))
    return next((n for n in numbers if _LEAST_REFUSED <= n <= _MOST_STATUS), None)


def _texts(members: Mapping[str, object]) -> Iterator[str]:
    """The short texts that tell what went wrong, those of an error object among them."""
    for name in _TELLING:
        value = members.get(name)
        inner = [value.get(key) for key in _TELLING] if isinstance(value, Mapping) else [value]
        yield from (text[:_LONGEST] for text in inner if isinstance(text, str))
