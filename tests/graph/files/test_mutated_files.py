"""Mutated model files are refused with a place, or give a sound system."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar, geared_hand, random_closed_tree
from tests.graph.files.model_texts import ARM, BEAM, HEAD, PIN, equipped, looped
from tests.mutants import assert_round_trip, how_many
from tests.systems import random_state, random_tree
from titop.graph.files.saving import to_text
from titop.graph.load import load


class TestMutations:
    """Whatever happens to a file: a ModelError, or a system that resolves to a ModelError or to finite accelerations."""

    NUMBERS = ("0", "-1", "1e308", "1e-320", "nan", "inf", "-inf", '"1/0"', '"half"', "[]", "{}", "true", '""', "[[1, 2], 3]")
    WORDS = (
        "type",
        "ports",
        "mass",
        "arm",
        "world",
        "free",
        "weld",
        "screw",
        "rest",
        "C",
        "a.b",
        "",
        "parent",
        "limits",
        "kind",
        "second",
    )

    def mutant(self, rng: np.random.Generator, text: str) -> str | bytes:
        """Return a file with bytes, a number, a word, a line or a block of lines changed."""
        lines = text.split("\n")
        here, there = (int(k) for k in rng.integers(len(lines), size=2))
        kind = rng.integers(6)
        if kind == 0:
            data = bytearray(text.encode())
            for position in rng.integers(len(data), size=rng.integers(1, 4)):
                data[position] = rng.integers(256) if rng.random() < 0.3 else rng.integers(32, 127)
            return bytes(data)
        if kind == 1:
            return self.replaced(rng, text, "0123456789", str(rng.choice(self.NUMBERS)))
        if kind == 2:
            return self.replaced(rng, text, "abcdefghijklmnopqrstuvwxyz_", str(rng.choice(self.WORDS)))
        if kind == 3:
            del lines[here]
        elif kind == 4:
            lines.insert(there, lines[here])
        else:
            lines[here], lines[there] = lines[there], lines[here]
        return "\n".join(lines)

    def replaced(self, rng: np.random.Generator, text: str, letters: str, new: str) -> str:
        """Return a text in which one run of letters is replaced."""
        places = [k for k, letter in enumerate(text) if letter in letters]
        start = end = int(rng.choice(places))
        while start > 0 and text[start - 1] in letters + ".-":
            start -= 1
        while end < len(text) and text[end] in letters + ".-":
            end += 1
        return text[:start] + new + text[end:]

    @pytest.mark.long
    @pytest.mark.filterwarnings("ignore")
    def test_mutants(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(20)
        tree = random_tree(np.random.default_rng(5), 3, passive=True, loads=True)
        loops = looped(np.random.default_rng(6), 3)
        hinged_beam = HEAD + BEAM + '[joints.hinge]\ntype = "revolute"\nparent = "world"\nchild = "boom"\n'
        closed, _ = random_closed_tree(np.random.default_rng(6), 3)
        systems = (tree, equipped(), loops, geared_hand(), closed, four_bar())
        originals = [HEAD + ARM + PIN, hinged_beam, *map(to_text, systems)]
        outcomes = {"refused": 0, "unsound": 0, "sound": 0}
        path = tmp_path / "mutant.toml"
        for original in originals:  # compiles what the mutants need
            path.write_text(original)
            assert self.outcome(path) != "refused"
        for k in range(how_many(2000)):
            mutant = self.mutant(rng, originals[k % len(originals)])
            path.write_bytes(mutant if isinstance(mutant, bytes) else mutant.encode())
            start = time.process_time()
            outcomes[self.outcome(path)] += 1
            assert time.process_time() - start < 5.0
        assert all(count > 100 for count in outcomes.values()), outcomes

    def test_a_wrong_digit_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The negative control of the round trip."""
        model = random_tree(np.random.default_rng(5), 3).resolve()
        q, v, _, tau = random_state(model, np.random.default_rng(0))
        assert_round_trip(model, q, v, tau)
        a = model.forward_dynamics(q, v, tau)
        monkeypatch.setattr(type(model), "forward_dynamics", lambda *_: a * (1 + 1e-9))
        with pytest.raises(AssertionError):
            assert_round_trip(model, q, v, tau)

    def outcome(self, path: Path) -> str:
        """Return what became of a mutant."""
        try:
            system = load(path)
        except tt.ModelError:
            return "refused"
        try:
            model = system.resolve()
            q, v, _, tau = random_state(model, np.random.default_rng(0))
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
            acceleration = model.forward_dynamics(q, v, tau)
            assert_round_trip(model, q, v, tau)
        except (tt.ModelError, tt.ConvergenceError):  # the latter for loops that cannot be closed
            return "unsound"
        assert np.isfinite(acceleration).all()
        assert to_text(load(to_text(system))) == to_text(system)
        return "sound"
