"""Does every reader keep the promises of the contract suite? One sample each: of the project's own where there is one
(those beside this module are written by hand, in shapes of which the corpus holds no file with a call), else
the smallest file of the shared corpus that is recognised as that format.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from forensics.api import read
from forensics.errors import EvidenceError
from forensics.formats import registry
from forensics.formats.shared.source import open_source
from forensics.testing import PROMISES, Sample

_ROOT = Path(__file__).resolve().parents[2]
_SHARED = _ROOT.parent / "shared" / "cases"
_LARGEST = 256 * 1024


@functools.cache
def _by_format(folder: Path) -> dict[str, Path]:
    """The smallest file of each format below a folder that holds a call."""
    found: dict[str, Path] = {}
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".md", ".tsv", ".py", ".txt")]
    for path in sorted(files, key=lambda p: (p.stat().st_size, p.name)):
        if path.stat().st_size <= _LARGEST and (name := _format_of(path)) is not None:
            found.setdefault(name, path)
    return found


def _format_of(path: Path) -> str | None:
    try:
        with open_source(str(path)) as source:
            name = registry.recognise(source).NAME
            return name if any(trace.calls for trace in read(source, 0).traces) else None
    except EvidenceError:
        return None


def _sample_of(name: str) -> Path:
    own = _by_format(_ROOT / "samples").get(name)
    if own is None:
        own = _by_format(Path(__file__).parent / "samples").get(name)
    if own is not None:
        return own
    if not _SHARED.is_dir():
        pytest.skip("the corpus of real traces is not here, and no sample of ours has this format")
    return _by_format(_SHARED)[name]


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name", registry.names())
def test_every_reader_keeps_every_promise(
    name: str, promise: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    count: int = request.config.getoption("--mutations")
    sample = Sample(name, _sample_of(name).read_bytes(), count)
    assert tuple(PROMISES[promise](sample, tmp_path)) == ()
