"""Which calls does a message of a model spell beside its text, in its reasoning or its refusal, that it does not ask
for? Servers take the reasoning out of what a model writes, and a call that it wrote there stays in it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.calls_in_text import plain_name, says_unread, spelled_in
from forensics.core.jsonvalue import text_of, texts_of, value_of
from forensics.formats.shared.fields import Fields, is_text, present

if TYPE_CHECKING:
    from forensics.core.trace import Payload
    from forensics.formats.shared.messages.draft import Draft

_BESIDE = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "refusal")


def doubt_beside(draft: Draft, fields: Fields) -> None:
    """A doubt for each of these members whose text spells more calls of a tool than the message asks for."""
    for name in _BESIDE:
        said = present(fields, name)
        if said is not None and said not in draft.texts:
            _doubt(draft, name, _words(said))


def _words(said: Payload) -> str:
    """The words of a text, or of each text in a list of parts."""
    return text_of(said) if is_text(said) else "\n".join(texts_of(value_of(said)))


def _doubt(draft: Draft, name: str, said: str) -> None:
    for _, tools in spelled_in([said]):
        asked = Counter(plain_name(part.tool) for part in draft.calls)
        unread = [tool for tool in tools if not _take(asked, plain_name(tool))]
        if unread:
            draft.doubt(says_unread(unread), f"/{name}")


def _take(asked: Counter[str], tool: str) -> bool:
    """Whether the message asks for that tool, or for any where the text does not name one; if so, one call is taken."""
    tool = tool or next(iter(+asked), "")
    asked[tool] -= 1
    return asked[tool] >= 0
