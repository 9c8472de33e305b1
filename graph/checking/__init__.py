"""What is wrong with a whole system, found before anything is computed.

- `system_check`: everything that is wrong or suspicious, by the others;
- `names`: whether names stand for one thing each;
- `ports`, `coordinates` (by `coordinate_names`), `rod_lines`: whether what blocks act on is there;
- `tree`: whether bodies and joints are one tree; `relations`: closures and gears that constrain nothing, or too much;
- `massless`: joints that move no inertia; `own_blocks`: blocks that users wrote;
- `doubtful_units`: numbers that are most likely in another unit than the rest.
"""
