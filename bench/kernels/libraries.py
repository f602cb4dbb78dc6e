"""Builds the shared libraries and calls them."""

import ctypes
import math
import os
import pathlib
import shlex
import subprocess

import numpy

from common.project import ROOT

HERE = pathlib.Path(__file__).resolve().parent


class Answer(ctypes.Structure):
    """What a selection found, in the library's memory until its next call."""

    _fields_ = [("indices_at", ctypes.c_void_p), ("values_at", ctypes.c_void_p),
                ("count", ctypes.c_int64)]

    def _array(self, at, kind, dtype):
        if self.count == 0:
            return numpy.zeros(0, dtype)
        return numpy.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(kind)), (self.count,))

    @property
    def indices(self):
        return self._array(self.indices_at, ctypes.c_uint32, numpy.uint32)

    @property
    def values(self):
        return self._array(self.values_at, ctypes.c_float, numpy.float32)


class Library:
    def __init__(self, path, error_function):
        self.path = path
        self.loaded = ctypes.CDLL(str(path))
        self.error = getattr(self.loaded, error_function)
        self.error.restype = ctypes.c_char_p

    def seconds(self, function, *arguments):
        """Calls a function that returns seconds: arrays go as pointers, whole numbers as 64 bits,
        others as floats, answers by reference."""
        called = getattr(self.loaded, function)
        called.restype = ctypes.c_double
        taken = called(*(self._converted(a) for a in arguments))
        if math.isnan(taken):
            raise RuntimeError(f"{function}: {self.error().decode()}")
        return taken

    def count(self, function, *arguments):
        called = getattr(self.loaded, function)
        called.restype = ctypes.c_int64
        return called(*(self._converted(a) for a in arguments))

    def text(self, function, *arguments):
        called = getattr(self.loaded, function)
        called.restype = ctypes.c_char_p
        return called(*(self._converted(a) for a in arguments)).decode()

    @staticmethod
    def _converted(argument):
        if isinstance(argument, numpy.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        if isinstance(argument, float):
            return ctypes.c_float(argument)
        if isinstance(argument, (bool, int, numpy.integer)):
            return ctypes.c_int64(int(argument))
        if isinstance(argument, bytes):
            return ctypes.c_char_p(argument)
        if isinstance(argument, (ctypes.Structure, ctypes.Array)):
            return ctypes.byref(argument)
        return argument


def compiler():
    return shlex.split(os.environ.get("CXX", "g++"))


def build(target, sources, flags):
    """Compiles unless nothing has changed since; returns the target."""
    command = [*compiler(), "-std=c++20", "-fPIC", "-shared", *flags,
               *(str(HERE / source) for source in sources), "-o", str(target), "-pthread"]
    inputs = [*HERE.glob("*.[ch]pp"), *(ROOT / "include").rglob("*.hpp")]
    said = target.with_suffix(".command")
    if (target.exists() and said.exists() and said.read_text() == shlex.join(command)
            and all(i.stat().st_mtime < target.stat().st_mtime for i in inputs)):
        return target
    print(shlex.join(command), flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True)
    said.write_text(shlex.join(command))
    return target


OWN_SOURCES = ("library.cpp", "streams.cpp")


def own_library(folder, prebuilt=None):
    """sotto's kernels as users build them: no flag says what processor they are for."""
    path = prebuilt or build(folder / "library.so", OWN_SOURCES,
                             ["-O2", f"-I{ROOT / 'include'}"])
    return Library(path, "sotto_error")


def native_library(folder):
    """The same for this processor. What the two have in common must not be shared when loaded."""
    path = build(folder / "library_native.so", OWN_SOURCES,
                 ["-O2", "-march=native", "-fno-gnu-unique", f"-I{ROOT / 'include'}"])
    return Library(path, "sotto_error")


def peers_library(folder, x86_simd_sort, highway, prebuilt=None):
    """The limits, and whatever of the peers is there."""
    if prebuilt:
        return Library(prebuilt, "limits_error")
    flags = ["-O3", "-march=native"]
    name = "peers"
    if x86_simd_sort:
        flags += ["-DBENCH_X86_SIMD_SORT=1", "-isystem", str(x86_simd_sort / "src"),
                  "-Wno-maybe-uninitialized"]
        name += "_x86_simd_sort"
    if highway:
        flags += ["-DBENCH_HIGHWAY=1", "-isystem", str(highway)]
        name += "_highway"
    return Library(build(folder / f"{name}.so", ("limits.cpp", "peers.cpp"), flags),
                   "limits_error")
