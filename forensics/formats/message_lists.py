"""Is this a list of one API's messages, or of a library's own, and what does it say? One reader for each; the walk is
that of them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.messages.chat import read_chat
from forensics.formats.shared.messages.chat_sniff import marks

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

_SHAPES = "a bare list, a request, a request with its response, or one of them a line"

_RERUN = "the schemas and settings where only the messages were kept, and the times between"


class MessageList(msgspec.Struct, frozen=True, kw_only=True):
    """The reader of one API's message lists; its members are those of `Reader`."""

    NAME: str
    ABOUT: str
    CARRIES: str
    LACKS: str
    RERUN: str
    RECORDS_CALLS: bool = False
    SPANS_ARE_COMPLETE: bool = False

    def sniff(self, look: Look) -> int:
        """How surely these messages carry this API's marks, 0 to 100."""
        return marks(look).get(self.NAME, 0)

    def read(self, source: Source, build: EvidenceBuilder) -> None:
        """Walk the messages. Raises CorruptEvidenceError where nothing of it is JSON."""
        read_chat(source, build)


OPENAI_CHAT = MessageList(
    NAME="openai-chat",
    ABOUT=f"OpenAI Chat Completions messages: {_SHAPES}",
    CARRIES="calls, arguments, results, prompts; tool schemas where the request was kept",
    LACKS="executions apart from results, times, error flags",
    RERUN=_RERUN,
)
OPENAI_RESPONSES = MessageList(
    NAME="openai-responses",
    ABOUT=f"OpenAI Responses items: {_SHAPES}",
    CARRIES="calls, arguments, results, provider-run tools; tool schemas where the request was kept",
    LACKS="executions apart from results, times",
    RERUN=_RERUN,
)
ANTHROPIC_MESSAGES = MessageList(
    NAME="anthropic-messages",
    ABOUT=f"Anthropic Messages: {_SHAPES}",
    CARRIES="calls, arguments, results, error flags; tool schemas where the request was kept",
    LACKS="executions apart from results, times",
    RERUN=_RERUN,
)
GEMINI = MessageList(
    NAME="gemini",
    ABOUT=f"Gemini contents: {_SHAPES}",
    CARRIES="calls, arguments, results; function declarations where the request was kept",
    LACKS="call ids (mostly), executions apart from results, times",
    RERUN=_RERUN,
)
PYDANTIC_AI = MessageList(
    NAME="pydantic-ai",
    ABOUT="Pydantic AI's message history: requests and responses with their parts, a list or one a line",
    CARRIES="calls, arguments, results, how each call ended, prompts, tools that the provider ran",
    LACKS="tool schemas, executions apart from results, the times of single calls",
    RERUN="the schemas, the settings, and the times between",
    RECORDS_CALLS=True,
)
LETTA = MessageList(
    NAME="letta",
    ABOUT="Letta's messages as its server gives them: a list, a response, or one a line",
    CARRIES="calls, arguments, results, how each call ended, approvals, thoughts",
    LACKS="tool schemas, the agent's memory blocks, executions apart from results, the times of single calls",
    RERUN="the schemas, the memory blocks that the prompt is made of, and the settings",
    RECORDS_CALLS=True,
)
