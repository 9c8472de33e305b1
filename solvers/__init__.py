"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with (`configurations`: its names and coordinates); `resolve` makes it;
- `closed_loops`, `assembling`, `closed_dynamics`, `multipliers`: rigid closures: their constraints, states that satisfy
  them, dynamics on top of the tree's, and the linear algebra of it;
- `inputs`, `outputs`: actuators and sensors;
- `reference`: the executable specification of the dynamics, in plain NumPy;
- `compiled`, `laws`, `kernels`: the same in compiled code, for users;
- `closed_loops`, `assembling`, `multipliers`, `closed_dynamics`, `constrained_integration`: rigid closures;
- `derivatives`, `loop_derivatives`, `sensitivities`: derivatives by the state, through loops, and by everything else;
- `arguments`, `parameters`: reading states and names; numbers by dotted name;
- `simulation`, `constrained_integration`, `prescribed`, `trajectory`, `violations`, `plotting`, `animation` (with `scene`):
  simulations and what comes out of them;
- `cli`: the command line.
"""

from titop.solvers.model import Model
from titop.solvers.simulation import Event, simulate
from titop.solvers.trajectory import Trajectory, load_trajectory

__all__ = ["Event", "Model", "Trajectory", "load_trajectory", "simulate"]
