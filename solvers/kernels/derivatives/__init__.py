"""Derivatives of the dynamics of the tree.

- `tree_derivatives`: the resolution over linearised blocks; `interaction_derivatives`: the part in it of interactions;
- `directional`: derivatives along one direction, and transposed, in linear time; `interaction_directions`: the part in it of
  interactions.
"""
