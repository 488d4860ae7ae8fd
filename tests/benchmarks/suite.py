"""How fast is it? Seventeen measures, each beside a floor that is measured in the same run.

`python tests/benchmarks/suite.py [--only B1,B9] [--sizes 1,10,100] [--rounds 5] [--json FILE] [--data FOLDER]` prints a
line for each figure with its goal, and ends 1 where one is not kept. `--compare OLD NEW` sets two results side by side
and ends 1 where a goal that was kept no longer is. Traces are made once, by the shared generator, and kept in the
folder; `--sizes 1,10,100,1000` takes an hour. `--peers` installs the other tools there, and runs them on the same
files. Figures are medians of processor time; seconds of one machine say nothing about another, their ratios do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

if TYPE_CHECKING:
    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.rows import Row

MODULES = {  # the measures that each module of `measures` takes
    "startup": ("B10", "B11"),
    "reading": ("B1", "B2"),
    "audits": ("B3", "B4", "B5"),
    "growth": ("B6",),
    "values": ("B7", "B8"),
    "graphs": ("B9",),
    "corpus": ("B12", "B13", "B17"),
    "peers": ("B14",),
    "hostile": ("B15",),
    "reports": ("B16",),
    "verbs": ("verbs",),
}
ALL = tuple(name for names in MODULES.values() for name in names)


def take(asked: Asked, only: frozenset[str]) -> tuple[list[Row], dict[str, str]]:
    """The rows of the measures asked for, printed as they come, and why some could not be taken."""
    import importlib

    from tests.benchmarks.measures.harness import Failed
    from tests.benchmarks.measures.rows import Skipped

    rows: list[Row] = []
    skipped: dict[str, str] = {}
    for module, names in MODULES.items():
        if not only & {*names}:
            continue
        try:
            for row in importlib.import_module(f"tests.benchmarks.measures.{module}").measure(asked):
                if row.id in only:
                    print(row.line(), flush=True)
                    rows.append(row)
        except (Skipped, Failed) as reason:
            skipped |= dict.fromkeys(sorted(only & {*names}), str(reason))
            print(f"{', '.join(names)}: not taken, {reason}", flush=True)
    return rows, skipped


def compare(old: Path, new: Path) -> int:
    """Print what changed from one result to the other; 1 where a goal that was kept no longer is."""
    from tests.benchmarks.measures.rows import compared, read

    changes = compared(read(old), read(new))
    for change in changes:
        print(change.line())
    return int(any(change.old.kept and change.new.kept is False for change in changes))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(ALL), help="measures, with commas between them")
    parser.add_argument("--sizes", default="1,10,100", help="megabytes of the files")
    parser.add_argument("--document", type=float, default=500, help="megabytes of the one OTLP document")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "forensics-benchmarks")
    parser.add_argument("--peers", action="store_true", help="install the other tools, and run them (B14)")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    told = parser.parse_args()
    unknown = {*told.only.split(",")} - {*ALL}
    if unknown:
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    return told


def main() -> int:
    """One of the two."""
    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.data import GENERATOR, Data
    from tests.benchmarks.measures.rows import document

    told = options()
    if told.compare:
        return compare(*told.compare)
    if not GENERATOR.is_file():
        print(f"skipped: no generator at {GENERATOR}")
        return 0
    sizes = tuple(sorted(map(float, told.sizes.split(","))))
    asked = Asked(Data(told.data), sizes, told.rounds, told.document, told.peers)
    rows, skipped = take(asked, frozenset(told.only.split(",")))
    failed = [row for row in rows if row.kept is False]
    goals = sum(row.kept is not None for row in rows)
    print(f"{goals - len(failed)} of {goals} goals hold; not taken: {', '.join(sorted(skipped)) or 'none'}")
    if told.json:
        told.json.write_text(json.dumps(document(rows, skipped, told.rounds), indent=1) + "\n", "utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
