"""The executable specification of the dynamics, in plain NumPy: complex-safe, and short enough to read in one sitting.

- `passes`: one elimination over the blocks; `reference_dynamics`: dynamics and observations of a state;
- `reference_derivatives`: derivatives by the state, and first-order states;
- `reference_series`: time derivatives of a tree along a motion;
- `reference_engine`: the engine with all of these.

Closed loops are solved on top of the tree's passes, by `titop.solvers.constraints.closed_dynamics`.
"""
