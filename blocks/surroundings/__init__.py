"""What surrounds a spacecraft.

- `inertial_places`: where ports are in the planet's frame; `magnetic_field`: fields, and dipoles in them;
- `facets`: plates on which air and light press: `aerodynamic_drag`, `solar_pressure`.
"""
