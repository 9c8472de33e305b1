"""Rigid closures and gears: constraints on the motion of the tree, and their forces; also the loads of interactions.

- `engine_interface`: the functions of engines;
- `closed_mechanism`: constraints of gears, and the mechanism with its constraints;
- `closed_loops`: how many of these act, which are redundant, and which closure would have no redundant ones;
- `assembling`: closing loops, projection onto the constraints, and errors for open loops;
- `multipliers`: the linear algebra: independent constraints, dependent coordinates, and what follows from this one choice;
  `following`: elimination of coordinates by gears;
- `branch`: which constraints act, and whether rates and accelerations satisfy them, up to rounding;
- `closed_dynamics`: forward, inverse and hybrid dynamics with closures, from those of any engine's tree;
  `closed_derivatives`: their derivatives, and those of the multipliers;
- `interaction_loads`: forces of interactions, which are no constraints, on the coordinates, and inputs that would push.
"""
