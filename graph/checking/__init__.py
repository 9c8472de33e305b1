"""What is wrong with a whole system, found before anything is computed.

- `system_check`: what is wrong; `doubtful_units`: numbers that are most likely in another unit than the rest.
"""
