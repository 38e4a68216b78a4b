"""One file per subject, each pure: a frozen snapshot in, samples out. Found by walking this package.

A subject module has
- `SYSTEMS`: the systems it measures (`{"kafka"}`, `{"rabbitmq"}` or both),
- `FAMILIES`: every family that it can produce,
- `measure(snapshot) -> dict[Family, Samples]`: pure, no clock, no I/O.
"""
