"""Whether memory is flat: the line that fits best through what was seen after the warm-up."""

from __future__ import annotations

from collections.abc import Sequence

WARM_UP_SHARE, WARM_UP_MOST = 0.25, 600.0  # of the run, and seconds at most


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Least squares: rise for each unit of the first coordinate. 0 for fewer than two points."""
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def after_warm_up(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """What was seen after the first quarter of the run, and after ten minutes at the latest."""
    if not points:
        return []
    first, last = points[0][0], points[-1][0]
    begin = first + min(WARM_UP_SHARE * (last - first), WARM_UP_MOST)
    return [point for point in points if point[0] >= begin]


def growth(points: Sequence[tuple[float, float]]) -> float:
    """By how much the best line rises from the end of the warm-up to the end of the run."""
    warm = after_warm_up(points)
    return slope(warm) * (warm[-1][0] - warm[0][0]) if warm else 0.0
