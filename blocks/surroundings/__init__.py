"""What surrounds a spacecraft.

- `gravity_field`: what every field of gravity says, for whatever lies in it, and that of a planet;
- `orbit`: reference orbits, whose Hill's frame is the world;
- `body_gravity`: what a field does to a body, as an interaction that systems attach to each;
- `inertial_places`: where ports are in the planet's frame; `magnetic_field`: fields, and dipoles in them;
- `facets`: plates on which air and light press: `aerodynamic_drag`, `solar_pressure`.
"""
