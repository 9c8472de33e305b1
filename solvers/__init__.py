"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with (`configurations`: its names and coordinates); `resolve` makes it;
- `inputs`, `outputs`: actuators and sensors;
- `reference`: the executable specification of the dynamics, in plain NumPy;
- `compiled`, `laws`, `kernels`: the same in compiled code, for users;
- `arguments`, `parameters`: reading states and names; numbers by dotted name;
- `constrained_integration`, `generalized_alpha` (with `implicit_dynamics`): integrators for closed loops and stiff systems;
- `simulation`, `prescribed`, `trajectory`, `violations`, `plotting`, `animation` (with `scene`): simulations
  and what comes out of them;
- `cli`: the command line.
"""

from titop.solvers.generalized_alpha import GeneralizedAlpha
from titop.solvers.model import Model
from titop.solvers.simulation import Event, simulate
from titop.solvers.trajectory import Trajectory, load_trajectory

__all__ = ["Event", "GeneralizedAlpha", "Model", "Trajectory", "load_trajectory", "simulate"]
