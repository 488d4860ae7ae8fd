"""Where does the command `forensics` begin? Here, with nothing imported that `--help` does not need."""

from __future__ import annotations

import gc
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
_OBJECTS = 100_000  # are made before cycles are looked for: imports make many, and of cycles next to none
_TOLD_TO_STOP = ("SIGTERM", "SIGHUP")  # the second is not known to every system


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    for name in _TOLD_TO_STOP:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)
    gc.set_threshold(_OBJECTS)
    try:
        from forensics.cli.program import program

        program.main(prog_name="forensics")
    except KeyboardInterrupt:  # while the program itself was still being imported
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # what is held at the end is not walked over, again and again, to look for cycles
    sys.exit(0)


def _stop(number: int, _frame: object) -> NoReturn:
    """End as an exception does, so that private copies of evidence are removed on the way; not once more meanwhile."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
