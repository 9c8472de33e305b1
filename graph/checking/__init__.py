"""What is wrong with a whole system, found before anything is computed.

- `system_check`: everything that is wrong or suspicious, by the others, and blocks that users wrote;
- `names`: whether names stand for one thing each, and the full names of coordinates;
- `targets`: whether ports, coordinates, rods and tendons that blocks act on are there;
- `tree`: whether bodies and joints are one tree that moves inertia; closures and gears that constrain nothing, or too much;
- `doubtful_units`: numbers that are most likely in another unit than the rest.
"""
