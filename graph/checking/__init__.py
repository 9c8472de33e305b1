"""What is wrong with a whole system, found before anything is computed.

- `system_check`: everything that is wrong or suspicious, by the others, blocks that users wrote, and numbers that are most
  likely in another unit than the rest;
- `targets`: whether names stand for one thing each, and whether ports, coordinates, rods and tendons that blocks act on are
  there;
- `tree`: whether bodies and joints are one tree that moves inertia; closures and gears that constrain nothing, or too much.
"""
