"""Arrays for plug-ins that do without torch: what workflows do with the tensors of an Experience, with the same names.

An Array has one dimension. Its numbers are int32, int64, float32 or bool, and arithmetic rounds to them as torch does.
"""

import array
import base64
import math
import sys

_CODES = {"int32": "i", "int64": "q", "float32": "f", "bool": "b"}
_RANK = {"bool": 0, "int32": 1, "int64": 2, "float32": 3}


def torch():
    """torch if the plug-in's code has imported it, else None."""
    found = sys.modules.get("torch")
    return found if found is not None and hasattr(found, "tensor") and hasattr(found, "float32") else None


def tensor(data, dtype):
    """What an Experience holds: a tensor of torch if the plug-in uses torch, else an Array. Tensors stay what they are."""
    t = torch()
    if t is not None:
        if isinstance(data, t.Tensor):
            return data
        return t.tensor(_plain(data), dtype=getattr(t, dtype))
    if isinstance(data, Array):
        return data
    return Array(_plain(data), dtype)


def _plain(data):
    return data.tolist() if hasattr(data, "tolist") else list(data)


def from_bytes(text, dtype):
    """The array that the Go side sent: base64 of little-endian numbers."""
    numbers = array.array(_CODES[dtype])
    numbers.frombytes(base64.b64decode(text))
    if sys.byteorder == "big":
        numbers.byteswap()
    return tensor(Array._of(numbers, dtype), dtype)


