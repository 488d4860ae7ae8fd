r"""Which calls does this text of a model spell? Models without an interface for calls, and those whose server did not
read them, write them as words; their harness reads the words and acts.

The spellings are those of the chat templates of open models (Hermes, Qwen, Llama, Mistral, DeepSeek, Kimi, GLM,
Granite, gpt-oss), of prompts that ask for calls as XML or JSON, and of ReAct. A text that only speaks of calls has the
marks and not the shape: a mark counts with the name of a tool, or what opens one, behind it.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import msgspec

from forensics.core.late import late
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class _Spelling(msgspec.Struct, frozen=True):
    """A way to spell a call. Each text that holds one holds one of the `marks`; the group `name` of the pattern is
    empty where it does not name the tool.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]


_BAR = "[|\uff5c]"
_GAP = "[\u2581_ ]"
_NAME = r"(?P<name>[\w.:/-]{1,120})"
_QUOTE = r"\\?[\"']"
_QUOTED = rf"{_QUOTE}(?P<name>[^\"'\\\n]{{1,120}}){_QUOTE}"
_GIVEN = r"(?:tool_?|action_?|function_?)?(?:[iI]nput|[aA]rgs|[aA]rguments|[pP]arameters|[pP]arams|kwargs)"
_TOLD = r"(?:(?:tool|function|action)(?:_?[nN]ame)?|name|recipient_name)"
_SCHEMA = rf"\s*\{{\s*{_QUOTE}(?:type|properties|\$schema){_QUOTE}\s*:"
_OBJECT = r"\{(?:[^{}]|\{[^{}]{0,500}\}){0,2000}\}"
_ASSISTANTS = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "insert_content", "search_files",
    "list_files", "browser_action", "use_mcp_tool", "access_mcp_resource",
)  # fmt: skip
_ARGUMENTS = tuple(f"{word}{end}" for word in ("nput", "rgs", "rguments", "arameters", "arams") for end in "\"'\\")

