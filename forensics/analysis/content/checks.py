"""Is a value what its shape says? The checks that a pattern can't make: check digits, entropy, placeholders."""

from __future__ import annotations

import binascii
import re
from collections import Counter
from math import log2
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.rules.content_rules import secret_names

if TYPE_CHECKING:
    from collections.abc import Callable

_TEMPLATE = late(
    r"\$\{.*|\$[A-Za-z_(].*|<.*>?|\{.*\}?|%[sdr(].*|\[.*|\*+|[xX]+|\.+|…|-+|_+|#+|secret:[a-z0-9-]+:.*|personal:.*",
    re.DOTALL,
)
_CLASSES = (late("[a-z]"), late("[A-Z]"), late("[0-9]"), late(r"[^A-Za-z0-9\s]"))
_DIGIT = late("[0-9]")
_PATH = late(
    r"(?:~|[A-Za-z]:)?[/\\](?:home|usr|var|etc|tmp|opt|root|app|run|mnt|srv|work|data|Users|Windows)\b.*|\./.*",
    re.DOTALL,
)
_CODE = late(
    r"[A-Za-z_][\w.]*(?:\(.*|\[.*)|(?:self|cls|os|process|config|settings|env|args|options|ctx)\.[\w.]+|.*\.\.\..*"
)
_PLACE = late(r"https?://[^@]*|(?:[A-Za-z_][\w.-]*/){2,}[\w.-]+\.[a-z]{1,5}(?::\d+)*:?", re.DOTALL)
_SHORTEST, _LONGEST = 3, 4096
_VARIED_LENGTH, _RANDOM_LENGTH = 6, 12
_RANDOM_BITS = 2.8  # a character, over the whole value: random hexadecimal of 16 digits has 3.4, a word of English 2.5
_DECIMALS = 10
_RESERVED = late(
    r"(?:.*\.)?(?:example(?:\.(?:com|org|net|edu))?|test|invalid|localhost|local|localdomain|internal|png|jpe?g|gif|svg|webp|"
    r"js|mjs|ts|tsx|jsx|css|py|rb|go|rs|md|json|html?|ya?ml|toml|txt|zip|whl|service|socket|timer|target|slice|mount|gserviceaccount\.com)",
    re.IGNORECASE,
)
_SERVICES = late(
    r"(?:git|hg|svn|no-?reply|do-?not-?reply|user|username|you|your\.?name|name|email|me|someone|foo|bar)",
    re.IGNORECASE,
)
_PHONE_DIGITS = range(9, 16)  # E.164 ends at 15; a national number has 10
_PLAIN_PHONE = range(11, 14)


def given(value: str) -> bool:
    """Whether a value was filled in: no placeholder, template or mask."""
    return (
        _SHORTEST <= len(value) <= _LONGEST
        and value.lower() not in secret_names().placeholders
        and _TEMPLATE.fullmatch(value) is None
        and _PATH.fullmatch(value) is None
        and _PLACE.fullmatch(value) is None
        and len(set(value)) > 1
    )


def varied(value: str) -> bool:
    """Whether a value out of running text is more than a word: letters beside digits or signs, and no code."""
    if len(value) < _VARIED_LENGTH or not given(value) or _CODE.fullmatch(value):
        return False
    return _DIGIT.search(value) is not None and sum(c.search(value) is not None for c in _CLASSES) > 1


def random_looking(value: str) -> bool:
    """Whether a value looks as if a machine had drawn it: long, without spaces, with digits, and of entropy."""
    if len(value) < _RANDOM_LENGTH or " " in value or not varied(value):
        return False
    counts = Counter(value[:256])
    total = sum(counts.values())
    return -sum(n / total * log2(n / total) for n in counts.values()) >= _RANDOM_BITS


def digits(value: str) -> bool:
    """Whether digits stand in it: a name made of words has none."""
    return _DIGIT.search(value) is not None


def name_and_password(value: str) -> bool:
    """Whether base64 holds a name and a password, joined by a colon."""
    import base64

    try:
        text = base64.b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if set("-_") & set(value) else None
        ).decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in text and text.isprintable()


def address(value: str) -> bool:
    """Whether an e-mail address may be a person's."""
    name, _, domain = value.partition("@")
    return _RESERVED.fullmatch(domain) is None and _SERVICES.fullmatch(name) is None


def card(value: str) -> bool:
    """Whether the check digit of a card number holds (ISO/IEC 7812, by Luhn)."""
    numbers = [int(c) for c in reversed(value) if c.isdigit()]
    doubled = sum(sum(divmod(2 * n, _DECIMALS)) for n in numbers[1::2])
    return len(set(numbers)) > 1 and (sum(numbers[::2]) + doubled) % _DECIMALS == 0


def iban(value: str) -> bool:
    """Whether the check digits of an account number hold (ISO 7064, modulo 97)."""
    plain = value.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def phone(value: str) -> bool:
    """Whether a telephone number has as many digits as one has; without groups, only those of a whole one."""
    count = sum(c.isdigit() for c in value)
    grouped = any(c in " .-(" for c in value)
    return count in (_PHONE_DIGITS if grouped else _PLAIN_PHONE)


CHECKS: dict[str, Callable[[str], bool]] = {
    "given": given,
    "varied": varied,
    "digits": digits,
    "name_and_password": name_and_password,
    "address": address,
    "card": card,
    "iban": iban,
    "phone": phone,
}
"""What `check` of a rule names."""
