"""The contract that every block fulfils, and how titop reads it.

- `block`: the contract, how to write a block of your own, and what a subclass redefines of titop's classes; in parts:
  `own_coordinates`: its own coordinates, with units of rates, efforts and inertias; `description`: loads that depend on its
  motion and pose, and members for pictures, checks, files and linear fractional models;
  `block_law`: its law, and its defaults;
- `fields`: reading of everything that users give to a block;
- `law`: the law of a block at a state, and laws that titop compiles; `applied`: the loads of the surroundings in the law;
- `target_motion`: the motion of ports and coordinates, as interactions receive it.
"""
