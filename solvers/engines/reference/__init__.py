"""The executable specification of the dynamics, in plain NumPy: complex-safe, and short enough to read in one sitting.

- `passes`: one elimination over the blocks; `dynamics`, `observations`, `complex_steps`: dynamics, what is read of a state, and
  derivatives by it; `states`: those of the first order; `series`: derivatives by time, of a tree along a motion;
- `engine`: all of these.

Closed loops are solved on top of the tree's passes, by `titop.solvers.constraints.closed_dynamics`.
"""
