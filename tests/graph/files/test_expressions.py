"""Numbers as arithmetic of parameters: right values, and a place and a reason for what is none."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.graph.files.expressions import MAX_DEPTH, MAX_LENGTH, evaluate, evaluate_parameters, number

PARAMETERS = {"a": 2.0, "arm.length": 0.25, "arm.part.mass": 3.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" 0.1 ", 0.1),
        ("1e-3", 1e-3),
        ("2*arm.length + 0.1", 2 * 0.25 + 0.1),
        ("arm.part.mass/a", 1.5),
        ("-a**2", -4.0),
        ("(-a)**2", 4.0),
        ("a**-1", 0.5),
        ("2**3**2", 512.0),
        ("+a - -a", 4.0),
        ("1 - 2 - 3", -4.0),
        ("sqrt(a)", math.sqrt(2)),
        ("acos(1/a) + asin(-1/a) + atan(a)", math.acos(0.5) - math.asin(0.5) + math.atan(2)),
        ("sin(pi/6) + cos(1) + tan(0.5)", math.sin(math.pi / 6) + math.cos(1) + math.tan(0.5)),
        ("deg(90)", math.pi / 2),
        ("deg(-a*45)", -math.pi / 2),
        ("1/3", 1 / 3),
    ],
)
def test_values(text: str, value: float) -> None:
    assert evaluate(text, PARAMETERS, "here") == value


def test_random_arithmetic_is_that_of_floats() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, y, z = (float(value) for value in rng.uniform(0.1, 10.0, 3))
        text = "x*(y + z)/y - z**x + sqrt(x)"
        assert evaluate(text, {"x": x, "y": y, "z": z}, "here") == x * (y + z) / y - z**x + math.sqrt(x)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "bad-expression", "expected arithmetic"),
        ("2 +", "bad-expression", "write it with numbers"),
        ("2^3", "bad-expression", "write ** for powers"),
        ("2, 3", "bad-expression", "not a comma"),
        ("True", "bad-expression", "remove what is not arithmetic"),
        ("2j", "bad-expression", "Constant"),
        ("'a'", "bad-expression", "Constant"),
        ("a if a else a", "bad-expression", "IfExp"),
        ("lambda: 1", "bad-expression", "Lambda"),
        ("[1][0]", "bad-expression", "Subscript"),
        ("a < 2", "bad-expression", "Compare"),
        ("a // 2", "bad-expression", "BinOp"),
        ("~a", "bad-expression", "UnaryOp"),
        ("a\0", "bad-expression", "null byte"),
        ("\ud800", "bad-expression", "expected arithmetic"),
        ("__import__('os').system('true')", "bad-expression", "no function here"),
        ("sine(1)", "bad-expression", "did you mean 'sin'"),
        ("sin(1, 2)", "bad-expression", "give one argument"),
        ("sin(x=1)", "bad-expression", "give one argument"),
        ("sin(*a)", "bad-expression", "Starred"),
        ("sin.real(1)", "bad-expression", "no function here"),
        ("arm.lenght", "unknown-parameter", "did you mean 'arm.length'"),
        ("a.real", "unknown-parameter", "'a.real' stands"),
        ("a.__class__", "unknown-parameter", "a.__class__"),
        ("sin", "unknown-parameter", "'sin' stands"),
        ("1/0", "bad-value", "division by zero"),
        ("sqrt(-1)", "bad-value", "expected a finite number"),
        ("acos(1.1)", "bad-value", "expected a finite number"),
        ("(-8)**(1/3)", "bad-value", "finite real number"),
        ("1e308*10", "bad-value", "finite real number"),
        ("1e999", "bad-value", "inf"),
        ("0**-1", "bad-value", "expected a finite number"),
        ("9**9**9**9", "bad-value", "expected a finite number"),
        ("1+" * MAX_LENGTH + "1", "long-expression", f"at most {MAX_LENGTH} characters"),
        ("-" * (MAX_DEPTH + 1) + "1", "deep-expression", f"at most {MAX_DEPTH} nested"),
        ("(" * 190 + "1" + ")" * 190 + "+x", "unknown-parameter", "'x' stands"),
        ("(" * 199 + "1", "bad-expression", "expected arithmetic"),
    ],
)
def test_what_is_no_arithmetic_is_refused_at_once(text: str, code: str, words: str) -> None:
    start = time.process_time()
    with pytest.raises(tt.ModelError) as caught:
        evaluate(text, PARAMETERS, "hub.mass")
    assert time.process_time() - start < 1.0
    assert (caught.value.code, caught.value.where) == (code, "hub.mass")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (True, "wrong-type"),
        (None, "wrong-type"),
        ([1.0], "wrong-type"),
        (math.nan, "not-finite"),
        (math.inf, "not-finite"),
        (10**400, "not-finite"),
    ],
)
def test_what_is_no_number_is_refused(value: Any, code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        number(value, {}, "hub.mass")
    assert caught.value.code == code


def test_infinity_where_it_is_allowed() -> None:
    assert number(-math.inf, {}, "limits.lower", infinite=True) == -math.inf
    with pytest.raises(tt.ModelError):
        number(math.nan, {}, "limits.lower", infinite=True)


class TestParameters:
    def test_any_order_and_tables(self) -> None:
        table = {"area": "pi*wheel.radius**2", "wheel": {"radius": "2*unit", "rim": {"mass": 1}}, "unit": 0.5}
        values, findings = evaluate_parameters(table)
        assert findings == []
        assert values == {"area": math.pi, "wheel.radius": 1.0, "wheel.rim.mass": 1.0, "unit": 0.5}

    def test_long_chains(self) -> None:
        table = {f"p{k}": f"p{k + 1} + 1" for k in range(3000)} | {"p3000": 0}
        assert evaluate_parameters(table)[0]["p0"] == 3000

    @pytest.mark.parametrize(
        ("table", "code", "where", "words"),
        [
            ({"a": "b", "b": {"c": "d"}, "d": "2*b.c"}, "cyclic-parameters", "parameters.b.c", "b.c -> d -> b.c"),
            ({"a": "a + 1"}, "cyclic-parameters", "parameters.a", "a -> a"),
            ({"lambda": 1}, "bad-name", "parameters.lambda", "rename"),
            ({"pi": 3}, "bad-name", "parameters.pi", "rename"),
            ({"two words": 3}, "bad-name", "parameters.two words", "rename"),
            ({"t": {"a.b": 3}}, "bad-name", "parameters.t.a.b", "rename"),
            ({"a": True}, "wrong-type", "parameters.a", "a number or an expression"),
            ({"a": [1]}, "wrong-type", "parameters.a", "a number or an expression"),
            ({"a": math.inf}, "not-finite", "parameters.a", "a finite number"),
            ({"a": "2*c"}, "unknown-parameter", "parameters.a", "'c' stands"),
        ],
    )
    def test_errors(self, table: dict[str, Any], code: str, where: str, words: str) -> None:
        _, (finding,) = evaluate_parameters(table)
        assert (finding.code, finding.where) == (code, where)
        assert words in str(finding)

    def test_functions_may_name_parameters_in_a_table(self) -> None:
        assert evaluate_parameters({"motor": {"sin": 1, "pi": 2}, "a": "motor.sin + motor.pi"})[0]["a"] == 3

    def test_what_depends_on_a_wrong_parameter_is_not_reported_again(self) -> None:
        values, findings = evaluate_parameters({"a": "1/0", "b": "2*a", "c": "nothing"})
        assert [finding.where for finding in findings] == ["parameters.a", "parameters.c"]
        assert math.isnan(evaluate("b + 1", values, "hub.mass"))

    def test_thousands_of_wrong_parameters_do_not_take_long(self) -> None:
        start = time.process_time()
        _, findings = evaluate_parameters({f"p{k}": f"q{k}" for k in range(20_000)})
        assert 0 < len(findings) <= 50
        assert time.process_time() - start < 5.0
