"""What is wrong with a policy file beside the types of its values?

Asked of the values as they were read, so that these faults stand beside those of the schema: who writes a policy sees
all of them at once. An entry that could never speak is a fault as well: its author takes it for something that counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.core.pointers import pointer_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.rules.yaml_strict import Path, Position, StrictYaml

_DIGEST = late(r"sha256:[0-9a-f]{64}")
_AXES = ("effect", "result", "scope")
_OTHER_ESCAPE = late(r"~(?![01])")


def policy_faults(document: StrictYaml) -> list[tuple[Position, str]]:
    """Every such fault with the line and column of the key that is wrong, or else of its entry."""
    value = document.value
    found = [(("trust", i, *key), text) for i, entry in _entries(value, "trust") for key, text in _of_trust(entry)]
    found += [(("tools", i, *key), text) for i, entry in _entries(value, "tools") for key, text in _of_tool(entry)]
    placed = [(document.position(path), text) for path, text in found]
    return placed + [(document.position(("execute", i)), text) for i, text in _of_execute(value)]


def _entries(value: object, key: str) -> Iterator[tuple[int, dict[str, object]]]:
    listed = value.get(key) if isinstance(value, dict) else None
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict):
            yield index, entry


def _of_trust(entry: dict[str, object]) -> Iterator[tuple[Path, str]]:
    server, digest = entry.get("server"), entry.get("tools_digest")
    if (server is None) == (entry.get("pack") is None):
        yield (), "a trust entry names one server or one pack"
    yield from _blank(entry, "server", "pack", "version")
    if isinstance(server, str) and "*" in server:
        yield ("server",), "a server is trusted by its whole name: * stands for itself here"
    if isinstance(digest, str) and not _DIGEST.fullmatch(digest):
        yield (
            ("tools_digest",),
            "tools_digest is not sha256: and 64 digits from 0 to f: no inventory would ever have it",
        )


def _of_tool(entry: dict[str, object]) -> Iterator[tuple[Path, str]]:
    yield from _blank(entry, "tool", "because", "by", "server")
    if all(entry.get(axis) is None for axis in _AXES):
        yield (), "the entry says nothing: give effect, result or scope"
    effect, scope = entry.get("effect"), entry.get("scope")
    if effect is not None and scope is not None and (effect == "none") != (scope == "none"):
        yield (), f"effect {effect} and scope {scope} contradict each other"
    arguments = entry.get("arguments")
    for pointer in arguments if isinstance(arguments, dict) else ():
        yield from ((("arguments", pointer), text) for text in _of_pointer(pointer))


def _of_pointer(pointer: str) -> Iterator[str]:
    try:
        pointer_tokens(pointer)
    except ValueError as error:
        yield str(error)
    if _OTHER_ESCAPE.search(pointer):
        yield f"not a JSON Pointer: in {pointer!r} stands a ~ that is neither ~0 nor ~1"


def _of_execute(value: object) -> Iterator[tuple[int, str]]:
    names = value.get("execute") if isinstance(value, dict) else None
    for index, name in enumerate(names if isinstance(names, list) else ()):
        if isinstance(name, str) and (not name.strip() or "*" in name):
            yield index, "execute names each tool by its whole name: * stands for itself here"


def _blank(entry: dict[str, object], *keys: str) -> Iterator[tuple[Path, str]]:
    for key in keys:
        said = entry.get(key)
        if isinstance(said, str) and not said.strip():
            yield (key,), f"{key} is empty"
