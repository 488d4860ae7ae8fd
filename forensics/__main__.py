"""What does `python -m forensics` do? The same as the command `forensics`."""

from forensics.cli.main import main

main()
