"""Equilibria, at rest and moving, and configurations from measurements.

- `trim`: from a guess to an `operating_point`; `unknowns`: what may be unknown; `equations`: what has to vanish, its slopes;
  `root_search`: finding it within bounds; `description`: what is free in it;
  `sizes`: what counts as one there; `balance`: what may be left of accelerations;
- `continuation`: following equilibria along a parameter;
- `fit_shape`: configurations, not of equilibria, but of measured poses.
"""
