"""Time derivatives of dynamics of any order, for any causality, with closures and gears.

- `causality`: forward, hybrid and actuated inverse dynamics, order by order from the tree's inverse dynamics, with the
  derivatives of constraints and of their wrenches on ports;
- `base_twists`: twists of free bases and wrenches on them in inertial axes;
- `series_arguments`: stacks of derivatives, wrenches and inputs with theirs, and functions of one state at stacked states.
"""
