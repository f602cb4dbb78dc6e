"""Which kernels the OpenBLAS of this process has chosen."""

import ctypes


def blas():
    with open("/proc/self/maps") as maps:
        for path in sorted({line.split()[-1] for line in maps if "blas" in line}):
            name = getattr(ctypes.CDLL(path), "openblas_get_corename", None)
            if name is not None:
                name.restype = ctypes.c_char_p
                return name().decode()
    return "unknown"
