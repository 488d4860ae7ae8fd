"""What does a rerun of a damaged record do? It is refused or goes through, and raises nothing that is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.api import Options
from forensics.api_replay import prepare
from forensics.errors import ForensicsError
from forensics.replay.inline import here
from forensics.report.jsonout import json_bytes
from forensics.testing.mutations import mutations

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
INJECTED, MISSED = "injected", "missed"


@pytest.mark.parametrize("name", ["pager.chat.json", "mailing.events.jsonl", "pager.otlp.jsonl", "pager.json"])
def test_a_damaged_record(name: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    place = tmp_path / name
    for one in mutations((SAMPLES / name).read_bytes(), 7, pytestconfig.getoption("mutations") // 2):
        place.write_bytes(one.data)
        try:
            document = prepare(place, Options(policy="inject")).run(runner=here()).document()
        except ForensicsError:
            continue
        assert json_bytes(document)
        done = [call.disposition for call in document.calls]
        assert set(done[:-1]) <= {INJECTED}
        assert done[-1:] in ([], [INJECTED], [MISSED]), "a miss is the last that happens"
        assert (MISSED in done) <= (document.stopped is not None)
        assert document.verdict.cleared or not document.calls
