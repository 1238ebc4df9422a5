"""The speed of the ledger, as ratios to what runs beside it: bare inserts, and call4agents 0.5.0 where it can be had.

`python -m benchmarks`, or `make bench`. Everything is measured in short rounds that take turns, and compared round by round, so
that a machine which is slow for a while is slow for all. docs/performance.md says what each figure means.
"""
