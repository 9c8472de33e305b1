"""Gains of inputs and outputs: which signals a name scales."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import parts_of

#: Last part of the names.
GAIN = "gain"

#: Names of the gains of inputs and of outputs, None where there is none.
Gains = tuple[list[str | None], list[str | None]]


def gains_of(names: Collection[str], inputs: Sequence[str], outputs: Sequence[str]) -> Gains:
    """Return which of some names is the gain of each input and output, by their paths.

    What is called as a signal is that signal's gain alone; else it is that of a vector's entries, or of all that an owner has,
    unless these have gains of their own.

    Raises
    ------
    ModelError
        For names that stand for inputs and outputs at once.
    """
    signals = {*inputs, *outputs}
    of_inputs, of_outputs = ([_gain_of(path, names, signals) for path in paths] for paths in (inputs, outputs))
    for name in sorted({name for name in of_inputs if name} & {name for name in of_outputs if name}):
        found = [
            f"{path}.{GAIN}" for path, own in zip([*inputs, *outputs], [*of_inputs, *of_outputs], strict=True) if own == name
        ]
        got, expected = "the gain of inputs and outputs at once", "that of inputs alone or of outputs alone"
        advice = f"it could be {', '.join(dict.fromkeys(found))}: name one of these, or several as a tuple"
        raise ModelError(Finding("ambiguous-gain", f"parameters[{name!r}]", got, expected, advice))
    return of_inputs, of_outputs


def _gain_of(path: str, names: Collection[str], signals: Collection[str]) -> str | None:
    """Return the name that is the gain of a signal: its own, its vector's, its owner's; None where there is none."""
    own = parts_of(path.split("[")[0])
    wider = [".".join(own[:k]) for k in range(len(own), 0, -1)]
    stems = [path, *(stem for stem in wider if stem not in signals)]
    return next((f"{stem}.{GAIN}" for stem in stems if f"{stem}.{GAIN}" in names), None)
