"""One kernel that goes through its arrays once."""

import numpy


class Stream:
    """A kernel by the name it has in streams.cpp. `inputs(n)` makes its arrays, and
    `right(before, after, result)` says whether one call made the right ones of them. `moved(n)` are
    the bytes that it reads and writes; `floor` says how many of the arrays, from the first on, are
    read, and how many of these are written, if they all are of n floats. What is asked is a share
    of what memcpy, or the floor, takes. A call uses one of `parts` of the arrays, which take
    turns."""

    def __init__(self, name, inputs, moved, right, asked=None, floor=None, floor_asked=None,
                 parts=1):
        self.name, self.inputs, self.moved, self.right = name, inputs, moved, right
        self.asked, self.floor, self.floor_asked = asked, floor, floor_asked
        self.parts = parts


def equal_bits(found, right):
    return numpy.array_equal(numpy.ascontiguousarray(found).view(numpy.uint8),
                             numpy.ascontiguousarray(right, found.dtype).view(numpy.uint8))
