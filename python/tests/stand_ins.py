"""Arrays on emulated GPUs, and stand-ins for the arrays of other packages.

The work on streams of the device "emulated:reverse" runs as late as the streams allow, so that a missing event changes a result.
"""

import ctypes

import numpy as np

DEVICE, OTHER = "emulated:reverse", "emulated:random"


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", Deleter),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


def python_function(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


new_capsule = python_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
capsule_name = python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
capsule_pointer = python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
rename_capsule = python_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
NAMES = {Managed: b"dltensor", Versioned: b"dltensor_versioned"}


class Interface:
    """An array of another package with `__cuda_array_interface__`, in the memory of a `DeviceArray`."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class Dlpack:
    """An array of another package with DLPack alone, in the memory of a `DeviceArray`. It counts the calls of its deleter."""

    def __init__(self, array, kind=Versioned, **changes):
        self.array, self.kind, self.changes = array, kind, changes
        self.asked, self.deleted, self.kept = [], 0, []

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, **options):
        if self.kind is Managed and options:
            raise TypeError("an old package takes stream alone")
        self.asked.append(dict(options, stream=stream))
        interface = self.array.__cuda_array_interface__
        managed = self.kind()
        if self.kind is Versioned:
            managed.major, managed.flags = self.changes.get("major", 1), self.changes.get("flags", 0)
        tensor, dimensions = managed.tensor, len(interface["shape"])
        size = int(interface["typestr"][2:])
        tensor.data, tensor.device_type, tensor.ndim, tensor.lanes = interface["data"][0], 2, dimensions, 1
        tensor.code, tensor.bits = (5 if interface["typestr"][1] == "c" else 2), 8 * size
        lengths = ctypes.c_int64 * dimensions
        tensor.shape = lengths(*interface["shape"])
        if self.changes.get("strides", True):
            tensor.strides = lengths(*(stride // size for stride in interface["strides"]))

        @Deleter
        def delete(_):
            self.deleted += 1

        managed.deleter = delete
        self.kept.append((managed, delete))
        return new_capsule(ctypes.addressof(managed), NAMES[self.kind], None)


KINDS = {"bandsolve": lambda array: array, "interface": lambda array: Interface(array, stream=1), "no stream": Interface,
         "version 2": lambda array: Interface(array, version=2, stream=None),
         "dlpack 1": Dlpack, "dlpack 0": lambda array: Dlpack(array, Managed), "no strides": lambda array: Dlpack(array, strides=False)}


def address(array):
    return array.__cuda_array_interface__["data"][0]


def memory(array):
    """What is in the memory of an array now, without waiting: emulated memory is that of the process."""
    raw = ctypes.string_at(address(array), array.size * array.dtype.itemsize)
    return np.frombuffer(raw, array.dtype)


def line(gpu, n, value, device=DEVICE):
    return gpu.asarray(np.full(n, value), device=device)
