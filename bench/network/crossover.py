"""From which bandwidth on compressing no longer pays, as measured and as predicted."""

import functools
import math
import statistics
from typing import NamedTuple

import rows

# What is asked of predictions, in percent: of bandwidths where compressing breaks even, and where
# it does so beyond all rates.
OFF, OFF_MOST = "predicted off by (the worse of two rates)", 25.0
RIGHT, RIGHT_LEAST = "rates at which it is predicted whether it pays", 100.0


class Point(NamedTuple):
    """Medians at one rate. Bytes a second are those that were there, not those of the rate."""

    rate: str
    bytes_per_second: float
    dense: float
    sparse: float
    pays_below: float  # predicted, bytes a second; infinite: on any link

    @property
    def gain(self):
        return math.log(self.dense / self.sparse)


def advised(row, name):
    """The median over turns; `"any"`, of bytes a second, is infinite."""
    return statistics.median(math.inf if advice[name] == "any" else advice[name]
                             for advice in row["advices"])


def point_of(row):
    median = rows.medians(row, "step")
    return Point(row["rate"], advised(row, "bytes_per_second"), median["sotto none"],
                 median["sotto dgc"], advised(row, "pays_below_bytes_per_second"))


def crossover(points):
    """Bytes a second where both take equally long, on a logarithmic scale, and the two points
    around it; of points by bytes a second. None where that is outside of them."""
    for low, high in zip(points, points[1:]):
        if low.gain > 0 >= high.gain:
            part = low.gain / (low.gain - high.gain)
            at = low.bytes_per_second * (high.bytes_per_second / low.bytes_per_second) ** part
            return at, (low, high)
    return None


def crossover_figures(points):
    """[(what, value)] of points by bytes a second: OFF or RIGHT in percent, all else in bytes a
    second. The value is None where the points do not show it."""
    found = crossover(points)
    if found:
        at, around = found
        return [("dgc pays below", at),
                *((f"predicted at {point.rate}", point.pays_below) for point in around),
                (OFF, 100 * max(abs(point.pays_below / at - 1) for point in around))]
    if all(point.gain > 0 for point in points):
        edge, what = points[-1], "dgc pays on all of these, up to"
    elif all(point.gain <= 0 for point in points):
        edge, what = points[0], "dgc pays on none of these, from"
    else:
        return [(OFF, None)]
    right = sum((point.pays_below > point.bytes_per_second) == (point.gain > 0)
                for point in points)
    return [(what, edge.bytes_per_second), (f"predicted at {edge.rate}", edge.pays_below),
            (RIGHT, 100 * right / len(points))]


def crossover_lines(model, of_model):
    line = functools.partial(rows.line, f"{model}, crossover", "all rates")
    for row in of_model:
        if not rows.is_measured(row):
            continue
        point = point_of(row)
        of_rate = functools.partial(rows.line, f"{model}, crossover", row["rate"])
        yield of_rate("measured by the trainer", point.bytes_per_second / 1e6, unit=" MB/s")
        yield of_rate("dense / dgc, a step", point.dense / point.sparse, unit="x")
        for name, seconds in (("dense", point.dense), ("dgc", point.sparse)):
            yield of_rate(f"predicted / measured {name} step",
                          advised(row, f"{name}_step_seconds") / seconds)
    if not rows.comparable(*of_model) or len({row["blas"] for row in of_model}) > 1:
        yield line(OFF, None, OFF_MOST, True, " %")
        return
    points = sorted(map(point_of, of_model), key=lambda point: point.bytes_per_second)
    for what, value in crossover_figures(points):
        if what == OFF:
            yield line(what, value, OFF_MOST, True, " %")
        elif what == RIGHT:
            yield line(what, value, RIGHT_LEAST, unit=" %")
        else:
            yield line(what, 8 * value / 1e6, unit=" Mbit/s")
