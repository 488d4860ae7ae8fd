"""A thousand planted secrets are found and stand in no output, and no id that links records is touched."""

from __future__ import annotations

import json
import random
import uuid
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics import api
from forensics.report.jsonout import json_bytes
from forensics.report.terminal import lines_of
from forensics.report.terminal_draw import plain
from tests.safety.planted import KINDS, LETTERS, PLACES, Draw, planted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.safety.planted import Planted

PROMISED = 1_000
_FOUND: dict[str, int] = {}


def outputs(examination: api.Examination) -> dict[str, str]:
    """Every document about an evidence, as JSON and as text."""
    audit, inspection, report = examination.audit(), examination.inspection(), examination.report()
    texts = {
        "audit.json": json_bytes(audit).decode(),
        "inspection.json": json_bytes(inspection).decode(),
        "report.json": json_bytes(report).decode(),
        "audit.txt": plain(lines_of(audit, width=200, detail=2)),
        "inspection.txt": plain(lines_of(inspection, width=200, detail=2)),
    }
    for name in ("audit.json", "inspection.json", "report.json"):
        json.loads(texts[name])
    return texts


def missed(path: Path, one: Planted, place: str) -> list[str]:
    """What is wrong with how one planted value was dealt with."""
    path.write_text(json.dumps(PLACES[place](one.text)), "utf-8")
    examination = api.examine(path)
    (examined,) = examination.examined
    assert examined.reading is not None
    wrong = [] if any(one.value in value for value in examined.reading.secrets.known) else ["not found"]
    wrong += [] if any(f.code == "secret" and f.locators for f in examination.audit().findings) else ["no finding"]
    return wrong + [f"shown in {name}" for name, text in outputs(examination).items() if shows(text, one.value)]


def shows(text: str, value: str) -> bool:
    """Whether an output shows a value, or a telling part of it."""
    part = value[12:] if len(value) > 40 else value
    return value in text or part in text or json.dumps(value)[1:-1] in text


@pytest.mark.parametrize("place", PLACES)
def test_planted_secrets_are_found_and_shown_nowhere(tmp_path: Path, place: str) -> None:
    seed = list(PLACES).index(place)
    wrong = {one.kind: missed(tmp_path / "trace.json", one, place) for one in planted(seed)}
    _FOUND[place] = sum(not faults for faults in wrong.values())
    assert not {kind: faults for kind, faults in wrong.items() if faults}


def test_they_are_a_thousand(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(KINDS) * len(PLACES) == PROMISED
    if len(_FOUND) == len(PLACES):
        with capsys.disabled():
            print(f"\n{sum(_FOUND.values())} of {PROMISED} planted secrets found and shown nowhere")  # noqa: T201


# ids that link records -----------------------------------------------------------------------------------------------


def _ids(count: int, seed: int) -> list[str]:
    draw, chance = Draw(seed), random.Random(seed)  # noqa: S311 - the same test every time
    made: list[Any] = [
        lambda: str(uuid.UUID(int=chance.getrandbits(128))),
        lambda: f"{chance.getrandbits(128):032x}",
        lambda: f"{chance.getrandbits(64):016x}",
        lambda: "call_" + draw.letters(24),
        lambda: "toolu_01" + draw.letters(22),
        lambda: "chatcmpl-" + draw.letters(29),
        lambda: "msg_" + draw.letters(24),
        lambda: "01" + draw.letters(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
        lambda: str(chance.randrange(10**15, 10**16)),
        lambda: str(chance.randrange(10**17, 10**18)),
        lambda: draw.letters(20, LETTERS + "-_"),
        lambda: f"run-{chance.randrange(10**6)}",
    ]
    return [made[n % len(made)]() for n in range(count)]


def test_no_linking_id_is_taken_for_a_secret_or_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = _ids(3_000, 7)
    path = tmp_path / "trace.json"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go, the password is password=Tr0ub4dor-3"}]
    for one in ids:
        call = {"id": one, "type": "function", "function": {"name": "get", "arguments": json.dumps({"id": one})}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": one, "content": json.dumps({"request_id": one, "status": "ok"})},
        ]
    path.write_text(json.dumps({"trace_id": ids[0], "session_id": ids[1], "messages": messages}), "utf-8")
    examination = api.examine(path)
    (examined,) = examination.examined
    assert examined.reading is not None
    assert list(examined.reading.secrets.known) == ["Tr0ub4dor-3"]
    assert not examined.reading.secrets.ids
    shown, bare = examination.audit(), msgspec.structs.replace(examination, redact=False).audit()
    assert [(c.id, c.arguments, c.result_preview) for t in shown.traces for c in t.calls] == [
        (c.id, c.arguments, c.result_preview) for t in bare.traces for c in t.calls
    ]
    with capsys.disabled():
        print(f"\n0 of {len(ids)} linking ids touched")  # noqa: T201


def test_an_id_that_looks_like_a_secret_links_and_is_told(tmp_path: Path) -> None:
    one = next(p for p in planted(3) if p.kind == "github-token")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(PLACES["answer"](one.text)).replace("call_7Hq2", one.value), "utf-8")
    audit = api.examine(path).audit()
    assert audit.traces[0].calls[0].id == one.value
    (found,) = (f for f in audit.findings if f.code == "secret")
    assert "links records and is shown as it is" in found.message
