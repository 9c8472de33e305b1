"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with, built up from `configurations` (names and coordinates), `dynamics`, `differentiable`;
  `resolve` makes it;
- `inputs`, `outputs`: actuators and sensors;
- `reference` (with `stepped_slopes`): the executable specification of the dynamics, in plain NumPy;
- `compiled` (with `packed`, `compiled_slopes`), `laws`, `kernels`: the same in compiled code, for users;
- `loops`: rigid closures; `derivatives`, `sensitivities`: derivatives by the state, and by everything else;
- `arguments`, `parameters`: reading states and names; numbers by dotted name;
- `simulation`: integrating in time, trajectories, pictures; `control`: control loops around a model;
- `equilibrium`: trimming; `linear`: linear models, families of them; `sampling`: models at random parameters;
- `cli`: the command line.
"""

from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.controller import Controller
from titop.solvers.control.scheduled_controller import ScheduledController
from titop.solvers.equilibrium.continuation import trim_along
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.trim import trim
from titop.solvers.linear.block_system import block_system
from titop.solvers.linear.channels import invert_channels
from titop.solvers.linear.linearize import linear_matrices, linearize
from titop.solvers.linear.lpv import lpv
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.signals import Signal, signal_table
from titop.solvers.model import Model
from titop.solvers.sampling.monte_carlo import monte_carlo
from titop.solvers.sampling.samples import Samples
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.simulate import Event, simulate
from titop.solvers.simulation.trajectory import Trajectory, load_trajectory

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
