"""How a continuous control loop answers to small changes of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.linear.system_outputs import read_outputs
from titop.solvers.model.model import Model
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


class LoopDerivatives:
    """The derivatives of a loop through a linear controller ``dx/dt = A x + B e, z = C x + D e``, e the error of the outputs.

    Parameters
    ----------
    model : Model
    measured, commanded : sequence of str
        In titop's spelling.
    K : control.StateSpace
    from_y : (inputs of K, outputs) array
        ``de/dy``.
    """

    def __init__(self, model: Model, measured: Sequence[str], commanded: Sequence[str], K: Any, from_y: Array) -> None:
        self._model, self._K, self._from_y = model, K, from_y
        self._inputs = SystemInputs(model, list(commanded))
        self._outputs = read_outputs(model, list(measured), self._inputs)

    def at(self, state: Snapshot, by_state: Array, by_tau: Array, acting: Array) -> Array:
        """Return the derivatives (nv + nx, 2 nv + nx) of accelerations and ``dx/dt`` by tangent changes of q, by v and x.

        Parameters
        ----------
        state : Snapshot
        by_state, by_tau : (nv, 2 nv) and (nv, nv) arrays
            Derivatives of the accelerations under constant commands.
        acting : (commands,) array
            Zero for commands that are at the actuators' limits, else one.
        """
        nv, K, nc = self._model.nv, self._K, len(acting)
        by_command = by_tau @ self._inputs.efforts(self._model, state.q) * acting
        whole = np.vstack([np.eye(nv, 2 * nv, nv), by_state]), np.vstack([np.zeros((nv, nc)), by_command])
        efforts = np.zeros((nv, 2 * nv)), self._inputs.applied(nv)
        change = SnapshotDerivatives(lambda matrix: matrix, *whole, *efforts)
        outputs = np.vstack([np.zeros((0, 2 * nv + nc)), *(group.derivatives(state, change) for group in self._outputs)])
        y_by_state, y_by_command = outputs[:, : 2 * nv], outputs[:, 2 * nv :] * acting
        command_by_state = K.D @ self._from_y @ y_by_state  # outputs that a command changes at once have no part in D
        e_by_state = self._from_y @ (y_by_state + y_by_command @ command_by_state)
        e_by_x = self._from_y @ y_by_command @ K.C
        return np.block([[by_state + by_command @ command_by_state, by_command @ K.C], [K.B @ e_by_state, K.A + K.B @ e_by_x]])
