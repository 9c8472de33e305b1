"""Fluid forces on bodies and rods: buoyancy, added mass, drag and lift.

- `fluid`: the fluid, and users' coefficients of its effects, by name or as matrices;
- `immersion`: the loads at sections, and on their bodies; the fluid along rods and beams;
- `immersed`: the law of rigid bodies, rods and beams in a fluid.
"""
