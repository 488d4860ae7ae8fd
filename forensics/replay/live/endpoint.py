"""Where is a model asked? At an address that a person gave, with a key out of the environment, by one door: httpx.

No redirect is followed and no proxy, netrc or certificate setting of the environment is read: what leaves goes to the
host that was named. Nothing of a trace chooses the address or the key.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from forensics.core.jsonvalue import decode
from forensics.core.sanitise import one_line
from forensics.errors import ConfigurationError, ReplayFault
from forensics.replay.live.providers import PROVIDERS, Provider

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from httpx import Response

KEY_VARIABLE = "FORENSICS_MODEL_KEY"
ANSWER_LIMIT = 64 << 20  # bytes
TIMEOUT = 300.0  # seconds without a byte, and until the first one; one answer has twice as long
_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})  # of which one block can't unpack to gigabytes
_BAD_REQUEST = 400  # RFC 9110
_NO_SETTINGS = frozenset({"messages", "input", "model", "tools"})
_TWO_STORIES = frozenset({"duplicate_key", "non_finite_number", "nesting_limit"})


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An address and the wire format it speaks."""

    url: str
    provider: Provider

    @property
    def host(self) -> str:
        """The host, with its port where one is given."""
        return urlsplit(self.url).netloc


class RefusedSettingError(Exception):
    """The provider does not take a setting; `name` is it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def endpoint(url: str, provider: str) -> Endpoint:
    """The endpoint. Raises ConfigurationError for an address that is none, and for a provider that is not known."""
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname:
        raise ConfigurationError(f"'{one_line(url, 80)}' is no http or https address", hint="https://host/v1")
    if split.username or split.password:
        message = "an endpoint must not hold a name or a password"
        raise ConfigurationError(message, hint=f"put the key into the environment: {KEY_VARIABLE}")
    if provider not in PROVIDERS:
        raise ConfigurationError(f"there is no provider '{one_line(provider, 80)}'", hint=", ".join(PROVIDERS))
    return Endpoint(url=url.rstrip("/"), provider=PROVIDERS[provider])


class Line:
    """An open connection to an endpoint. Raises ConfigurationError where the extra `live` is missing."""

    def __init__(self, to: Endpoint) -> None:
        self.to = to
        key = os.environ.get(KEY_VARIABLE) or os.environ.get(to.provider.key_variable)
        headers = {"accept-encoding": "gzip, deflate"}
        if to.provider.name == "anthropic":
            headers["anthropic-version"] = "2023-06-01"
        if key:
            headers |= to.provider.headers(key)
        self._client = _httpx().Client(headers=headers, timeout=TIMEOUT, follow_redirects=False, trust_env=False)

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The provider's answer to one request.

        Raises RefusedSettingError where it takes a setting not, and ReplayFault where it gives no answer.
        """
        import httpx

        try:
            with self._client.stream("POST", self.to.url + self.to.provider.path, json=dict(body)) as response:
                data = self._read(response)
        except httpx.HTTPError as error:
            raise ReplayFault(f"{self.to.host} could not be asked: {one_line(str(error), 200)}") from error
        answer = _decoded(data)
        if response.status_code != httpx.codes.OK or answer is None:
            raise self._refused(response.status_code, answer, body)
        return answer

    def _read(self, response: Response) -> bytes:
        """The bytes of an answer, as long as they are neither too many nor too slow."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            raise ReplayFault(f"{self.to.host} answers in an encoding that was not asked for: {one_line(encoding, 40)}")
        data, until = bytearray(), time.monotonic() + 2 * TIMEOUT
        for block in response.iter_bytes():
            data += block
            if len(data) > ANSWER_LIMIT:
                raise ReplayFault(f"{self.to.host} answers with more than {ANSWER_LIMIT} bytes")
            if time.monotonic() > until:
                raise ReplayFault(f"{self.to.host} takes more than {2 * TIMEOUT:.0f} seconds for one answer")
        return bytes(data)

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _refused(self, status: int, answer: dict[str, Any] | None, body: Mapping[str, Any]) -> Exception:
        error = (answer or {}).get("error")
        error = error if isinstance(error, dict) else {}
        name = error.get("param")
        if status == _BAD_REQUEST and isinstance(name, str) and name in body.keys() - _NO_SETTINGS:
            return RefusedSettingError(name)
        said = one_line(str(error.get("message") or error.get("type") or "no JSON that says why"), 200)
        return ReplayFault(f"{self.to.host} answered {status}: {said}", hint="nothing else was asked after that")


def _decoded(data: bytes) -> dict[str, Any] | None:
    """The object that an answer is; None for any other, and for one that another reader may read otherwise."""
    found = decode(data)
    if found.error or any(fault.code in _TWO_STORIES for fault in found.faults):
        return None
    return found.value if isinstance(found.value, dict) else None


def _httpx() -> ModuleType:
    try:
        import httpx
    except ImportError as error:
        raise ConfigurationError(
            "asking a model needs the extra 'live'", hint="pip install 'trace-forensics[live]'"
        ) from error
    return httpx
