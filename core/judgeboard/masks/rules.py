"""Finds personal data in texts, and replaces each value by a mask such as ``<email k7f>``.

A mask has the kind of the value and a tag: three characters of a hash of the value with the key of
the project file. So the same value has the same mask everywhere, and the database stores nothing
else of the value. A search takes time in proportion to the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeVar

import orjson
import re2

from judgeboard.errors import BadInput
from judgeboard.registry.plugins import Plugin, Registry, in_words
from judgeboard.settings.model import ENVIRONMENT, Settings
from judgeboard.settings.sections import FROM_VARIABLE, SHORTEST_KEY
from judgeboard.text import storable

T = TypeVar("T")
_MASK = ""  # stands for the kind of a mask
_MOST_PASSES = 5
_LEAST_CARD = 10**12
_IDENTITY = frozenset(
    {
        *(
            "source",
            "external_id",
            "query_type",
            "generator_model",
            "kind",
            "derived_from",
            "asked_at",
        ),
        *("trace_id", "span_id", "parent_id", "scope", "resource", "event"),
    }
)
"""The fields of records that identify an answer, a span or a model."""
RULES = 1  # raise this number when a kind of Judgeboard finds other values
_TAG_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
# Patterns have no repeats without a limit, so that a search takes time in proportion to the text.
_LETTER = "0-9A-Za-z\u00c0-\u024f\u0370-\u052f"  # of languages that put spaces between words
_GAP = "[ ./()\u00a0\u2010-\u2013-]"
_EMAIL = (
    rf"[{_LETTER}_][{_LETTER}_.%+'-]{{0,63}}@(?:[{_LETTER}-]{{1,63}}\.){{1,8}}[{_LETTER}-]{{2,63}}"
)
_IBAN = r"\b[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}"
_CARD = r"\b[2-6](?:\d{12,18}|\d{3}(?:[ -]\d{4}){2}[ -]\d{1,4}(?:[ -]\d{1,3})?|\d{3}[ -]\d{6}[ -]\d{4,5})\b"
_IP = (
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
    r"|(?<![\w:])(?:[0-9A-Fa-f:]{0,39}::[0-9A-Fa-f:.]{0,39}|(?:[0-9A-Fa-f]{1,4}:){6,7}[0-9A-Fa-f:.]{1,15})(?![\w:])"
)
_PHONE = "|".join(
    (
        rf"(?:\+|\b00)[1-9]\d{{0,2}}(?:{_GAP}{{0,3}}\d){{5,12}}\b",  # with the country
        r"\b0[1-9](?:[ .-]\d{2}){4}\b",
        "(?:\\(0[1-9]\\d{1,4}\\)|\\b0[1-9]\\d{1,4})(?: ?[-/\u2013] ?| )\\d{2,8}(?:[ -]\\d{1,6}){0,3}\\b",
        r"\b0[1-9]\d{8,10}\b",
        r"(?:\b1[ .-]?)?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[ .-])\d{3}[ .-]\d{4}\b",  # of North America
    )
)
_LOOKAROUND = re.compile(r"\(\?<?![^)]*\)")
_IBAN_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
    "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
    "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_LENGTHS = {each[:2]: int(each[2:]) for each in _IBAN_LENGTHS.split()}

Places = Callable[[str], Iterable[tuple[int, int]]]
"""Returns where the values of a kind stand in a text: start and end of each, in order, without overlaps."""


def _iban_end(candidate: str) -> int:
    places = [place for place, letter in enumerate(candidate) if letter.isalnum()]
    length = _LENGTHS.get(candidate[:2].upper(), 0)
    if not length or length > len(places):
        return 0
    end = places[length - 1] + 1
    letters = _plain(candidate[:end])
    number = "".join(str(int(letter, 36)) for letter in letters[4:] + letters[:4])
    return end if int(number) % 97 == 1 and not candidate[end : end + 1].isalnum() else 0


def _is_card(candidate: str) -> bool:
    digits = [int(digit) for digit in reversed(_plain(candidate))]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    is_right = (sum(digits[::2]) + doubled) % 10 == 0  # Luhn's check digit
    return is_right and 13 <= len(digits) <= 19


def _ip_end(candidate: str) -> int:
    address = candidate.rstrip(".")
    if ":" in address and not re.search(r"\d", address):
        return 0  # such as a::b in a program
    try:
        ip_address(address)
    except ValueError:
        return 0
    return len(address)


def _without_last(is_value: Callable[[str], bool]) -> Callable[[str], int]:
    """Return the function for the length of a value: groups of digits that stand behind the value are left out."""

    def end(candidate: str) -> int:
        while candidate and not is_value(candidate):
            candidate = candidate[: max(candidate.rfind(" "), candidate.rfind("-"), 0)]
        return len(candidate)

    return end


def _plain(text: str) -> str:
    """Return the letters and digits of a value, so that each way to write it has the same mask."""
    return "".join(filter(str.isalnum, text)).casefold().removeprefix("00")


class Kind(NamedTuple):
    """How values of a kind are found; a text with values matches ``likely``, a pattern of RE2 (None: any text)."""

    places: Places
    likely: str | None


def _kind(pattern: str, end: Callable[[str], int]) -> Kind:
    """Return a kind of Judgeboard; ``end`` is the length of the value with which a candidate begins (0: none)."""
    likely = _LOOKAROUND.sub("", pattern)  # RE2 has no look-around
    # RE2 tells ten times faster than the other search that a text has no value.
    has_candidate, search = re2.compile(likely).search, re.compile(pattern, re.ASCII).search

    def places(text: str) -> Iterator[tuple[int, int]]:
        match = search(text) if has_candidate(text) else None
        while match is not None:
            start, length = match.start(), end(match[0])
            if length:
                yield start, start + length
            match = search(text, start + (length or 1))

    return Kind(places, likely)


def _own_kind(pattern: str) -> Kind:
    matches = re2.compile(pattern).finditer
    return Kind(lambda text: (match.span() for match in matches(text) if match[0]), pattern)


_OURS: dict[str, Kind] = {
    "email": _kind(_EMAIL, len),
    "iban": _kind(_IBAN, _iban_end),
    "card": _kind(_CARD, _without_last(_is_card)),
    "ip": _kind(_IP, _ip_end),
    "phone": _kind(_PHONE, _without_last(lambda candidate: 8 <= len(_plain(candidate)) <= 15)),
}


def _plugin_kind(plugin: Plugin, places: Any) -> Kind:
    """Return the kind of another package: the results of its function are checked at each call."""
    if not callable(places):
        raise BadInput("it must be a function that takes a text and returns pairs of start and end")

    def checked(text: str) -> Iterator[tuple[int, int]]:
        last = 0
        try:
            for start, end in sorted(places(text)):
                if not 0 <= start < end <= len(text):
                    raise ValueError(
                        f"no place in a text of {len(text)} characters: {start}, {end}"
                    )
                if start >= last:
                    yield start, end
                    last = end
        except Exception as error:
            # Nothing may be stored that was not masked.
            raise BadInput(
                f"the mask {plugin.name} of {plugin.source} failed: {in_words(error)}"
            ) from error

    return Kind(checked, None)


MASKS: Registry[Kind] = Registry("judgeboard.masks", _OURS, _plugin_kind)


class Masks:
    """The masks that the project file asks for."""

    def __init__(self, key: str, patterns: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
        self._key = blake2b(key.encode()).digest()
        self._kinds = {name: _own_kind(pattern) for name, pattern in patterns}
        self._kinds |= {name: MASKS[name] for name in names}
        likely = [each.likely for each in self._kinds.values()]
        # For most texts, one search for all kinds shows that there is no value.
        self._likely = (
            None if None in likely else re2.compile("|".join(f"(?:{each})" for each in likely))
        )
        self._mask = re.compile(rf"<({'|'.join(self._kinds)}) [{_TAG_LETTERS}]{{3}}>")
        makers = [(name, MASKS.maker(name)) for name in names]
        self.version = self._hash(repr((RULES, sorted(patterns), makers)), 4).hex()

    def masked(self, value: T) -> T:
        """Return a text, a JSON value or a record with personal data masked; existing masks stay.

        Ids and names of sources, types and models stay, because these identify rows.
        """
        masked: T = self._masked(value)
        return masked

    def masks_in(self, value: object) -> set[str]:
        """Return the masks in a text or a JSON value: one for each value that was masked."""
        if isinstance(value, str):
            return {mask[0] for mask in self._mask.finditer(value)} if "<" in value else set()
        if isinstance(value, dict):
            return self.masks_in([*value, *value.values()])
        return set().union(*map(self.masks_in, value)) if isinstance(value, list | tuple) else set()

    def _masked(self, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of value
        if isinstance(value, str):
            try:
                return self._text(value)
            except UnicodeEncodeError:  # a lone surrogate, which is stored nowhere
                return self._text(storable(value)[0])
        if isinstance(value, dict):
            return {self._masked(key): self._masked(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            inner = [*map(self._masked, value)]
            of_fields = getattr(
                type(value), "_make", tuple
            )  # a NamedTuple has names for the values
            return of_fields(inner) if isinstance(value, tuple) else inner
        if isinstance(value, int | float) and abs(value) >= _LEAST_CARD:
            # In a column with missing numbers, card numbers are floats.
            digits = str(value) if isinstance(value, int) else f"{value:.0f}"
            masked_digits = self._text(digits)
            return value if masked_digits == digits else masked_digits
        if is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in fields(value) if each.name not in _IDENTITY]
            return replace(value, **{name: self._masked(getattr(value, name)) for name in names})
        return value

    def _text(self, text: str) -> str:
        if "\\" in text and text.lstrip()[:1] in {"{", "["}:
            # Escapes stand before and within values, so a JSON text is parsed before masking.
            with suppress(orjson.JSONDecodeError):
                content = orjson.loads(text)
                masked_value = self._masked(content)
                return text if masked_value == content else orjson.dumps(masked_value).decode()
        for _ in range(_MOST_PASSES):  # what stands beside a new mask may be a value
            if self._likely is not None and self._likely.search(text) is None:
                break
            parts = [text]
            self._split(
                parts, _MASK, lambda part: (mask.span() for mask in self._mask.finditer(part))
            )
            for name, kind in self._kinds.items():
                self._split(parts, name, kind.places)
            if len(parts) == 1 or (masked_value := "".join(parts)) == text:
                break
            text = masked_value
        return text

    def _split(self, parts: list[str], kind: str, places: Places) -> None:
        """Take the values of a kind out of the parts of a text; each second part is a mask."""
        for index in range(len(parts) - 1, -1, -2):
            part, pieces, last = parts[index], [], 0
            for start, end in places(part):
                value = part[start:end]
                pieces += [part[last:start], value if kind == _MASK else self._mask_of(kind, value)]
                last = end
            if pieces:
                parts[index : index + 1] = [*pieces, part[last:]]

    def _mask_of(self, kind: str, value: str) -> str:
        number = int.from_bytes(self._hash(f"{kind} {_plain(value)}", 2))
        return f"<{kind} {''.join(_TAG_LETTERS[number >> shift & 31] for shift in (0, 5, 10))}>"

    def _hash(self, text: str, size: int) -> bytes:
        hashed = blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=size)
        return hashed.digest()


def masks_of(settings: Settings) -> Masks:
    """Return the masks that settings ask for. Raises BadInput for a plugin that is not installed or cannot be used."""
    section = settings.masks
    if section is None:
        raise ValueError("the settings have no masks")
    for name in section.plugins:
        if MASKS.lacks(name):
            raise settings.fail(
                f"names {name}, which is no mask of an installed package", "masks", "plugins"
            )
    key = section.key
    if key.startswith(FROM_VARIABLE):
        key = ENVIRONMENT.get(key.removeprefix(FROM_VARIABLE), "")
        if len(key) < SHORTEST_KEY:
            reason = f"names a variable that has no key of at least {SHORTEST_KEY} characters"
            raise settings.fail(reason, "masks", "key")
    # Kinds of Judgeboard come last, always in one order, because an earlier kind wins.
    names = (*section.plugins, *(kind for kind in _OURS if kind in section.kinds))
    return _made(key, tuple(section.patterns.items()), names)


_made = lru_cache(maxsize=4)(Masks)
