"""Equilibria, at rest and moving.

- `trim`: from a guess to an `operating_point`; `unknowns`: what may be unknown; `equations`: what has to vanish, its slopes;
  `root_search`: finding it within bounds;
- `continuation`: following equilibria along a parameter.
"""
