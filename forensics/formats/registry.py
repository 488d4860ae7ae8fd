"""Which format is this evidence, and what reads it? Scored by content alone; a tie is an error that says how
to choose. Modules load only when they are asked (a table, the style of dissect.target).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

import msgspec

from forensics.core.jsonvalue import decode
from forensics.core.meant import meant
from forensics.core.sanitise import one_line
from forensics.errors import AmbiguousFormatError, ConfigurationError, UnknownFormatError
from forensics.formats.marks import may_be
from forensics.formats.shared.reader import HEAD_BYTES, SQLITE_MAGIC, Look, Reader, look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from forensics.formats.shared.source import Source

SHIPPED: dict[str, str] = {
    "ag2-chat": "forensics.formats.ag2_chat",
    "agentdojo": "forensics.formats.agentdojo",
    "anthropic-managed-agents": "forensics.formats.managed_agents",
    "anthropic-messages": "forensics.formats.message_lists:ANTHROPIC_MESSAGES",
    "atif": "forensics.formats.atif",
    "autogen": "forensics.formats.autogen",
    "braintrust": "forensics.formats.braintrust",
    "claude-code": "forensics.formats.claude_code",
    "cline": "forensics.formats.cline",
    "codex-cli": "forensics.formats.codex_cli",
    "copilot-cli": "forensics.formats.copilot_cli",
    "crewai": "forensics.formats.crewai",
    "event-log": "forensics.formats.plain",
    "fastaiagent-db": "forensics.formats.fastaiagent_db",
    "fastaiagent-json": "forensics.formats.fastaiagent_json",
    "gemini": "forensics.formats.message_lists:GEMINI",
    "gemini-cli": "forensics.formats.gemini_cli",
    "gemini-responses": "forensics.formats.gemini_responses",
    "google-adk": "forensics.formats.adk_session",
    "google-adk-eval": "forensics.formats.adk_eval",
    "inspect": "forensics.formats.inspect_ai",
    "jaeger": "forensics.formats.jaeger",
    "kimi": "forensics.formats.kimi",
    "langfuse": "forensics.formats.langfuse",
    "langgraph-db": "forensics.formats.langgraph_db",
    "langgraph-history": "forensics.formats.langgraph_history",
    "langsmith": "forensics.formats.langsmith",
    "letta": "forensics.formats.message_lists:LETTA",
    "mcp-jsonrpc": "forensics.formats.mcp_log",
    "mini-swe-agent": "forensics.formats.mini_swe",
    "mlflow": "forensics.formats.mlflow",
    "openai-agents-runstate": "forensics.formats.agents_runstate",
    "openai-agents-traces": "forensics.formats.agents_traces",
    "openai-assistants": "forensics.formats.openai_assistants",
    "openai-chat": "forensics.formats.message_lists:OPENAI_CHAT",
    "openai-realtime": "forensics.formats.openai_realtime",
    "openai-responses": "forensics.formats.message_lists:OPENAI_RESPONSES",
    "openclaw-telemetry": "forensics.formats.openclaw_telemetry",
    "opencode": "forensics.formats.opencode",
    "openhands": "forensics.formats.openhands",
    "otel-spans": "forensics.formats.span_list",
    "otlp": "forensics.formats.otlp",
    "pi": "forensics.formats.pi",
    "pydantic-ai": "forensics.formats.message_lists:PYDANTIC_AI",
    "qwen-code": "forensics.formats.qwen_code",
    "smolagents": "forensics.formats.smolagents",
    "sweagent": "forensics.formats.swe_agent",
    "tau1": "forensics.formats.tau1",
    "tau2": "forensics.formats.tau2",
    "temporal": "forensics.formats.temporal",
    "toolbench": "forensics.formats.toolbench",
    "vcr-cassette": "forensics.formats.vcr_cassette",
    "vercel-ai": "forensics.formats.vercel_ai",
    "vscode-chat": "forensics.formats.vscode_chat",
    "weave": "forensics.formats.weave_calls",
}
"""Where the reader of each format is. The `readers` contract, README and the reference are compared with this list."""
_ARCHIVES = {"zip": ("inspect",)}
ENTRY_POINTS = "forensics.formats"
_REGISTERED: dict[str, Reader] = {}
_LEAST = 20
_SURE = 70


def names() -> tuple[str, ...]:
    """The names of every format, shipped ones first."""
    return (*SHIPPED, *_third_parties())


def register(own: Reader) -> None:
    """Add a reader to this process, as an entry point of the group would. Raises ConfigurationError for the name of a
    shipped one.
    """
    if own.NAME in SHIPPED:
        message = f"{own.NAME} is the name of a shipped format"
        raise ConfigurationError(message, hint="give the reader a NAME of its own")
    _REGISTERED[own.NAME] = own


def _third_parties() -> tuple[str, ...]:
    """The names in the entry-point group, and those registered here. Asked only when needed: reading the metadata of
    every package is slow.
    """
    from importlib.metadata import entry_points

    installed = {e.name for e in entry_points(group=ENTRY_POINTS)}
    return tuple(sorted((installed | _REGISTERED.keys()) - SHIPPED.keys()))


def reader(name: str) -> Reader:
    """The reader of that name. Raises UnknownFormatError with the list of names."""
    shipped = SHIPPED.get(name)
    if shipped is not None:
        module, _, name = shipped.partition(":")
        found = importlib.import_module(module)
        return cast("Reader", getattr(found, name) if name else found)
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in _third_parties():
        from importlib.metadata import entry_points

        return cast("Reader", next(e for e in entry_points(group=ENTRY_POINTS) if e.name == name).load())
    message = f"there is no format named {name}"
    raise UnknownFormatError(message, hint=meant(name, names()))


def is_an_archive(source: Source, kind: str) -> bool:
    """Whether an archive of that kind is one evidence of a format that is kept as an archive."""
    look = Look(bytes(source.data[:HEAD_BYTES]))
    return any(reader(name).sniff(look) >= _SURE for name in _ARCHIVES.get(kind, ()))


def recognise(source: Source) -> Reader:
    """The reader for this evidence. Raises UnknownFormatError or AmbiguousFormatError, with what was seen."""
    look = look_at(source)
    best = _scores(look, may_be(look, SHIPPED))
    if not best or best[0][0] < _SURE:
        best = sorted((*best, *_scores(look, _third_parties())), key=_best_first)
    if not best:
        message = f"the format of {source.name} is not recognised: {describe(look)}"
        raise UnknownFormatError(
            message, hint="choose one with --input-format NAME; `forensics formats` lists what is read"
        )
    if len(best) > 1 and best[0][0] == best[1][0]:
        tied = ", ".join(name for score, name in best if score == best[0][0])
        message = f"the format of {source.name} is ambiguous: {tied} fit alike; {describe(look)}"
        raise AmbiguousFormatError(message, hint="choose one with --input-format NAME")
    return reader(best[0][1])


class Fit(msgspec.Struct, frozen=True):
    """How a reader that was asked for by name fits an evidence: whether it would have known it for its own, and which
    other format it surely is ("": none).
    """

    knows: bool
    rather: str = ""


FITS = Fit(knows=True)


def fit(one: Reader, source: Source) -> Fit:
    """How this reader fits the evidence; asked where a person chose it."""
    look = look_at(source)
    if one.sniff(look) >= _LEAST:
        return FITS
    best = _scores(look, tuple(SHIPPED))
    return Fit(knows=False, rather=best[0][1] if best and best[0][0] >= _SURE else "")


def _scores(look: Look, asked: tuple[str, ...]) -> list[tuple[int, str]]:
    scores = ((reader(name).sniff(look), name) for name in asked)
    return sorted(((score, name) for score, name in scores if score >= _LEAST), key=_best_first)


def _best_first(scored: tuple[int, str]) -> tuple[int, str]:
    return (-scored[0], scored[1])


def describe(look: Look) -> str:
    """What was seen of an evidence, in one line."""
    if look.document is not None:
        return f"JSON, but no trace that is known: an object with the keys {_keys(look.document)}"
    if look.array is not None:
        return f"JSON, but no trace that is known: an array of {len(look.array)} items"
    if look.lines:
        return f"JSON lines with the keys {_keys(look.lines[0])}"
    return next(said for holds, said in _SEEN if holds(look.head))


_CSV = "a table of spans as CSV, which is not read: write its rows as JSON, one a line"
_SEEN: tuple[tuple[Callable[[bytes], bool], str], ...] = (
    (lambda head: not head, "an empty file"),
    (lambda head: head.startswith(SQLITE_MAGIC), "a SQLite database"),
    (lambda head: head.startswith(b"PAR1"), "a Parquet file, which is not read: write its rows as JSON, one a line"),
    (lambda head: b"\x00" in head, "binary data"),
    (lambda head: b"span_id" in head.partition(b"\n")[0] and b"," in head.partition(b"\n")[0], _CSV),
    (lambda head: head.lstrip()[:1] in (b"{", b"["), "JSON that breaks off or is damaged"),
    (lambda head: decode(head).error is None, "JSON, but no trace: a text, a number or another single value"),
    (lambda _: True, "no JSON"),
)


def _keys(fields: Mapping[str, object]) -> str:
    shown = [one_line(k, 30) for k in list(fields)[:6]]
    return ", ".join(shown) + (", …" if len(fields) > len(shown) else "") if shown else "(none)"
