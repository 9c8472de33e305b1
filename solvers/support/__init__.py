"""What has nothing to do with mechanics.

- `spread`: independent tasks, answered by `workers` (this process, others, an executor's), kept in a `checkpoint`;
- `threads`: stacked states among threads of this process;
- `archive`: arrays in files; `extras`: optional libraries; `interpolated`: samples over time; `progress`: bars.
"""
