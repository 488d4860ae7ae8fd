"""Which interactions does a cassette list, and where does each stand? The file as JSON, whatever it is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import Fault, decode
from forensics.formats.shared.cassettes.recorded_http import HAR, LISTS
from forensics.formats.shared.fields import opens_with
from forensics.formats.shared.lines import BOM
from forensics.formats.shared.yaml_text import Extent, YamlText, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator


class CassetteFile(msgspec.Struct, frozen=True):
    """A cassette as it was read: its interactions, the name of their list, what the file says in two ways, and why it
    could not be read in full ("": it was). `told` holds where each stands.
    """

    name: str
    interactions: list[object]
    told: YamlText
    faults: tuple[Fault, ...]
    error: str
    whole: Extent

    def places(self) -> Iterator[tuple[str, Extent]]:
        """The JSON Pointer of each interaction, and where it stands."""
        for index in range(len(self.interactions)):
            pointer = f"/{self.name}/{index}"
            yield pointer, self.told.records.get(pointer, self.whole)


def cassette_file(data: memoryview) -> CassetteFile:
    """Read a cassette. Raises LimitExceededError as `read_yaml` does; what is wrong is said in `error`."""
    start = len(BOM) if bytes(data[:3]) == BOM else 0
    told = _told(data, start)
    decoded = decode(told.body)
    name, listed = _listed(decoded.value)
    error = told.error or decoded.error or ""
    return CassetteFile(name, listed, told, decoded.faults, error, Extent(0, start, len(data) - start))


def _told(data: memoryview, start: int) -> YamlText:
    """The file as JSON: itself, or its YAML; JSON that breaks off is read as the YAML that it is."""
    body = msgspec.Raw(data[start:])
    if opens_with(body, b"{") and decode(body).error is None:
        return YamlText(body, {})
    return read_yaml(data)


def _listed(value: object) -> tuple[str, list[object]]:
    """The name of the list of interactions, and its items."""
    if isinstance(value, dict):
        for name in LISTS:
            if isinstance(value.get(name), list):
                return name, value[name]
        log = value.get(HAR[0])
        if isinstance(log, dict) and isinstance(log.get(HAR[1]), list):
            return "/".join(HAR), log[HAR[1]]
    return "", []
