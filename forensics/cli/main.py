"""Where does the command `forensics` begin? Here, with nothing imported that `--help` does not need."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    try:
        from forensics.cli.program import program

        program.main(prog_name="forensics")
    except KeyboardInterrupt:  # while the program itself was still being imported
        sys.exit(INTERRUPTED)
    sys.exit(0)


if __name__ == "__main__":
    main()
