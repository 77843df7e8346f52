"""Options in words: the help, the range, and why a value is wrong.

The words are the same in the project file, in a command, on a page and in Python.
"""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from judgeboard.errors import BadInput
from judgeboard.settings.fields import Option
from judgeboard.settings.sections import JudgeFields, fields_of
from judgeboard.text import number_words

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
M = TypeVar("M", bound=BaseModel)


def bounds(about: FieldInfo) -> tuple[float, float]:
    """Return the lowest and the highest number of a field, infinite without a limit."""
    low = next((each.ge for each in about.metadata if isinstance(each, Ge)), -math.inf)
    high = next(
        (
            each.le if isinstance(each, Le) else each.lt
            for each in about.metadata
            if isinstance(each, Le | Lt)
        ),
        math.inf,
    )
    return cast(tuple[float, float], (low, high))


def option_of(about: FieldInfo) -> Option | None:
    """Return the option of a field; None if no command sets the field."""
    return next((each for each in about.metadata if isinstance(each, Option)), None)


def unit_of(about: FieldInfo) -> tuple[float, str]:
    """Return the unit in which people read and write a number, after the factor from the stored unit."""
    units = {"SHARE": (100, "%"), "SECONDS": (1 / 60, "min")}
    return units.get((option_of(about) or Option()).metavar or "", (1, ""))


def range_words(about: FieldInfo) -> str:
    """Return the range of a number: "from 0 to 2", "at least 1", "above 0 and below 1"; empty without a limit."""
    low = high = closed_low = closed_high = ""
    for each in about.metadata:
        match each:
            case Ge(ge=limit):
                low, closed_low = f"at least {limit:g}", f"{limit:g}"
            case Gt(gt=limit):
                low = f"above {limit:g}"
            case Le(le=limit):
                high, closed_high = f"at most {limit:g}", f"{limit:g}"
            case Lt(lt=limit):
                high = f"below {limit:g}"
    if closed_low and closed_high:
        return f"from {closed_low} to {closed_high}"
    return " and ".join(filter(None, (low, high)))


def help_of(about: FieldInfo) -> str:
    """Return the description of a field, with range and default in the first sentence."""
    first, end, later_words = (about.description or "").partition(". ")
    limits = range_words(about)
    default = about.default
    has_default = "(default:" in first or about.is_required()
    if has_default or isinstance(default, bool) or default in (None, ()):
        usual = ""
    elif isinstance(default, tuple):
        usual = f" (default: {','.join(default)})"
    else:
        usual = (
            f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
        )
    sentence = f"{first.removesuffix('.')}{limits and f', {limits}'}{usual}."
    return f"{sentence} {later_words}" if end else sentence


def name_of(field: str, model: type[BaseModel] = JudgeFields) -> str:
    """Return the name of an option of a command, without the leading dashes."""
    about = model.model_fields.get(field)
    return ((about and about.alias) or field).replace("_", "-")


def checked(model: type[M], values: Mapping[str, object]) -> M:
    """Return the options ``values`` as a model. Raises BadInput with the name of the first wrong value."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda each: each["type"] not in UNKNOWN)
        keys = [str(step) for step in fault["loc"]]
        fields = {**model.model_fields, **fields_of(model)}  # Python may use either name
        raise BadInput(f"{'.'.join(keys)} {reason_of(fault, keys, fields)}") from None


def reason_of(
    fault: "ErrorDetails",
    keys: Sequence[str],
    fields: Mapping[str, FieldInfo],
    *,
    with_value: bool = True,
) -> str:
    """Return why the value at ``keys`` is wrong: "must be a number from 0 to 2, not 5".

    Args:
        fault: A fault that pydantic found.
        keys: The names of the tables that hold the value, and the name of the value.
        fields: The fields of the table that holds the value, by name.
        with_value: Whether the words have the value, which may be a secret.
    """
    reason, value = _requirement(fault, keys, fields), fault["input"]
    is_huge = isinstance(value, int) and abs(value) > 10**15
    value_text = number_words(value) if is_huge or isinstance(value, float) else repr(value)
    is_short = isinstance(value, str | int | float) and len(value_text) <= 80
    if not (with_value and is_short and reason.startswith("must")):
        return reason
    words = f"{reason}, not {value_text}"
    percent = re.fullmatch(r"'?(\d\d?(?:\.\d+)?)'?", words.rpartition(" ")[2])
    if percent is None or not reason.endswith((" to 1", "below 1", "at most 1")):
        return words
    return f"{words}. For {percent[1]} %, write {float(percent[1]) / 100:g}"


def _requirement(
    fault: "ErrorDetails", keys: Sequence[str], fields: Mapping[str, FieldInfo]
) -> str:
    if fault["type"] in UNKNOWN:
        if re.search(r"key|token|secret|password", keys[-1]) and keys[-1] not in fields:
            return "does not belong into this file: a key stands in the environment, for example in OPENAI_API_KEY"
        near = difflib.get_close_matches(keys[-1], fields, n=1)
        advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(fields)}"
        return f"is unknown; {advice}"
    about = fields.get(keys[-1])
    limits = "" if about is None else range_words(about)
    is_closed = limits.startswith("from")
    if is_closed or fault["type"].startswith(("greater_than", "less_than")):
        return f"must be a number {limits}" if is_closed else f"must be {limits}"
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"]).removeprefix(f"{keys[0]} ")
    if fault["type"] == "string_too_long":
        return f"has more than {fault['ctx']['max_length']:,} characters: {len(fault['input']):,}"
    # The sentences of pydantic are about its types, not about the file.
    words = _WORDS.get(
        fault["type"].removesuffix("_type").removesuffix("_parsing"), "is not usable"
    )
    return words.format(**fault.get("ctx", {}))


# By the kind of a fault, without the ending that tells a wrong type from a text that cannot be
# read.
_WORDS = {
    "missing": "is required",
    "bool": "must be true or false",
    "string": "must be a text",
    "int": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float": "must be a number",
    "decimal": "must be a number",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "path": "must be the path of a file",
    "tuple": "must be a list",
    "dict": "must be a table",
    "model": "must be a table",
    "model_attributes": "must be a table",
    "dataclass": "must be a table",
}
