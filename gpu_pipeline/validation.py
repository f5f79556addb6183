"""Data of any shape in, typed values out; of data that does not fit, every fault with its place.

msgspec converts. It stops at the first fault and does not name the key of a dictionary, so data
that it refuses is walked, down to each part that does not fit.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from gpu_pipeline.record import Record

T = TypeVar("T")
Place = tuple[str | int, ...]

UNKNOWN, MISSING = "unknown key", "is missing"


class Fault(Record):
    """A part that does not fit: its keys and indices, what it should be, and why it is not.

    `message` is UNKNOWN for a key that its table does not know, and MISSING for one it must have;
    otherwise it is msgspec's, or that of a `read`, and empty when that had nothing to say.
    """

    path: Place
    kind: Any
    value: object
    message: str


def converted(value: object, kind: type[T], *, native: Sequence[type] = ()) -> T:
    """`value` as a `kind`. Raises msgspec.ValidationError.

    Text is taken for something else only where the format of `value` cannot say it: `native` are
    the types that it has besides those of JSON. A type of ours is made by its class method `read`,
    which raises ValueError with the reason, or TypeError.
    """
    return msgspec.convert(value, kind, builtin_types=native, dec_hook=_read)


def _read(kind: Any, value: object) -> object:
    return kind.read(value)


def faults(
    value: object, kind: Any, *, native: Sequence[type] = (), path: Place = ()
) -> list[Fault]:
    """Everything about `value` that keeps it from being a `kind`."""
    try:
        converted(value, kind, native=native)
    except msgspec.ValidationError as error:
        found = [*_faults_of_keys(value, kind, path)]
        for key, below, inner in _parts(value, kind):
            found += faults(below, inner, native=native, path=(*path, key))
        return found or [Fault(path=path, kind=kind, value=value, message=str(error))]
    return []


def _faults_of_keys(value: object, kind: Any, path: Place) -> Iterator[Fault]:
    known = keys_of(kind)
    if not known or not isinstance(value, dict):
        return
    if bare(kind).__struct_config__.forbid_unknown_fields:
        for key in value:
            if key not in known:
                yield Fault(path=(*path, key), kind=None, value=value[key], message=UNKNOWN)
    for key, field in known.items():
        if field.required and key not in value:
            yield Fault(path=(*path, key), kind=field.type, value=None, message=MISSING)


def _parts(value: object, kind: Any) -> Iterator[tuple[str | int, object, Any]]:
    """The parts of `value` that have a kind of their own: key or index, part, kind."""
    keyed: Iterator[tuple[Any, object]] = iter(())
    if isinstance(value, dict):
        keyed = iter(value.items())
    elif isinstance(value, list):
        keyed = enumerate(value)
    for key, below in keyed:
        inner = kind_below(kind, key)
        if inner is not None:
            yield key, below, inner


def kind_below(kind: Any, key: str | int) -> Any:
    """The kind of what stands at a key or index of a `kind`; None if nothing may stand there."""
    plain = bare(kind)
    if field := keys_of(plain).get(str(key)):
        return field.type
    origin, inner = get_origin(plain), get_args(plain)
    if origin is dict and isinstance(key, str):
        return inner[1]
    return inner[0] if origin in (list, tuple) and isinstance(key, int) else None


def keys_of(kind: Any) -> Mapping[str, FieldInfo]:
    """The keys of a table, by the names that a file has for them; none if `kind` is no table."""
    plain = bare(kind)
    return _keys_of(plain) if isinstance(plain, msgspec.StructMeta) else {}


@functools.cache
def _keys_of(table: type[msgspec.Struct]) -> Mapping[str, FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(table)}


def bare(kind: Any) -> Any:
    """A kind without the bounds that are noted beside it, and without `| None`."""
    origin = get_origin(kind)
    if origin is Annotated:
        return bare(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        inner = [each for each in get_args(kind) if each is not type(None)]
        return bare(inner[0]) if len(inner) == 1 else kind
    return kind
