"""Reads a safetensors file by the specification alone: prints metadata and tensors."""

import json
import sys

import numpy

TYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2",
         "I32": "<i4", "U32": "<u4", "F32": "<f4", "I64": "<i8", "U64": "<u8", "F64": "<f8"}


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length].decode("utf-8"))
    data = content[8 + length:]
    metadata = header.pop("__metadata__", {})
    tensors = {}
    covered = 0
    for name, facts in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = facts["data_offsets"]
        assert begin == covered, f"{name}: begins at {begin}, data end at {covered}"
        values = numpy.frombuffer(data[begin:end], dtype=TYPES[facts["dtype"]])
        tensors[name] = values.reshape(facts["shape"])
        covered = end
    assert covered == len(data), f"{len(data) - covered} bytes belong to no tensor"
    return metadata, tensors


if __name__ == "__main__":
    found, arrays = read(sys.argv[1])
    for key in sorted(found):
        print("metadata", key, json.dumps(found[key]))
    for key, values in arrays.items():
        print("tensor", key, values.dtype.name, "x".join(map(str, values.shape)),
              values.tobytes().hex())
