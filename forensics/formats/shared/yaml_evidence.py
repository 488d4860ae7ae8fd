"""Where in the evidence does a record of a YAML text stand, and what of the text could not be read?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.yaml_text import Extent, YamlText


def note_place(extent: Extent, build: EvidenceBuilder) -> int:
    """The number of the place that an extent of the text is."""
    return build.places.add(line=extent.line, offset=extent.offset, length=extent.length)


def note_rest(told: YamlText, build: EvidenceBuilder) -> None:
    """Say what stands behind a damaged place: it may hide anything."""
    if told.unread is None:
        return
    place = note_place(told.unread, build)
    message = f"the YAML can't be read from line {told.unread.line} on: {told.error}"
    build.unread("container_truncated", message, Spot(place))