def to_bytes(data, dtype):
    """The other way. data is anything with tolist(), or a sequence."""
    values = _plain(data)
    if dtype == "bool":
        values = [1 if v else 0 for v in values]
    elif dtype.startswith("int"):
        values = [int(v) for v in values]
    numbers = array.array(_CODES[dtype], values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode("ascii")


class DType(str):
    """A kind of number. It reads as torch's does."""

    def __str__(self):
        return f"trinity.{str.__str__(self)}"

    @property
    def is_floating_point(self):
        return str.__str__(self) == "float32"


class Shape(tuple):
    """The lengths of the dimensions."""

    def numel(self):
        return math.prod(self)


class Array:
    """A row of numbers."""

    __slots__ = ("_n", "_dtype")

    def __init__(self, data=(), dtype=None):
        values = _plain(data)
        if any(isinstance(v, (list, tuple)) for v in values):
            raise ValueError("arrays have one dimension here; import torch or numpy in the plug-in file for others")
        self._dtype = str.__str__(DType(dtype)) if dtype else _guess(values)
        self._n = array.array(_CODES[self._dtype], _fit(values, self._dtype))

    @classmethod
    def _of(cls, numbers, dtype):
        self = cls.__new__(cls)
        self._n, self._dtype = numbers, dtype
        return self

    # What it is.

    @property
    def dtype(self):
        return DType(self._dtype)

    @property
    def shape(self):
        return Shape((len(self._n),))

    @property
    def ndim(self):
        return 1

    @property
    def device(self):
        return "cpu"

    @property
    def nbytes(self):
        return len(self._n) * self._n.itemsize

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return 1

    def numel(self):
        return len(self._n)

    nelement = numel

    def __len__(self):
        return len(self._n)

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        return f"Array({self.tolist()}, dtype={self._dtype})"

    def __bool__(self):
        if len(self._n) != 1:
            raise ValueError("an array of several numbers is neither true nor false; use any() or all()")
        return bool(self._n[0])

    def __contains__(self, value):
        return value in self._n

    # Out of it.

    def tolist(self):
        return [v != 0 for v in self._n] if self._dtype == "bool" else self._n.tolist()

    def item(self):
        if len(self._n) != 1:
            raise ValueError(f"item() needs one number; there are {len(self._n)}")
        return self.tolist()[0]

    def numpy(self):
        import numpy

        return numpy.array(self.tolist(), dtype=self._dtype)

    def __array__(self, dtype=None, copy=None):
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __getitem__(self, at):
        if isinstance(at, slice):
            return Array._of(self._n[at], self._dtype)
        if isinstance(at, (Array, list, tuple)):
            return Array(self._pick(at), self._dtype)
        value = self._n[at]
        return value != 0 if self._dtype == "bool" else value

    def __setitem__(self, at, value):
        if isinstance(at, slice):
            places = range(*at.indices(len(self._n)))
        elif isinstance(at, (Array, list, tuple)):
            places = self._places(at)
        else:
            places = [at]
        values = _fit(_plain(value), self._dtype) if hasattr(value, "__len__") else _fit([value], self._dtype) * len(places)
        if len(values) != len(places):
            raise ValueError(f"{len(values)} numbers do not go into {len(places)} places")
        for place, v in zip(places, values):
            self._n[place] = v

    def _places(self, at):
        at = at.tolist() if isinstance(at, Array) else list(at)
        if at and isinstance(at[0], bool):
            if len(at) != len(self._n):
                raise IndexError(f"a mask of {len(at)} does not fit {len(self._n)} numbers")
            return [i for i, on in enumerate(at) if on]
        return at

    def _pick(self, at):
        return [self._n[i] for i in self._places(at)]

    # Copies and conversions.

    def clone(self):
        return Array._of(self._n[:], self._dtype)

    copy = __copy__ = clone

    def __deepcopy__(self, memo):
        return self.clone()

    def __reduce__(self):
        return Array, (self.tolist(), self._dtype)

    def _same(self, *_, **__):
        return self

    detach = cpu = contiguous = flatten = squeeze = requires_grad_ = view = reshape = _same

    def to(self, kind=None, *_, dtype=None, **__):
        kind = str(dtype or kind or self._dtype).rpartition(".")[2]
        return self._as(kind) if kind in _CODES else self

    type = to
    astype = to

    def _as(self, dtype):
        return Array(self.tolist(), dtype)

    def float(self):
        return self._as("float32")

    def int(self):
        return self._as("int32")

    def long(self):
        return self._as("int64")

    def bool(self):
        return self._as("bool")

    # Arithmetic.

    def _with(self, other, f, dtype=None):
        mine = self.tolist()
        if isinstance(other, (Array, list, tuple)) or hasattr(other, "tolist"):
            theirs = _plain(other)
            kind = other._dtype if isinstance(other, Array) else _guess(theirs)
            if len(theirs) == 1 and len(mine) != 1:
                theirs *= len(mine)
            if len(mine) == 1 and len(theirs) != 1:
                mine *= len(theirs)
            if len(theirs) != len(mine):
                raise ValueError(f"arrays of {len(mine)} and {len(theirs)} numbers do not go together")
        else:
            theirs, kind = [other] * len(mine), _guess([other])
        wide = max(self._dtype, kind, key=_RANK.get)
        return Array([f(a, b) for a, b in zip(mine, theirs)], dtype or wide)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._with(other, _divide, "float32")

    def __rtruediv__(self, other):
        return self._with(other, lambda a, b: _divide(b, a), "float32")

    def __pow__(self, other):
        return self._with(other, lambda a, b: a**b)

    def __neg__(self):
        return self._with(0, lambda a, _: -a)

    def __abs__(self):
        return self._with(0, lambda a, _: abs(a))

    abs = __abs__

    def exp(self):
        return Array([math.exp(v) for v in self._n], "float32")

    def log(self):
        return Array([math.log(v) if v > 0 else (-math.inf if v == 0 else math.nan) for v in self._n], "float32")

    def clamp(self, min=-math.inf, max=math.inf):
        return Array([_clamp(v, min, max) for v in self._n], self._dtype)

    def __and__(self, other):
        return self._with(other, lambda a, b: a & b)

    def __or__(self, other):
        return self._with(other, lambda a, b: a | b)

    def __invert__(self):
        return Array([not v if self._dtype == "bool" else ~v for v in self.tolist()], self._dtype)

    def __eq__(self, other):
        return self._with(other, lambda a, b: a == b, "bool")

    def __ne__(self, other):
        return self._with(other, lambda a, b: a != b, "bool")

    def __lt__(self, other):
        return self._with(other, lambda a, b: a < b, "bool")

    def __le__(self, other):
        return self._with(other, lambda a, b: a <= b, "bool")

    def __gt__(self, other):
        return self._with(other, lambda a, b: a > b, "bool")

    def __ge__(self, other):
        return self._with(other, lambda a, b: a >= b, "bool")

    __hash__ = None

    # Sums. They are Python's numbers, which have item() in torch; Number has it too.

    def sum(self, *_, **__):
        return Number(sum(self._n))

    def mean(self, *_, **__):
        return Number(sum(self._n) / len(self._n)) if len(self._n) else Number(math.nan)

    def std(self, *_, unbiased=True, **__):
        n = len(self._n)
        if n < (2 if unbiased else 1):
            return Number(math.nan)
        mean = sum(self._n) / n
        return Number(math.sqrt(sum((v - mean) ** 2 for v in self._n) / (n - bool(unbiased))))

    def max(self, *_, **__):
        return Number(max(self._n))

    def min(self, *_, **__):
        return Number(min(self._n))

    def argmax(self, *_, **__):
        return Number(self._n.index(max(self._n)))

    def any(self, *_, **__):
        return any(self._n)

    def all(self, *_, **__):
        return all(self._n)

    def nonzero(self, *_, **__):
        return Array([i for i, v in enumerate(self._n) if v], "int64")

    def equal(self, other):
        return self.tolist() == _plain(other)

    def unique(self, *_, **__):
        return Array(sorted(set(self._n)), self._dtype)


class Number(float):
    """A sum or a mean: a number with item(), as torch has them."""

    def item(self):
        return int(self) if self.is_integer() else float(self)

    def tolist(self):
        return self.item()

    def __index__(self):
        if not self.is_integer():
            raise TypeError(f"{float(self)} is not a whole number")
        return int(self)

    def __repr__(self):
        return repr(self.item())

    __str__ = __repr__

    def __reduce__(self):
        return float, (float(self),)


def _divide(a, b):
    if b:
        return a / b
    return math.nan if not a or a != a else math.copysign(math.inf, a)


def _clamp(v, low, high):
    return min(max(v, low), high)


def _guess(values):
    if all(isinstance(v, bool) for v in values) and values:
        return "bool"
    if all(isinstance(v, int) for v in values) and values:
        return "int64"
    return "float32"


def _fit(values, dtype):
    if dtype == "float32":
        return values
    if dtype == "bool":
        return [1 if v else 0 for v in values]
    return [int(v) for v in values]
