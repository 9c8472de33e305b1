"""TOML: what is none has line and column, and what is too large is refused quickly."""

from __future__ import annotations

import time

import pytest

import titop as tt
from tests.graph.files.model_texts import ARM, BEAM, HEAD, mistake
from titop.graph.load import load


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("mass = 3", "mass = = 3", "line 17, column 8", "'mass = = 3'"),
        ("mass = 3", "mass = 3\nmass = 4", "line 18, column 9", "every key stands once"),
        ("mass = 3", "mass = 2*half", "line 17, column 9", "stand in quotes"),
        ('force = [0, 0, "-2*half"]', "force = [0, 0", "line 34, end of the file", "TOML"),
        ("[bodies.arm]", "[bodies.arm", "line 15, column 12", "'[bodies.arm'"),
    ],
)
def test_syntax_errors_have_line_and_column(old: str, new: str, where: str, words: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        load(mistake(old, new))
    assert (caught.value.code, caught.value.where) == ("not-toml", where)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("#" * 5_000_000 + "\n", "too-large"),
        (".".join(["a"] * 50_000) + " = 1\n", "too-large"),
        ("a = " + "[" * 100_000 + "\n", "too-deep"),
        ("a = " + "[" * 20 + "]" * 20 + "\n", "too-deep"),
        ("a = " + "{a = " * 20 + "1" + "}" * 20 + "\n", "too-deep"),
        ("[" + ".".join(["a"] * 100) + "]\n", "too-deep"),
        ("a = " + "1" * 5000 + "\n", "not-toml"),
        (HEAD + "".join(f"k{k} = 1\n" for k in range(100_000)), "unknown-key"),
        (HEAD + "[parameters]\n" + "".join(f'p{k} = "q{k}"\n' for k in range(50_000)), "unknown-parameter"),
        (HEAD + "".join(f"k{k}.{'.'.join('a' * 90)} = 1\n" for k in range(20_000)), "too-large"),
        (HEAD + "".join(f"[bodies.b{k}]\n" for k in range(100_000)), "too-large"),
        (HEAD + f"[world.ports]\na = [{'0,' * 1_000_000}]\n", "too-large"),
        (HEAD + "[parameters]\n" + "".join(f'p{k} = "{"+".join("1" * 100)}"\n' for k in range(15_000)), "too-large"),
        (HEAD + "".join(f'[loads.{"x" * 190}{k}]\ntarget = "{"x" * 191}{k}"\n' for k in range(5000)), "unknown-block"),
        (HEAD + f'[loads."{"x" * 3_000_000}"]\ntarget = "w"\n', "unknown-block"),
        (HEAD + f"{BEAM}modes = 1000\n", "not-a-count"),
        (HEAD + "".join(f"{BEAM.replace('boom', f'b{k}')}modes = 20\n" for k in range(1500)), "too-large"),
    ],
    ids=[
        *("size", "dots", "open brackets", "brackets", "braces", "header", "digits", "keys", "parameters", "dotted keys"),
        *("tables", "numbers", "operations", "unknown names", "long name", "modes", "beams"),
    ],
)
def test_oversized_texts_are_refused_quickly(text: str, code: str) -> None:
    start = time.process_time()
    with pytest.raises(tt.ModelError) as caught:
        load(text).check()
    assert caught.value.code == code
    assert len(str(caught.value)) < 50_000
    assert time.process_time() - start < 5.0


def test_a_matrix_of_many_columns_is_no_dotted_key() -> None:
    with pytest.raises(tt.ModelError, match="wrong-shape"):
        load(HEAD + ARM.replace("inertia = [0.1, ", f"inertia = [{'0.1, ' * 500}")).check()
