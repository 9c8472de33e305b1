"""What surrounds a spacecraft.

- `gravity_field`: what every field of gravity says, for whatever lies in it; `central_gravity`: that of a planet;
- `orbit`: reference orbits, whose Hill's frame is the world;
- `body_gravity`: what a field does to a body, as an interaction that systems attach to each.
"""
