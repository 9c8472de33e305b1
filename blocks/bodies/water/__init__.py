"""What a fluid does to bodies and rods in it: it bears them, is moved along by them, drags and lifts.

- `fluid`: what surrounds them; `coefficients`: what users say of its effects, by name or as matrices;
- `immersion`: from this what acts at sections, and on the bodies of which they are; `immersed_body`: on rigid bodies;
  `immersed_beam`: on beams; `line_water`: along these and rods.
"""
