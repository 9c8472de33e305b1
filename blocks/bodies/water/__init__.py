"""Fluid forces on bodies and rods: buoyancy, added mass, drag and lift.

- `fluid`: the fluid; `coefficients`: users' coefficients of its effects, by name or as matrices;
- `immersion`: the loads at sections, and on their bodies; `immersed_body`: on rigid bodies; `immersed_beam`: on beams;
  `line_water`: along these and rods.
"""
