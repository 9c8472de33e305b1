"""Equilibria, at rest and moving, and configurations from measurements.

- `trim`: from a guess to an `operating_point`, of which others know the `loaded_state`; `unknowns`: what may be unknown,
  `displacements`: along what coordinates change, `dependents`: which follow others;
  `equations`: what has to vanish, its derivatives; `unknown_differences`: those that are no exact ones; `effort_balance`: them
  at rest, as efforts; `root_search`: finding it within bounds; `description`: what is free in it;
  `load_steps`: loads raised in steps where the whole load leads astray; `creeping`: following the accelerations where no root
  is near; `settling`: whether that leads elsewhere than the search did; `refusals`: of what is no equilibrium;
  `resting_states`: states of the first order there, `followers`: how they go with coordinates; `sizes`: what counts as one;
  `balance`: what may be left of accelerations;
- `spinning`: flexible bodies that spin too fast for what is known of them; `steadiness`: motions along which models change;
  `switching_points`: where something is about to switch;
- `continuation`: following equilibria along a parameter;
- `equilibrium_path`: along a load, past where it turns round: `path_curve`, the curve; `path_steps`, steps along it;
  `path_events`, what happens in them;
- `fit_shape`: configurations, not of equilibria, but of measured poses.
"""
