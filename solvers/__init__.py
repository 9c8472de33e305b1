"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with (`configurations`: its names and coordinates); `resolve` makes it;
- `inputs`, `outputs`: actuators and sensors;
- `reference`: the executable specification of the dynamics, in plain NumPy;
- `compiled`, `laws`, `kernels`: the same in compiled code, for users;
- `arguments`, `parameters`: reading states and names; numbers by dotted name;
- `operating_point`, `trim` (with `unknowns`, `equilibrium`, `root_search`) and `continuation`: equilibria;
- `linearize` (with `drives`, `readings`, `variation`, `linearisation`, `reduction`, `omission`, and `port_slopes`,
  `sensor_slopes`, `function_slopes`, `joint_opening`) and `signals`: linear models; `block_system`, `channels`: linear blocks;
  `lpv` (with `family`) and `lpv_model`, `lpv_plots`: families of them; `nlsys`: nonlinear systems for python-control;
- `simulation`, `prescribed`, `trajectory`, `violations`, `plotting`, `animation` (with `scene`): simulations
  and what comes out of them;
- `cli`: the command line.
"""

from titop.solvers.block_system import block_system
from titop.solvers.channels import invert_channels
from titop.solvers.continuation import trim_along
from titop.solvers.linearize import linear_matrices, linearize
from titop.solvers.lpv import lpv
from titop.solvers.lpv_model import LPVModel
from titop.solvers.model import Model
from titop.solvers.operating_point import OperatingPoint
from titop.solvers.signals import Signal, signal_table
from titop.solvers.simulation import Event, simulate
from titop.solvers.trajectory import Trajectory, load_trajectory
from titop.solvers.trim import trim

__all__ = [
    "Event",
    "LPVModel",
    "Model",
    "OperatingPoint",
    "Signal",
    "Trajectory",
    "block_system",
    "invert_channels",
    "linear_matrices",
    "linearize",
    "load_trajectory",
    "lpv",
    "signal_table",
    "simulate",
    "trim",
    "trim_along",
]
