"""Does the trigger of a rule fire wherever its pattern finds something, however the blanks are written?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.analysis.content.patterns import compile_pattern, shapes, trigger_of
from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.rules.content_rules import ContentRule

RULES = [shape.rule for shape in shapes()]
JOINTS = (" ", "=", ":", "\n", "'", '"')
OTHERS = ("  ", "   ", "\t", "\r\n", " \n", "=", ": ", ":  ", " : ", " = ", "'", '"')


def _respelled(text: str) -> set[str]:
    """The same text with other blanks and quotes, in other cases, behind something else."""
    joined = {text.replace(joint, other) for joint in JOINTS for other in OTHERS}
    return joined | {text, text.upper(), text.lower(), text.title(), f"x={text}", f"({text}", f"\n{text}", f"é{text}"}


def _written(text: str) -> tuple[str, ...]:
    """As it may stand in an evidence: as it is, in JSON, and in JSON within JSON."""
    once = json.dumps(text)
    return text, once, json.dumps(text, ensure_ascii=False), json.dumps(once)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_a_trigger_is_no_narrower_than_its_pattern(rule: ContentRule) -> None:
    trigger, pattern = compile_pattern(trigger_of([rule.trigger])), compile_pattern(rule.pattern)
    found = [test.text for test in rule.tests if test.finds is not None]
    texts = {text for one in found for text in _respelled(one) if pattern.search(text.encode()) is not None}
    assert texts
    missed = [text for one in texts for text in _written(one) if trigger.search(text.encode()) is None]
    assert missed == []


@pytest.mark.parametrize("blank", [" ", "  ", "\t", " \t ", "\n"])
@pytest.mark.parametrize("option", ["-u", "--user"])
def test_a_password_behind_any_blanks_is_a_secret(tmp_path: Path, option: str, blank: str) -> None:
    line = {"type": "tool_call", "id": "a", "name": "bash", "args": {"command": f"curl {option}{blank}bob:9fKq2vLm x"}}
    path = tmp_path / "run.jsonl"
    path.write_text(
        json.dumps(line) + "\n" + json.dumps({"type": "tool_result", "call_id": "a", "result": "ok"}) + "\n"
    )
    document = examine(path).audit()
    assert document.counts.secrets == 1
    assert "9fKq2vLm" not in str(document)
