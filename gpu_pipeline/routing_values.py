"""The values in routing.toml: what each may be, and why one that may not is refused."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from msgspec import Meta

from gpu_pipeline.durations import MAX_TIMEOUT_SECONDS, parse_duration
from gpu_pipeline.quantity import parse_quantity

_HUGE = 10**18
_MIN_MEMORY_BYTES = 2**20
_MAX_CORES = 512


class Amount(str):
    """Text that stands for an amount; `read` of each kind refuses other text, with the reason."""

    __slots__ = ()


class _Quantity(Amount):
    """A Kubernetes quantity above zero."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        if isinstance(value, float):
            raise ValueError('write it as text, for example "1500m" or "1.5"')
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if abs(value) < _HUGE else "a number that long"
        if not isinstance(value, str):
            raise TypeError
        if parse_quantity(value) <= 0:
            raise ValueError("must be more than zero")
        return cls(value)


class Memory(_Quantity):
    """Bytes, as a Kubernetes quantity."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        text = super().read(value)
        if parse_quantity(text) < _MIN_MEMORY_BYTES:
            example = f"{text}Gi" if text.isdigit() else "16Gi"
            raise ValueError(
                f'"{text}" is less than 1Mi: is the unit missing? For example "{example}"'
            )
        return text


class Cpu(_Quantity):
    """Cores, as a Kubernetes quantity."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        text = super().read(value)
        if parse_quantity(text) > _MAX_CORES:
            raise ValueError(f'"{text}" is more cores than any node has: did you mean "{text}m"?')
        return text


class Timeout(Amount):
    """A duration as GitLab reads it, at most a month."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        if isinstance(value, int) and not isinstance(value, bool):
            example = f"{value}s" if 0 < value <= MAX_TIMEOUT_SECONDS else "90s"
            raise ValueError(f'needs a unit: GitLab takes text such as "{example}" or "12h"')
        if not isinstance(value, str):
            raise TypeError
        if parse_duration(value) > MAX_TIMEOUT_SECONDS:
            raise ValueError("is above one month, the most GitLab allows")
        return cls(value)


Text = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]+\Z")]
Word = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]+\Z")]
Prose = Annotated[str, Meta(pattern=r"^[^\x00]*\Z")]
Texts = tuple[Text, ...]
Words = tuple[Word, ...]
Stage = Annotated[
    str, Meta(pattern=r"^[^\s\x00-\x1f\x7f.](?:[^\x00-\x1f\x7f]{0,253}[^\s\x00-\x1f\x7f])?\Z")
]
Variables = dict[str, Prose]
GpuName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9 ()._+/-]*[A-Za-z0-9)+])?\Z")]
Epochs = Annotated[int, Meta(ge=1, le=1_000_000)]
Count = Annotated[int, Meta(ge=1, le=1_000)]
CountOrZero = Annotated[int, Meta(ge=0, le=1_000)]
Share = Annotated[float, Meta(gt=0, le=1)]
Speed = Annotated[float, Meta(gt=0, le=1_000)]
Seconds = Annotated[float, Meta(gt=0, le=10_000_000)]
Price = Annotated[float, Meta(ge=0, le=1_000_000)]
Queue = Literal["gitlab", "kubernetes"]
