"""`forensics schema`: which JSON Schema has a document, a policy file or a rule pack?"""

from __future__ import annotations

import click

from forensics.cli.output import write

_EPILOG = """\b
Examples:
  forensics schema
  forensics schema audit
  forensics schema policy > policy.schema.json
"""


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from forensics.report.schemas import names

    return [name for name in names() if name.startswith(incomplete)]


@click.command(epilog=_EPILOG)
@click.argument("name", required=False, shell_complete=_complete)
def command(name: str | None) -> int:
    """Print the JSON Schema of a document or of a file that you write.

    Without NAME it lists the names.
    """
    from forensics.core.meant import meant
    from forensics.report.jsonout import json_bytes
    from forensics.report.schemas import ALIASES, names, schema

    if name is None:
        write("".join(f"{known}\n" for known in names()).encode())
        return 0
    if name not in (*names(), *ALIASES):
        raise click.BadParameter(f"there is no schema {name!r}; {meant(name, names())}", param_hint="NAME")
    write(json_bytes(schema(name)))
    return 0
