"""How many of the labelled tools are classed right, on sources that the rules may have been written for and on others?

`python tests/benchmarks/bench_tool_classes.py [--held-out] [--misses] [--labels FILE]` splits the labelled tools by
source: the eight whose names come first in the order of their SHA-256 are set aside, the others are the development
half. It prints for each half, blind (name, description, input schema), declared (the source's own hint beside them) and
trusted (the operator trusts each source by name): the writes taken for reads, those vouched for, the recall of reads,
and the handles; then a table of the sources with why their reads were missed. Only `--held-out` shows the other half,
and the distance between the two. The word and phrase lists before issue 5 were written with both halves in view, so the
distance says less of those than of the rules since.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import json
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forensics.analysis.inventory import classify_tools
from forensics.analysis.inventory_files import read_tools
from forensics.core.classes import Classification, Effect, RestsOn, Source, Stability, may_lower
from forensics.rules import load_policy, load_rules

if TYPE_CHECKING:
    from forensics.core.policy import Policy

LABELS = Path(__file__).parents[3] / "shared" / "cases" / "tools" / "dev.tsv"
HELD_OUT = 8
LOW_RECALL = 0.6
AS_OF = datetime.date(2027, 1, 1)
VOUCHED = (RestsOn.OPERATOR, RestsOn.DECLARATION, RestsOn.PROOF)

Row = dict[str, str]
Answered = list[tuple[Row, Classification]]


class Share(NamedTuple):
    """`hit` of `of`."""

    hit: int
    of: int

    def __str__(self) -> str:
        return f"{self.hit} of {self.of} ({self.rate:.3f})"

    @property
    def rate(self) -> float:
        return self.hit / max(1, self.of)


def held_out_sources(rows: list[Row]) -> frozenset[str]:
    sources = {row["source"] for row in rows}
    return frozenset(sorted(sources, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:HELD_OUT])


def truth(row: Row) -> str:
    return row["audited_effect"] or row["label_effect"]


def inventory_line(row: Row, *, declared: bool) -> str:
    tool: dict[str, object] = {"name": row["tool_name"], "server": row["source"]}
    if row["description"]:
        tool["description"] = row["description"]
    if row["input_schema_json"]:
        tool["input_schema"] = json.loads(row["input_schema_json"])
    if declared and row["label_effect"] in ("read", "write"):
        hints = {"readOnlyHint": row["label_effect"] == "read"}
        if row["label_effect"] == "write" and row["label_destructive"] in ("yes", "no"):
            hints["destructiveHint"] = row["label_destructive"] == "yes"
        tool["annotations"] = hints
    return json.dumps(tool)


def trusting(sources: set[str]) -> Policy:
    """A policy that trusts each of these sources by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.yaml"
        entries = "".join(f"  - server: {json.dumps(source)}\n" for source in sorted(sources))
        path.write_text(f"schema: forensics/policy/v1\nname: trusting\ntrust:\n{entries}", encoding="utf-8")
        return load_policy(path, AS_OF)


def classify(rows: list[Row], policy: Policy, *, declared: bool) -> Answered:
    lines = "\n".join(inventory_line(row, declared=declared) for row in rows)
    answers = classify_tools(read_tools(lines.encode(), "labels"), load_rules(), policy)
    return [(row, one.classification) for row, one in zip(rows, answers, strict=True)]


def reads(answered: Answered) -> Share:
    wanted = [answer for row, answer in answered if truth(row) == "read"]
    return Share(sum(answer.effect is Effect.NONE for answer in wanted), len(wanted))


def unsafe(answered: Answered, label: str = "write") -> Answered:
    return [(row, answer) for row, answer in answered if truth(row) == label and answer.effect is Effect.NONE]


def handles(answered: Answered, label: str) -> Share:
    wanted = [answer for row, answer in answered if row["returns_handle"] == label]
    return Share(sum(answer.result is Stability.HANDLE for answer in wanted), len(wanted))


def why_missed(row: Row, answer: Classification) -> str:
    """What kept a read from effect none: the veto that spoke, or the kind of words that was missing."""
    vetoes = [piece for piece in answer.evidence if piece.effect not in (None, Effect.NONE)]
    if vetoes:
        return f"veto: {vetoes[0].rule} ({vetoes[0].says[:48]})"
    kinds = {p.source for p in answer.evidence if p.effect is Effect.NONE and may_lower(p)}
    if not row["description"].strip():
        return "no description" + ("" if Source.NAME in kinds else ", and no reading word in the name")
    missing = [kind.value for kind in (Source.NAME, Source.DESCRIPTION) if kind not in kinds]
    return "no reading word in the " + " nor in the ".join(missing)