_SPELLINGS = (
    # JSON, bare, fenced or behind a mark; a tool on offer tells a schema
    _Spelling(
        _ARGUMENTS, late(rf"{_QUOTE}{_TOLD}{_QUOTE}\s*:\s*{_QUOTED}\s*,\s*{_QUOTE}{_GIVEN}{_QUOTE}\s*:(?!{_SCHEMA})")
    ),
    _Spelling(
        _ARGUMENTS,
        late(
            rf"{_QUOTE}{_GIVEN}{_QUOTE}\s*:(?!{_SCHEMA})\s*(?:{_OBJECT}|\"(?:[^\"\\]|\\.){{0,2000}}\")\s*,"
            rf"\s*{_QUOTE}{_TOLD}{_QUOTE}\s*:\s*{_QUOTED}\s*[}},]"
        ),
    ),
    # XML
    _Spelling(("<tool_call>",), late(r"<tool_call>\s*(?P<name>)(?:\{|\Z)")),
    _Spelling(("<arg_key>",), late(rf"<tool_call>\s*{_NAME}\s*<arg_key>")),
    _Spelling(("<function=",), late(rf"<function={_NAME}>\s*(?:\{{|<parameter=|</function>|\Z)")),
    _Spelling(("invoke name=",), late(rf"<(?:{_BAR}DSML{_BAR})?(?:\w{{1,40}}:)?invoke name={_QUOTED}\s*>")),
    _Spelling(("<tool_name>",), late(rf"<invoke>\s*<tool_name>\s*{_NAME}")),
    _Spelling(_ASSISTANTS, late(rf"(?m)^[ \t]*<(?P<name>{'|'.join(_ASSISTANTS)})>\s*<\w+>")),
    _Spelling(("<execute_",), late(r"<(?P<name>execute_(?:bash|ipython|browse))>\s*\S")),
    # marks of chat templates
    _Spelling(("[TOOL_CALLS]",), late(rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?:\[(?:ARGS|CALL_ID)\]|\{{)")),
    _Spelling(
        ("[TOOL_CALLS]", "<TOOLCALL>", "<|tool_call|>", "functools"),
        late(r"(?:\[TOOL_CALLS\]|<TOOLCALL>|<\|tool_call\|>|\bfunctools)\s*(?P<name>)\["),
    ),
    _Spelling(("<|python_tag|>",), late(r"<\|python_tag\|>\s*(?P<name>[\w.]{1,120}?)(?:\.call)?\s*\(")),
    _Spelling(("<|python_tag|>",), late(r"(?:\A\s*<\|python_tag\|>\s*\S|<\|python_tag\|>\s*\{)(?P<name>)")),
    _Spelling(
        ("begin|>", "begin\uff5c>"),
        late(
            rf"<{_BAR}tool{_GAP}call{_GAP}begin{_BAR}>\s*(?:function<{_BAR}tool{_GAP}sep{_BAR}>)?"
            rf"{_NAME}\s*(?:<{_BAR}tool|\n|\Z)"
        ),
    ),
    _Spelling(
        ("to=",),
        late(rf"(?:<\|channel\|>\w{{0,40}}\s{{0,9}}|<\|start\|>assistant\s{{1,9}}|commentary\s{{1,9}})to={_NAME}"),
    ),
    _Spelling(("to=functions.",), late(r"\bto=(?P<name>functions\.[\w.-]{1,120})\s*<\|channel\|>")),
    _Spelling(("<start_function_call>",), late(rf"<start_function_call>\s*call:{_NAME}\{{")),
    _Spelling(("```tool_",), late(r"(?m)^[ \t]*```tool_(?:code|call|use)[ \t]*\r?\n(?P<name>)\s*\S")),
    # ReAct
    _Spelling(
        ("nput", "NPUT", "rguments", "rgs", "arameters"),
        late(
            r"(?im)^[ \t>*#-]*(?:action|tool|tool name)[ \t]*\d{0,3}[ \t*]*:[ \t*`]*"
            r"(?P<name>[^\n`*]{1,120}?)[ \t`*.\r]*\n[ \t\r\n]{0,40}[>*#-]{0,4}[ \t]{0,9}"
            r"(?:action|tool)[ _](?:input|args|arguments|parameters)[ \t]*\d{0,3}[ \t*]*:"
        ),
    ),
    _Spelling(("ction",), late(r"(?m)^[ \t>*]*Action[ \t]*:[ \t]*(?P<name>\w{1,60}_\w{1,60})\s*\Z")),
    _Spelling(
        ("ction",), late(rf"(?m)^[ \t>*]*Action[ \t]*\d{{0,3}}[ \t]*:[ \t*`]*{_NAME}(?:\[[^\n]*\]|\([^\n]*\))[ \t`]*$")
    ),
)
_NO_CALL = frozenset({"finalanswer", "finish", "none", "na", "null", "noaction"})
"""Names under which a model says that it is done."""
_BETWEEN = late(r"[\W_]+")


def spelled_in(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The tools of the calls that each of some texts spells, by its number, where it spells any; "" where the spelling
    does not say which tool.
    """
    here = _held_in("\n".join(texts), _SPELLINGS)
    for number, text in enumerate(texts if here else ()):
        tools = calls_spelled(text, here)
        if tools:
            yield number, tools


def calls_spelled(text: str, among: Iterable[_Spelling] = _SPELLINGS) -> list[str]:
    """The tools of the calls that a text spells, in order. A call in which two spellings meet is one."""
    found: dict[int, str] = {}
    for match in chain.from_iterable(one.pattern.finditer(text) for one in _held_in(text, among)):
        name = match["name"]
        if plain_name(name) not in _NO_CALL:
            found[match.start("name") if name else match.start()] = name
    return _without_marks(found)


def says_unread(tools: Sequence[str]) -> str:
    """What a gap says of calls of these tools that a text spells and that were not read ("": it names no tool)."""
    named = [one_line(tool, 40) for tool in tools if tool]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    what = f" ({', '.join(named[:_NAMED])}{more})" if named else ""
    return f"the text of a turn spells a call that was not read as one{what}: this format may hide calls in text"


_NAMED = 3


def _held_in(text: str, among: Iterable[_Spelling]) -> list[_Spelling]:
    """The spellings that a text may hold."""
    return [one for one in among if any(mark in text for mark in one.marks)]


def _without_marks(found: dict[int, str]) -> list[str]:
    """The names by their places; a mark without one stands for a call unless a name follows it before the next mark."""
    names = [found[at] for at in sorted(found)]
    return [name for name, after in pairwise([*names, ""]) if name or not after]


def plain_name(tool: str) -> str:
    """A tool's name as one compares it with how a text spells it: without what a template writes around it."""
    name = tool.strip().lower().removeprefix("functions.")
    return _BETWEEN.sub("", name.split(":", 1)[0] or name)
