"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with (`configurations`: its names and coordinates); `resolve` makes it;
- `closed_loops`, `assembling`, `closed_dynamics`, `multipliers`: rigid closures: their constraints, states that satisfy
  them, dynamics on top of the tree's, and the linear algebra of it;
- `inputs`, `outputs`: actuators and sensors;
- `reference`: the executable specification of the dynamics, in plain NumPy;
- `compiled`, `laws`, `kernels`: the same in compiled code, for users;
- `closed_loops`, `assembling`, `multipliers`, `closed_dynamics`, `constrained_integration`: rigid closures;
- `generalized_alpha` (with `alpha_solver`, `alpha_step`, `implicit_dynamics`): the integrator for stiff systems;
- `derivatives`, `loop_derivatives`, `sensitivities`: derivatives by the state, through loops, and by everything else;
- `arguments`, `parameters`: reading states and names; numbers by dotted name;
- `simulation`, `prescribed`, `trajectory`, `dataset`, `violations`, `plotting`, `animation` (with `scene`): simulations
- `operating_point`, `trim` (with `unknowns`, `equilibrium`, `root_search`) and `continuation`: equilibria;
- `linearize` (with `drives`, `readings`, `variation`, `linearisation`, `reduction`, `omission`, and `port_slopes`,
  `sensor_slopes`, `function_slopes`, `joint_opening`) and `signals`: linear models; `block_system`, `channels`: linear blocks;
  `lpv` (with `family`) and `lpv_model`, `lpv_plots`: families of them; `nlsys`: nonlinear systems for python-control;
- `simulation`, `prescribed`, `trajectory`, `violations`, `plotting`, `animation` (with `scene`): simulations
  and what comes out of them;
- `controller`, `linear_controller`, `scheduled_controller`: controllers, made one kind by `control_laws`; `control_loop`
  closes the loop around a model (`loop_arguments` reads it; `loop_signals`, `measurements`, `commands`, `references`,
  `operating_values`, `solution_pieces` are its parts; `control_history` is what went through it);
- `monte_carlo` (with `samples`, `workers`): models at random parameters;
- `cli`: the command line.
"""

from titop.solvers.block_system import block_system
from titop.solvers.channels import invert_channels
from titop.solvers.continuation import trim_along
from titop.solvers.control_history import ControlHistory
from titop.solvers.controller import Controller
from titop.solvers.generalized_alpha import GeneralizedAlpha
from titop.solvers.linearize import linear_matrices, linearize
from titop.solvers.lpv import lpv
from titop.solvers.lpv_model import LPVModel
from titop.solvers.model import Model
from titop.solvers.monte_carlo import monte_carlo
from titop.solvers.operating_point import OperatingPoint
from titop.solvers.samples import Samples
from titop.solvers.scheduled_controller import ScheduledController
from titop.solvers.signals import Signal, signal_table
from titop.solvers.simulation import Event, simulate
from titop.solvers.trajectory import Trajectory, load_trajectory
from titop.solvers.trim import trim

__all__ = [
    "ControlHistory",
    "Controller",
    "Event",
    "GeneralizedAlpha",
    "LPVModel",
    "Model",
    "OperatingPoint",
    "Samples",
    "ScheduledController",
    "Signal",
    "Trajectory",
    "block_system",
    "invert_channels",
    "linear_matrices",
    "linearize",
    "load_trajectory",
    "lpv",
    "monte_carlo",
    "signal_table",
    "simulate",
    "trim",
    "trim_along",
]
