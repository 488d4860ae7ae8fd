"""What if a byte changes between clearing and running? A clearance is for these bytes, rules, policy and plan alone."""

from __future__ import annotations

import os
import py_compile
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.api import Options
from forensics.api_replay import prepare
from forensics.core.verdict import Clearance
from forensics.errors import StaleClearanceError
from forensics.replay.code import code_of
from forensics.replay.plan import Modifications, Plan
from forensics.replay.rerun import World, replay

if TYPE_CHECKING:
    from forensics.api_replay import Prepared

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
POLICY = "schema: forensics/policy/v1\nname: mine\nextends: inject\n"
PACK = """\
schema: forensics/rules/v1
pack: mine
about: What our own tools do.
tools:
  - id: mine.valve
    because: The water does not come back.
    references: ["Greenhouse manual, section 4"]
    source: name
    when: {at: /tool, words: [valve]}
    effect: irreversible
    scope: external
    says: its name says that it moves water
    tests:
      - {name: greenhouse_valve, speaks: true}
      - {name: greenhouse_temperature, speaks: false}
"""


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    place, policy = tmp_path / "pager.db", tmp_path / "policy.yaml"
    shutil.copy(SAMPLES / "pager.db", place)
    pack = tmp_path / "mine.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    pack.write_text(PACK, encoding="utf-8")
    return prepare(place, Options(policy=policy, rules=(pack,)))


def refused(prepared: Prepared) -> str:
    """What the refusal says of a rerun that would run something else."""
    document = prepared.run().document()
    assert document.calls == []
    assert document.inspection is not None
    assert not document.verdict.cleared
    (reason,) = document.verdict.reasons
    assert reason.code == "stale_clearance"
    return reason.message


def test_a_byte_of_the_evidence(prepared: Prepared) -> None:
    place = Path(str(prepared.evidence))
    place.write_bytes(place.read_bytes() + b"\0")
    assert refused(prepared).startswith("evidence changed")


def test_a_byte_of_the_policy(prepared: Prepared) -> None:
    Path(str(prepared.options.policy)).write_text(POLICY.replace("mine", "yours"), encoding="utf-8")
    assert refused(prepared).startswith("policy changed")


def test_a_rule(prepared: Prepared) -> None:
    (pack,) = prepared.options.rules
    pack.write_text(PACK.replace("effect: irreversible", "effect: repeating"), encoding="utf-8")
    assert refused(prepared).startswith("rules changed")


def test_nothing(prepared: Prepared) -> None:
    assert prepared.run().rerun is not None


def test_the_plan(prepared: Prepared) -> None:
    other = msgspec.structs.replace(prepared.plan, modifications=Modifications(prompt="Page everybody."))
    assert refused(msgspec.structs.replace(prepared, plan=other)).startswith("plan changed")


def test_a_clearance_that_is_bound_to_no_plan(prepared: Prepared) -> None:
    cleared = prepared.analysis.verdict.clear()
    assert isinstance(cleared, Clearance)
    digests = prepared.analysis.verdict.digests
    world = World(analysis=prepared.analysis, rules=prepared.rules, digests=(digests[0], digests[1], digests[2]))
    with pytest.raises(StaleClearanceError, match="no plan"):
        replay(cleared, Plan(), world)


def test_another_trace_of_the_same_evidence(prepared: Prepared) -> None:
    other = prepare(SAMPLES / "pager.db", msgspec.structs.replace(prepared.options, trace="b8e63f8c"))
    assert other.analysis.trace.id != prepared.analysis.trace.id
    swapped = msgspec.structs.replace(prepared, analysis=other.analysis)
    document = swapped.run().document()
    assert [reason.code for reason in document.verdict.reasons][-1] == "stale_clearance"
    assert document.calls == []


def test_the_source_of_an_agent(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def run(ports): return 1\n", encoding="utf-8")
    plan = Plan(agent=code_of("mine:run", (str(tmp_path),)), paths=(str(tmp_path),))
    planned = prepare(SAMPLES / "pager.db", Options(policy="inject"), plan)
    source.write_text("def run(ports): return 2\n", encoding="utf-8")
    assert refused(planned).startswith("the source of mine:run changed")
    source.unlink()
    assert "no module mine" in refused(planned)


def test_compiled_code_beside_the_source_is_not_what_runs(tmp_path: Path) -> None:
    """Python takes a `.pyc` for a source of the same time and size. What was cleared is the source."""
    source, times = tmp_path / "mine.py", (1_700_000_000, 1_700_000_000)
    source.write_text("def run(ports): return 'other'\n", encoding="utf-8")
    os.utime(source, times)
    py_compile.compile(str(source))
    source.write_text("def run(ports): return 'plain'\n", encoding="utf-8")
    os.utime(source, times)
    plan = Plan(agent=code_of("mine:run", (str(tmp_path),)), paths=(str(tmp_path),))
    document = prepare(SAMPLES / "pager.db", Options(policy="inject"), plan).run().document()
    assert document.output is not None
    assert document.output.new == "plain"


def test_nobody_makes_a_clearance(prepared: Prepared) -> None:
    with pytest.raises(TypeError):
        Clearance(object(), prepared.analysis.verdict)
    cleared = prepared.analysis.verdict.clear()
    assert cleared is not None
    with pytest.raises(AttributeError):
        cleared._plan = "0" * 64  # noqa: SLF001 - that is what it guards


def test_a_strict_verdict_is_not_cleared() -> None:
    strict = prepare(SAMPLES / "pager.db")
    assert strict.clearance is None
    assert strict.run().rerun is None
