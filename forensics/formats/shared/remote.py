"""How is evidence read that stands behind a URL? Through fsspec, and only a URL that a person names on the command line
or in a call: this is the one module that reaches beyond this machine, and nothing out of a trace comes here
(docs/adr/0012).

A URL may hold a secret: a name and a password before the host, a signature in the query. Neither comes into a document,
an error or a ledger.
"""

from __future__ import annotations

import contextlib
import glob
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import msgspec

from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO, TypeAlias

    Info: TypeAlias = Mapping[str, Any]

_EXTRAS = {
    "http": "http",
    "https": "http",
    "s3": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "abfs": "az",
    "abfss": "az",
}
_WEB = ("http", "https")
_BLOCK = 4 << 20  # bytes at a time; what a store would take by default is ten times that, in every worker
PARTS = ("-wal", "-journal")  # what a SQLite database has not written into its own file yet, or not taken back
_MARKS = (  # what stores call the version of an object and its time: S3, Google, Azure, a web server, a file system
    *("ETag", "etag", "VersionId", "version_id", "generation", "Content-MD5"),
    *("LastModified", "last_modified", "Last-Modified", "updated", "mtime", "created"),
)


class Found(msgspec.Struct, frozen=True, order=True):
    """A place that was asked for. `name` is its path below the folder that was asked for ("": it was named by itself).
    Of one behind a URL also what its store tells: `size` in bytes, a `mark` that changes when its content does ("": it
    tells none), and which parts of it stand beside it (None: that was not asked); the mark is theirs too.
    """

    where: str
    name: str = ""
    size: int = 0
    mark: str = ""
    beside: tuple[str, ...] | None = None


def is_url(where: str) -> bool:
    """Whether a place is a URL (RFC 3986: a scheme and an authority)."""
    scheme, mark, _ = where.partition("://")
    return bool(mark) and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()


def listed(url: str) -> list[Found]:
    """The files that a URL means, in the order of their URLs: itself, those below it where it is a folder, those that
    fit where it is a glob. What can't be asked is told when it is opened.
    """
    with contextlib.suppress(EvidenceError), _told(url):
        system, path = _system(url)
        info = _info(system, path, url)
        if info is None:
            ends = () if path.endswith("**") else PARTS  # that lists them too, and takes no end
            parts = {p: i for end in ends for p, i in system.glob(path + end, detail=True).items()}
            listing = _Listing(_before_the_glob(url), _before_the_glob(path), system.glob(path, detail=True), parts)
            return [listing.file(p, p.rpartition("/")[2]) for p in listing.paths()] or [Found(url)]
        if _is_folder(info, url):
            files = _linked(system, path) if _is_web(url) else system.find(path, detail=True)
            listing = _Listing(url, path, files, {})
            return [listing.file(p, listing.below(p)) for p in listing.paths()] or [Found(url)]
        return [Found(url, "", info.get("size") or 0, _mark(info))]
    return [Found(url)]


@contextlib.contextmanager
def opened(url: str) -> Iterator[BinaryIO]:
    """The bytes behind a URL, to be read once from the start. Raises EvidenceError where they can't be."""
    with _told(url):
        system, path = _system(url)
        with system.open(path, "rb", block_size=_BLOCK) as stream:
            yield cast("BinaryIO", stream)


def beside(url: str, suffix: str) -> str | None:
    """The URL of the file beside that one which has its name and this suffix; None where there is none. Raises
    EvidenceError where that can't be asked.
    """
    if _is_web(url) and ("?" in url or "#" in url):  # what is signed is that one file
        return None
    with _told(url):
        system, path = _system(url + suffix)
        return url + suffix if system.exists(path) else None