def judge(title: str, answered: Answered) -> Share:
    wrong, recall = unsafe(answered), reads(answered)
    writes = sum(truth(row) == "write" for row, _ in answered)
    vouched = sum(answer.rests_on in VOUCHED for _, answer in wrong)
    unknown = len(unsafe(answered, "unknown"))
    harm = f"UNSAFE {len(wrong)} of {writes}, vouched {vouched}; unknown called safe {unknown}"
    print(f"  {title:9}{harm}; reads {recall}")
    return recall


def score(title: str, rows: list[Row], *, misses: bool) -> dict[str, Share]:
    """Print the figures of one half."""
    print(f"{title}: {len(rows)} tools of {len({row['source'] for row in rows})} sources")
    strict, policy = load_policy(None, AS_OF), trusting({row["source"] for row in rows})
    blind = classify(rows, strict, declared=False)
    declared = classify(rows, strict, declared=True)
    trusted = classify(rows, policy, declared=True)
    found = {name: judge(name, half) for name, half in (("blind", blind), ("declared", declared), ("trusted", trusted))}
    found["handles"] = handles(declared, "yes")
    print(f"  handles  found {found['handles']}; false {handles(declared, 'no')}")
    by_source(blind, trusted)
    if misses:
        list_misses(blind, declared)
    return found


def by_source(blind: Answered, trusted: Answered) -> None:
    """A line for each source: reads found blind and trusted, writes taken for reads; why, where few reads are found."""
    print(f"  {'source':26}{'reads':>6}{'blind':>7}{'trusted':>9}{'unsafe':>8}  missed blind, most often for")
    for source in sorted({row["source"] for row, _ in blind}):
        own = [(row, answer) for row, answer in blind if row["source"] == source]
        vouched = [(row, answer) for row, answer in trusted if row["source"] == source]
        found = reads(own)
        reasons = Counter(
            why_missed(row, answer).partition(" (")[0]
            for row, answer in own
            if truth(row) == "read" and answer.effect is not Effect.NONE
        )
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(2))
        low = "LOW: " if found.of and found.rate < LOW_RECALL else ""
        print(f"  {source:26}{found.of:6}{found.rate:7.2f}{reads(vouched).rate:9.2f}{len(unsafe(own)):8}  {low}{why}")


def list_misses(blind: Answered, declared: Answered) -> None:
    """Every miss, grouped by why."""
    groups: dict[str, list[str]] = defaultdict(list)
    for row, answer in blind:
        name = f"{row['source']} {row['tool_name']}"
        if truth(row) == "read" and answer.effect is not Effect.NONE:
            groups[why_missed(row, answer)].append(name)
        if truth(row) == "write" and answer.effect is Effect.NONE:
            groups["UNSAFE"].append(name)
    for row, answer in declared:
        is_handle = answer.result is Stability.HANDLE
        if row["returns_handle"] == "yes" and not is_handle:
            groups["handle not found"].append(f"{row['source']} {row['tool_name']}")
        if row["returns_handle"] == "no" and is_handle:
            groups["no handle, called one"].append(f"{row['source']} {row['tool_name']}")
    for why, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        print(f"  {len(names):4} {why}")
        for name in names:
            print(f"         {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--held-out", action="store_true", help="print the half that was set aside, and the distance")
    parser.add_argument("--misses", action="store_true", help="list every miss of the development half, by why")
    options = parser.parse_args()
    if not options.labels.is_file():
        print(f"skipped: no labels at {options.labels}; name a file with --labels")
        return 0
    csv.field_size_limit(2**31 - 1)
    with options.labels.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    aside = held_out_sources(rows)
    developed = score("development", [r for r in rows if r["source"] not in aside], misses=options.misses)
    if options.held_out:
        other = score("held out", [r for r in rows if r["source"] in aside], misses=False)
        distances = (f"{name} {developed[name].rate - other[name].rate:+.3f}" for name in developed)
        print("distance (development minus held out): " + ", ".join(distances))
    return 0


if __name__ == "__main__":
    sys.exit(main())
