"""Equilibria, at rest and moving, and configurations from measurements.

One call, from top to bottom:

- `trim`: reads a guess and what is unknown, and chooses how to search; returns an `operating_point`: a state, all that acts on
  it, and what is known of both;
- `search`: one search from a guess, and whether what it finds is an equilibrium;
- `equations`: what has to vanish, accelerations or efforts, and its derivatives by the `unknowns`, which are numbers without
  units: over `sizes`, what counts as one; `displacements`: along what coordinates change, and how states of the first order
  follow them;
- `newton`: roots of equations, within bounds;
- `stiffness`: which unknowns an equilibrium determines, and whether it stands;
- `settling`: where the search leads astray: loads raised in steps, and systems that creep to rest;
- `linear_validity`: whether a point is an equilibrium, and whether the linear model about it holds.

Many equilibria: `continuation` along a parameter; `equilibrium_path` along a load, past where it turns round, on a `curve`.
`fit_shape` finds configurations, not of equilibria, but of measured poses.
"""