def public(url: str) -> str:
    """A URL without what may be a secret in it: user, password, query and fragment."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{_path(rest)}"


def name_of(url: str, folders: Sequence[str]) -> str:
    """Its name in documents: the path below a folder that was asked for, else its last part; never the query, which
    may hold a secret.
    """
    path = _path(url.partition("://")[2])
    roots = (_path(f.partition("://")[2]) for f in folders if is_url(f))
    below = [path[len(f) + 1 :] for f in roots if path.startswith(f"{f}/")]
    return min(below, key=len, default=path.rpartition("/")[2])


def _path(rest: str) -> str:
    """What stands behind the scheme, without user and password, query and fragment."""
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return (host.rpartition("@")[2] + slash + path).strip("/")


# listing -------------------------------------------------------------------------------------------------------------


def _info(system: Any, path: str, url: str) -> Info | None:
    """What stands there; None for a glob that is not the name of a file. A web server has none."""
    try:
        return cast("Info", system.info(path))
    except FileNotFoundError:
        if not _is_web(url) and glob.has_magic(path):
            return None
        raise


def _is_folder(info: Info, url: str) -> bool:
    """A page of a web server is a folder only where the URL says so: the text of a trace is not searched for links."""
    return url.partition("?")[0].endswith("/") if _is_web(url) else info.get("type") == "directory"


def _is_web(url: str) -> bool:
    return url.partition("://")[0] in _WEB


def _linked(system: Any, folder: str) -> dict[str, Info]:
    """The files below a folder of a web server, by the links on its pages. What a link means outside of the folder is
    not asked for, so that no page leads elsewhere.
    """
    found: dict[str, Info] = {}
    waiting = [folder]
    seen = {folder}
    while waiting:
        for info in system.ls(waiting.pop(), detail=True):
            where = str(info["name"])
            if where in seen or not where.startswith(folder) or _leaves(where[len(folder) :]):
                continue
            seen.add(where)
            if where.endswith("/"):
                waiting.append(where)
            else:
                found[where] = info
    return found


def _leaves(below: str) -> bool:
    return "?" in below or "#" in below or not {"", ".", ".."}.isdisjoint(unquote(below).removesuffix("/").split("/"))


def _before_the_glob(where: str) -> str:
    """The folder below which a glob looks, with its slash."""
    at = min((at for at in map(where.partition("://")[2].find, "*?[") if at >= 0), default=len(where))
    scheme, mark, rest = where.rpartition("://")
    return scheme + mark + rest[: rest.rfind("/", 0, at) + 1]


class _Listing:
    """What a store lists below a folder: by its path there, what it tells of it. `parts` are more files, which count
    only where they stand beside one of them.
    """

    def __init__(self, url: str, path: str, files: Mapping[str, Info], parts: Mapping[str, Info]) -> None:
        self._url, self._path = url.rstrip("/"), path.rstrip("/")
        self._files, self._all = files, {**files, **parts}

    def paths(self) -> list[str]:
        """The files in the order of their paths; hidden ones are none, as in a folder of this machine."""
        files = (path for path, info in self._files.items() if info.get("type") != "directory")
        return sorted(path for path in files if path.rpartition("/")[2] and not path.rpartition("/")[2].startswith("."))

    def below(self, path: str) -> str:
        """The path of a file below the folder."""
        return path[len(self._path) + 1 :]

    def file(self, path: str, name: str) -> Found:
        """One file with what is told of it."""
        marks = [_mark(self._all[one]) for one in (path, *self._beside(path))]
        mark = " + ".join(marks) if all(marks) else ""
        size = self._all[path].get("size") or 0
        return Found(self._place(path), name, size, mark, tuple(map(self._place, self._beside(path))))

    def _beside(self, path: str) -> list[str]:
        return [path + end for end in PARTS if path + end in self._all]

    def _place(self, path: str) -> str:
        """The URL of a file: that of the folder, whose authority a store does not repeat, and the path below it."""
        if is_url(path):  # a web server lists URLs
            return path
        if path.startswith(f"{self._path}/"):
            return f"{self._url}/{path[len(self._path) + 1 :]}"
        return f"{self._url.partition('://')[0]}://{path}"


def _mark(info: Info) -> str:
    return ", ".join(f"{key} {info[key]}" for key in _MARKS if info.get(key))


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise _missing(url) from None
    system, path = url_to_fs(url, use_listings_cache=False)  # what stands there now, not what stood there once
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
    except PermissionError:
        message = f"{name} may not be read there"
        raise EvidenceError(message, hint="check who you are to that store", code="evidence_unreadable") from None
    except ImportError as error:
        raise _missing(url, f"fsspec says: {error}") from None
    except Exception as error:  # noqa: BLE001 - each file system raises errors of its own
        message = f"{name} can't be fetched: {type(error).__name__}"
        raise EvidenceError(
            message, hint="check the URL and what it needs to be read", code="evidence_unreadable"
        ) from None


def _missing(url: str, otherwise: str = "") -> EvidenceError:
    """The error for a URL of a scheme whose package is not installed; `otherwise` is the hint where none is ours."""
    scheme = url.partition("://")[0]
    extra = _EXTRAS.get(scheme, "" if otherwise else "urls")
    hint = f"pip install 'trace-forensics[{extra}]', or fetch the evidence and name the file" if extra else otherwise
    return EvidenceError(f"{scheme} URLs are read with an extra", hint=hint, code="extra_missing")
