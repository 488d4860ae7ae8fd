"""How is evidence read that stands behind a URL? Through fsspec, and only a URL that a person names on the command line
or in a call: this is the one module that reaches beyond this machine, and nothing out of a trace comes here
(docs/adr/0012).
"""

from __future__ import annotations

import contextlib
import glob
from typing import TYPE_CHECKING, Any, cast

from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

_EXTRA = "pip install 'trace-forensics[urls]'"


def is_url(where: str) -> bool:
    """Whether a place is a URL (RFC 3986: a scheme and an authority)."""
    scheme, mark, _ = where.partition("://")
    return bool(mark) and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()


def expand(url: str) -> list[str]:
    """The files that a URL means: itself, those below it where it is a folder, those that fit where it is a glob. What
    can't be asked is told when it is opened.
    """
    with contextlib.suppress(EvidenceError), _told(url):
        system, path = _system(url)
        if glob.has_magic(path) and not system.exists(path):
            found = system.glob(path)
        elif system.isdir(path):
            found = system.find(path)
        else:
            return [url]
        files = sorted(p for p in found if not system.isdir(p) and not p.rpartition("/")[2].startswith("."))
        return [system.unstrip_protocol(p) for p in files] or [url]
    return [url]


@contextlib.contextmanager
def opened(url: str) -> Iterator[BinaryIO]:
    """The bytes behind a URL, to be read once from the start. Raises EvidenceError where they can't be."""
    with _told(url):
        system, path = _system(url)
        with system.open(path, "rb") as stream:
            yield cast("BinaryIO", stream)


def name_of(url: str, folders: Sequence[str]) -> str:
    """Its name in documents: the path below a folder that was asked for, else its last part; never the query, which
    may hold a secret.
    """
    path = _path(url)
    below = [path[len(f) + 1 :] for f in map(_path, filter(is_url, folders)) if path.startswith(f"{f}/")]
    return min(below, key=len, default=path.rpartition("/")[2])


def _path(url: str) -> str:
    """What stands behind the scheme, without query and fragment."""
    return url.partition("?")[0].partition("#")[0].partition("://")[2].strip("/")


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        message = "URLs are read with the extra urls"
        raise EvidenceError(
            message, hint=f"{_EXTRA}, or fetch the evidence and name the file", code="extra_missing"
        ) from None
    system, path = url_to_fs(url)
    return system, str(path)


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Whatever a file system raises as an error of ours. Its own text may hold a secret of the URL: it is not shown."""
    name = name_of(url, ()) or url.partition("://")[0]
    try:
        yield
    except EvidenceError:
        raise
    except FileNotFoundError:
        raise EvidenceError(f"there is no {name} there", hint="check the URL", code="evidence_missing") from None
    except ImportError as error:
        message = f"{url.partition('://')[0]} URLs need another package"
        raise EvidenceError(message, hint=f"fsspec says: {error}", code="extra_missing") from None
    except Exception as error:  # noqa: BLE001 - each file system raises errors of its own
        message = f"{name} can't be fetched: {type(error).__name__}"
        raise EvidenceError(
            message, hint="check the URL and what it needs to be read", code="evidence_unreadable"
        ) from None
