"""Are the arguments of this call where its format always writes them, and of a type that it writes?

Where they are not, the call is no call without arguments: what it was given is lost, or stands in a member that is not
read. One that takes none has an empty object or an empty text there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.messages import Doubt
from forensics.core.sanitise import one_line
from forensics.formats.shared.fields import Fields, hides_arguments, json_inside, opens_with, present

if TYPE_CHECKING:
    from forensics.core.messages import Message
    from forensics.core.trace import Payload

_EMPTY = (b"{}", b'""')


def lost_arguments(tool: str, fields: Fields, *members: str, as_text: bool = False) -> str:
    """Why the arguments of a call may be lost, as a sentence; "" where they are not. `fields` are those of the object
    that says the call, and a text that holds no object is one of its arguments only where the format writes them
    `as_text`.
    """
    given = present(fields, *members)
    beside = {name: held for name, held in fields.items() if name not in members}
    if (given is None or bytes(json_inside(given)) in _EMPTY) and hides_arguments(beside):
        return f"arguments of {one_line(tool, 40)} in a member that is not read"
    if given is None:
        return f"no arguments of {one_line(tool, 40)} stand where this format always writes them"
    if not _is_written_so(given, as_text=as_text):
        return f"the arguments of {one_line(tool, 40)} are of a type that this format does not write"
    return ""


def also_lost(message: Message, pointer: str, says: str) -> Message:
    """The message with what is lost of the call that stands there in it ("": nothing), said once."""
    doubt = Doubt(says, pointer)
    if not says or doubt in message.doubts:
        return message
    return msgspec.structs.replace(message, doubts=(*message.doubts, doubt))


def _is_written_so(given: Payload, *, as_text: bool) -> bool:
    return opens_with(given, b"{") or (opens_with(given, b'"') and (as_text or opens_with(json_inside(given), b"{")))
