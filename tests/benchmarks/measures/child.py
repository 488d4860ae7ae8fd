"""How long does one job take? Prepared first, timed then; says so as one line of JSON."""

from __future__ import annotations

import json
import sys
import time

from tests.benchmarks.measures import jobs
from tests.benchmarks.measures.harness import memory


def main() -> None:
    work = getattr(jobs, sys.argv[1])(*sys.argv[2:])
    before = memory("RssAnon")
    start = time.process_time()
    said = work()
    spent = time.process_time() - start
    says = said if isinstance(said, dict) else {}
    print(json.dumps({**says, "cpu": spent, "before": before}))


if __name__ == "__main__":
    main()
