"""What is uncertain: names, ranges, and the operating points that go with them.

- `common_parameters`: of what several parameters follow; `uncertain`: names and ranges, as users give them; `rational`: what
  may be uncertain; `given_values`: values by name; `gains`: which signals a name scales;
- `point_values`: values of an operating point, by name; `equilibria` that depend on parameters, and what of them is `moving`;
- `definiteness`: where masses lose it.
"""
