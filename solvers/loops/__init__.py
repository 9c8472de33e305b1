"""Rigid closures and gears: constraints on the motion of the tree, and what they carry; interactions beside them.

- `closed_loops`: the constraints of a model by name, closed configurations, velocities and accelerations (part of `Model`);
- `assembling`: finding and projecting onto them;
- `multipliers`: the linear algebra: independent constraints, least-norm multipliers; `coupling`: which share coordinates;
  `following`: gears eliminated;
- `branch`: which of them act; `consistency`: whether rates and accelerations satisfy them, but for rounding;
- `closed_dynamics`: forward, inverse and hybrid dynamics with closures, on top of any engine's tree;
- `loop_derivatives`: their derivatives;
- `interaction_loads`: what interactions, which constrain nothing, do along the coordinates.
"""
