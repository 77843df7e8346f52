"""Expressions in a small part of Python, for checks of answers.

An expression is parsed with `ast` and interpreted here: Python never compiles or runs it. Only the
nodes, functions and methods listed below exist, so an expression reaches no attribute, import or
file. Its size is limited when it is defined. Its steps are limited when it is computed, and a step
over a long text counts for more, so that the same answer always gives the same result, however fast
the machine is.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from judgeboard.errors import BadInput

MOST_CHARACTERS = 1_000
MOST_NODES = 150
MOST_STEPS = 50_000
MOST_NUMBER = 1e15
_CHARACTERS_PER_STEP = 100


class NotComputed(Exception):
    """An expression cannot be computed for this answer; the message contains none of its texts."""


def _words(text: str) -> list[str]:
    return text.lower().split()


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (len, min, max, sum, any, all, abs, round)},
    "words": _words,
}
_METHODS = frozenset(
    {
        *(
            "count",
            "endswith",
            "find",
            "isdigit",
            "isupper",
            "lower",
            "split",
            "splitlines",
            "startswith",
            "strip",
        ),
        "upper",
    }
)
_NUMBERS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, container: value in container,
    ast.NotIn: lambda value, container: value not in container,
}
_NODES = (
    *(
        ast.BoolOp,
        ast.And,
        ast.Or,
        ast.UnaryOp,
        ast.Not,
        ast.USub,
        ast.BinOp,
        *_NUMBERS,
        ast.Compare,
        *_COMPARISONS,
    ),
    *(
        ast.Constant,
        ast.Name,
        ast.Load,
        ast.Store,
        ast.Call,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.IfExp,
    ),
    *(ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.comprehension),
)

_CALLED = (ast.Name, ast.Attribute)


@lru_cache(maxsize=256)
def parsed(source: str, names: frozenset[str]) -> ast.expr:
    """Return an expression that uses only these names, or raise BadInput."""
    if len(source) > MOST_CHARACTERS:
        raise BadInput(f"an expression has at most {MOST_CHARACTERS:,} characters")
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadInput(f"not an expression: {getattr(error, 'msg', error)}") from error
    nodes = list(ast.walk(tree))
    if len(nodes) > MOST_NODES:
        raise BadInput(
            f"the expression is too long: it has {len(nodes)} parts, at most {MOST_NODES} are allowed"
        )
    own = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        _check(node, names | own, called)
    return tree


def _check(node: ast.AST, names: frozenset[str], called: set[int]) -> None:
    """Raise BadInput if a node is not in the part of Python that expressions have."""
    if not isinstance(node, _NODES):
        raise BadInput(f"{type(node).__name__} is not allowed in an expression")
    match node:
        case ast.Constant(value=value) if value is not None and not isinstance(
            value, str | bool | int | float
        ):
            raise BadInput(f"the value {ast.unparse(node)[:40]} is not allowed in an expression")
        case ast.Attribute(attr=name) if id(node) not in called or name not in _METHODS:
            raise BadInput(
                f"there is no method {name!r}; the methods are {', '.join(sorted(_METHODS))}"
            )
        case ast.Name(id=name) if id(node) in called and name not in _FUNCTIONS:
            raise BadInput(
                f"there is no function {name!r}; the functions are {', '.join(_FUNCTIONS)}"
            )
        case ast.Name(id=name) if id(node) not in called and name not in names:
            raise BadInput(f"there is no name {name!r}; the names are {', '.join(sorted(names))}")
        case ast.Call(func=function, keywords=keywords) if keywords or not isinstance(
            function, _CALLED
        ):
            raise BadInput("a call is FUNCTION(…) or TEXT.METHOD(…), without keywords")
        case ast.Call(func=ast.Name(id=name), args=values) if (
            name not in {"min", "max"} and len(values) != 1
        ):
            raise BadInput(f"{name} takes one value")
        case ast.Slice(step=step) if step is not None:
            raise BadInput("a slice has no step")
        case ast.comprehension(target=target) if not isinstance(target, ast.Name):
            raise BadInput("a comprehension has one name before in")


def computed(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression; raise NotComputed if it fails or takes too many steps."""
    try:
        return _Computing(values).value(tree)
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise NotComputed(f"it cannot be computed ({type(error).__name__})") from error


