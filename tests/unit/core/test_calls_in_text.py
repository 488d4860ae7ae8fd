"""Which texts spell a call, and which only speak of one?"""

from __future__ import annotations

import json

import pytest

from forensics.core.calls_in_text import calls_spelled

MOVE = '{"name": "move_file", "arguments": {"to": "/old"}}'
SPELLED = [
    (f"<tool_call>\n{MOVE}\n</tool_call>", ["move_file"]),
    ('<tool_call>{"arguments": {"to": {"dir": "/old"}}, "name": "move_file"}</tool_call>', ["move_file"]),
    ("<tool_call>move_file\n<arg_key>to</arg_key><arg_value>/old</arg_value>", ["move_file"]),
    ("<tool_call>\n<function=move_file>\n<parameter=to>\n/old\n</parameter>\n</function>", ["move_file"]),
    ('<function=move_file>{"to": "/old"}</function>', ["move_file"]),
    ('<function_calls>\n<invoke name="move_file">\n<parameter name="to">/old</parameter>', ["move_file"]),
    ('<minimax:tool_call>\n<invoke name="move_file">', ["move_file"]),
    ('<\uff5cDSML\uff5cinvoke name="move_file">', ["move_file"]),
    ("<invoke><tool_name>move_file</tool_name>", ["move_file"]),
    (f"[TOOL_CALLS] [{MOVE}, {MOVE}]", ["move_file", "move_file"]),
    ('[TOOL_CALLS]move_file[ARGS]{"to": "/old"}', ["move_file"]),
    ('<|python_tag|>move_file.call(to="/old")', ["move_file"]),
    ('<|python_tag|>{"name": "move_file", "parameters": {"to": "/old"}}', ["move_file"]),
    ("<|python_tag|>import os\nos.rename('a', 'b')", [""]),
    ("<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>move_file\n```json", ["move_file"]),
    ("<\uff5ctool\u2581call\u2581begin\uff5c>move_file<\uff5ctool\u2581sep\uff5c>{}", ["move_file"]),
    ("<|tool_call_begin|>functions.move_file:0<|tool_call_argument_begin|>{}", ["functions.move_file:0"]),
    ("<|channel|>commentary to=functions.move_file <|constrain|>json<|message|>{}", ["functions.move_file"]),
    ("<|start|>assistant to=functions.move_file<|channel|>commentary json", ["functions.move_file"]),
    ("assistantcommentary to=functions.move_file json{}", ["functions.move_file"]),
    (f"<|tool_call|>[{MOVE}]", ["move_file"]),
    ("functools[{'name': move_file}]", [""]),
    ("<start_function_call>call:move_file{to:/old}", ["move_file"]),
    ("Thought: it is old\nAction: move_file\nAction Input: /old", ["move_file"]),
    ("**Action**: `move_file`\n\n**Action Input**: {}", ["move_file"]),
    ("Action 2: Move[the old file]", ["Move"]),
    ("Action: move_file(to='/old')", ["move_file"]),
    ("Thought: it is old\nAction: move_file\n", ["move_file"]),
    ('Action:\n```json\n{"action": "move_file", "action_input": "/old"}\n```', ["move_file"]),
    (f"I will move it.\n```json\n{MOVE}\n```", ["move_file"]),
    (MOVE, ["move_file"]),
    (json.dumps(MOVE), ["move_file"]),
    ("{'tool': 'move_file', 'args': {}}", ["move_file"]),
    ('{"tool_uses": [{"recipient_name": "functions.move_file", "parameters": {}}]}', ["functions.move_file"]),
    ("```tool_code\nprint(move_file())\n```", [""]),
    ("<execute_command>\n<command>mv a b</command>\n</execute_command>", ["execute_command"]),
    ("<execute_bash>\nmv a b\n</execute_bash>", ["execute_bash"]),
    (f'<tool_call>{MOVE}</tool_call><tool_call>{{"na', ["move_file", ""]),
]
PROSE = [
    "I will use a tool call to move the file.",
    "The model writes `<tool_call>` and `</tool_call>` around its JSON.",
    "Llama writes <function=name> before the arguments.",
    "The token [TOOL_CALLS] opens a list, and <|python_tag|> opens code.",
    "DeepSeek has <\uff5ctool\u2581call\u2581begin\uff5c> as a token of its own.",
    "Harmony sends it in the commentary channel to functions.",
    "Action: move the old file.\nThen look again.",
    "Action Items:\n- move the file",
    "**Action:** Moved\n**Result:** it is gone",
    "Thought: I know it\nAction: Final Answer\nAction Input: it is old",
    '{"action": "Final Answer", "action_input": "it is old"}',
    '{"name": "move_file", "description": "Move it.", "parameters": {"type": "object"}}',
    '{"name": "move_file", "parameters": {"type": "object", "properties": {}}}',
    '{"name": "Bob", "age": 3}',
    '{"command": "npx", "args": ["-y"]}',
    "Function: add\nArguments: two numbers",
    "Use read_file to read it, and write_to_file after that.",
]


@pytest.mark.parametrize(("text", "tools"), SPELLED)
def test_a_text_that_spells_a_call_says_which(text: str, tools: list[str]) -> None:
    assert calls_spelled(text) == tools
    assert calls_spelled(f"So it is.\n\n{text}") == tools or text.startswith("<|python_tag|>import")


@pytest.mark.parametrize("text", PROSE)
def test_a_text_that_only_speaks_of_a_call_spells_none(text: str) -> None:
    assert calls_spelled(text) == []
