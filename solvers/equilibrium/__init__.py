"""Equilibria, at rest and moving, and configurations from measurements.

The parts of one call, from top to bottom:

- `trim`: reads the guess and the unknowns, and chooses how to search; returns an `operating_point`: a state with its loads, and
  what is known about both;
- `search`: one search from a guess, and the check whether its result is an equilibrium;
- `equations`: the residuals, accelerations or efforts, and their derivatives by the `unknowns`, which are dimensionless:
  divided by `sizes`; which unknowns an equilibrium determines, and whether it is stable;
- `displacements`: the directions in which coordinates change, and the first-order states that follow them;
- `newton`: roots of equations, within bounds;
- `settling`: what to do where the search leads astray: raise the loads in steps, or let the system creep to rest;
- `linear_validity`: whether a point is an equilibrium, and whether the linear model about it holds.

Many equilibria: `continuation` along a parameter; `equilibrium_path` along a load, past limit points, on a `curve`.
`fit_shape` finds configurations too, not of equilibria, but from measured poses.
"""
