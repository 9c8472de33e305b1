"""Controllers as state spaces of python-control: what their named signals mean, and how they are sampled."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.solvers.signals.signal_tables import SignalTable, check_names

#: How a continuous controller is sampled when a sample time is given: Tustin's rule keeps its frequency response.
SAMPLING = "bilinear"

#: Head of the names of references.
REFERENCE = "r_"


@dataclass(frozen=True)
class LinearWiring:
    """How the signals of a loop make the inputs of a state space: ``e = from_y y + from_r r``.

    Attributes
    ----------
    inputs, references, outputs : tuple of str
        Measured outputs, references and commands, in titop's spelling.
    from_y, from_r : (inputs of K, ny) and (inputs of K, nr) arrays
    """

    inputs: tuple[str, ...]
    references: tuple[str, ...]
    outputs: tuple[str, ...]
    from_y: Array
    from_r: Array


def is_state_space(controller: Any) -> bool:
    """Return whether an object is a state space of python-control."""
    return all(hasattr(controller, name) for name in ("A", "B", "C", "D", "dt", "input_labels", "output_labels"))


def wire(K: Any, measured: SignalTable, commanded: SignalTable, exogenous: Collection[str]) -> LinearWiring:
    """Return how a state space is wired to a model, by the names of its inputs and outputs.

    An input named like an output of the model gets the error, reference minus output; if the controller has an input
    ``r_<output>``, that gets the reference, and inputs named like outputs get the outputs themselves.

    Parameters
    ----------
    K : control.StateSpace
    measured, commanded : SignalTable
        Of the model.
    exogenous : collection of str
        References that are not of an output.

    Raises
    ------
    ModelError
        For names that are unknown or there twice.
    """
    for what, labels, count in (("input", K.input_labels, K.ninputs), ("output", K.output_labels, K.noutputs)):
        if len(labels) < count:  # python-control keeps one of those that are named alike
            found, expected = ", ".join(labels), f"{count} names that differ"
            raise ModelError(Finding("duplicate-name", f"controller.{what}_labels", found, expected, "rename the signals"))
    separate = any(_reference_of(label, measured) for label in K.input_labels)
    inputs: list[str] = []
    references: list[str] = []
    rows: list[tuple[str | None, str | None]] = []
    for label in K.input_labels:
        y, r = _input_of(label, measured, exogenous, separate)
        rows.append((y, r))
        inputs += [y] if y else []
        references += [r] if r else []
    check_names("controller.input_labels", inputs)
    check_names("controller.input_labels", references)
    from_y, from_r = np.zeros((len(rows), len(inputs))), np.zeros((len(rows), len(references)))
    for row, (y, r) in enumerate(rows):
        if y:
            from_y[row, inputs.index(y)] = 1.0 if separate else -1.0
        if r:
            from_r[row, references.index(r)] = 1.0
    outputs = tuple(commanded.find("controller.output_labels", label) for label in K.output_labels)
    check_names("controller.output_labels", outputs)
    return LinearWiring(tuple(inputs), tuple(references), outputs, from_y, from_r)


def sampled(K: Any, sample_time: float) -> Any:
    """Return a state space in discrete time: itself if it is, else its samples by Tustin's rule.

    Raises
    ------
    ModelError
        If it has another sample time.
    """
    if (K.dt is None and not K.nstates) or K.dt is True:
        return K
    if not K.dt:
        from control import sample_system

        return sample_system(K, sample_time, SAMPLING)
    if not np.isclose(K.dt, sample_time, rtol=1e-9, atol=0):
        advice = "leave sample_time out, or sample the controller again"
        raise ModelError(Finding("other-sample-time", "sample_time", sample_time, f"the controller's {K.dt:g} s", advice))
    return K


def _reference_of(label: str, measured: SignalTable) -> bool:
    return label not in measured and label.startswith(REFERENCE) and label.removeprefix(REFERENCE) in measured


def _input_of(label: str, measured: SignalTable, exogenous: Collection[str], separate: bool) -> tuple[str | None, str | None]:
    """Return the output and the reference that make an input of a controller."""
    where = "controller.input_labels"
    if _reference_of(label, measured):
        return None, measured.find(where, label.removeprefix(REFERENCE))
    if label in measured:
        y = measured.find(where, label)
        return y, None if separate else y
    if label in exogenous:
        return None, label
    advice = did_you_mean(label, [*measured.names, *exogenous])
    if label.startswith("u["):
        advice = "name the signals: control.ss(A, B, C, D, inputs=[...], outputs=[...])"
    raise ModelError(Finding("unknown-signal", where, label, "an output of the model or a reference", advice))