def _number(value: Any) -> Any:
    if not isinstance(value, int | float) or not -MOST_NUMBER <= value <= MOST_NUMBER:
        raise TypeError("not a number")
    return value


class _Computing:
    """The computation of one expression, with the steps that are left."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._left = MOST_STEPS

    def value(self, node: ast.AST) -> Any:
        """Return the value of a node that `parsed` accepted."""
        self._spend()
        return self._VALUES[type(node)](self, node)

    def _chosen(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        return not operand if isinstance(node.op, ast.Not) else -_number(operand)

    def _elements(self, node: ast.List | ast.Tuple) -> list[Any]:
        return [self.value(each) for each in node.elts]

    def _comprehended(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        return list(self._each(node.elt, node.generators))

    def _spend(self, *used: Any) -> None:
        sizes = (len(value) for value in used if isinstance(value, str | list | tuple))
        self._left -= 1 + sum(sizes) // _CHARACTERS_PER_STEP
        if self._left < 0:
            raise NotComputed(f"it needs more than {MOST_STEPS:,} steps")

    def _either(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for each in node.values:
            value = self.value(each)
            if bool(value) is isinstance(node.op, ast.Or):
                return value
        return value

    def _combined(self, node: ast.BinOp) -> Any:
        kind, left, right = node.op, self.value(node.left), self.value(node.right)
        if isinstance(kind, ast.Add) and type(left) is type(right) and isinstance(left, str | list):
            self._spend(left, right)
            return left + right
        return _number(_NUMBERS[type(kind)](_number(left), _number(right)))

    def _compared(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for kind, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other)
            self._spend(left, right, *(right if isinstance(right, list) else ()))
            if not _COMPARISONS[type(kind)](left, right):
                return False
            left = right
        return True

    def _called(self, node: ast.Call) -> Any:
        arguments = [self.value(each) for each in node.args]
        self._spend(
            *arguments, *(each for value in arguments if isinstance(value, list) for each in value)
        )
        if isinstance(node.func, ast.Attribute):
            text = self.value(node.func.value)
            if not isinstance(text, str) or not all(isinstance(each, str) for each in arguments):
                raise TypeError("a method is called on a text, with texts")
            self._spend(text)
            return getattr(text, node.func.attr)(*arguments)
        name = str(node.func.id) if isinstance(node.func, ast.Name) else ""
        return _FUNCTIONS[name](*arguments)

    def _part(self, node: ast.Subscript) -> Any:
        whole = self.value(node.value)
        if not isinstance(whole, str | list | tuple):
            raise TypeError("only a text or a list has parts")
        self._spend(whole)
        if not isinstance(node.slice, ast.Slice):
            return whole[self.value(node.slice)]
        ends = (
            None if end is None else self.value(end) for end in (node.slice.lower, node.slice.upper)
        )
        return whole[slice(*ends)]

    def _each(self, element: ast.expr, generators: Sequence[ast.comprehension]) -> Iterator[Any]:
        if not generators:
            yield self.value(element)
            return
        first, *others = generators
        name = first.target.id if isinstance(first.target, ast.Name) else ""
        before = self._values.get(name)
        for value in self.value(first.iter):
            self._values[name] = value
            if all(self.value(condition) for condition in first.ifs):
                yield from self._each(element, others)
        self._values[name] = before

    _VALUES: ClassVar[Mapping[type[ast.AST], Callable[["_Computing", Any], Any]]] = {
        ast.Constant: lambda _self, node: node.value,
        ast.Name: lambda self, node: self._values[node.id],
        ast.BoolOp: _either,
        ast.UnaryOp: _unary,
        ast.BinOp: _combined,
        ast.Compare: _compared,
        ast.IfExp: _chosen,
        ast.Call: _called,
        ast.Subscript: _part,
        ast.List: _elements,
        ast.Tuple: _elements,
        ast.ListComp: _comprehended,
        ast.GeneratorExp: _comprehended,
    }
