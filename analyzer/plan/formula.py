"""Formulas of derived inputs: names, numbers and + - * /, nothing else."""

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluate_formula(formula: str, values: Mapping[str, float]) -> float:
    """The value of `formula` with its names taken from `values`.

    KeyError for a name that is missing, ValueError for anything that is not plain arithmetic.
    """
    if len(formula) > 500:
        raise ValueError("longer than 500 characters")
    try:
        return _value(ast.parse(formula, mode="eval").body, values)
    except (SyntaxError, RecursionError) as error:
        raise ValueError("not plain arithmetic") from error


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    raise ValueError("not plain arithmetic")
