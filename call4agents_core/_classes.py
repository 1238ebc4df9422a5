"""Classes that others define: their names across processes, the state of their objects, and objects made of state.

Enum, namedtuple, dataclass and Pydantic model are told apart without an import of dataclasses or Pydantic. An object is
made without its `__init__`, so that reading a record runs no code of its class.
"""

from __future__ import annotations

import importlib
import os.path
import sys
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Any, Final, NamedTuple, cast

from call4agents_core._shown import shown


class NotStorable(Exception):
    """A value that cannot be stored so that it comes back with its type; `why` is a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NotRestorable(Exception):
    """Stored data that cannot become its value in this process; `why` is a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


# ---- names ----


def module_name(module: str) -> str:
    """Return the name of `module` that other processes know it by too: `__main__` is named by its spec or file stem.

    A script run as `python pay.py` is `pay`, under `python -m shop.pay` it is `shop.pay`; only a session without a file
    stays `__main__`. A child that multiprocessing spawned calls the same script `__mp_main__`.
    """
    if module not in {"__main__", "__mp_main__"}:
        return module
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    stem: str = os.path.splitext(os.path.basename(file or ""))[0]
    return stem or "__main__"


def class_text(kind: type[Any]) -> str:
    """Return the full name of a class, for texts that a person reads."""
    return f"{kind.__module__}.{kind.__qualname__}"


def home(kind: type[Any]) -> tuple[str, str]:
    """Return module and qualified name that lead another process to `kind`; of a script, its own name is noted too.

    Raises NotStorable if they do not lead this process to it, as with a class that was defined inside a function.
    """
    name = module_name(kind.__module__)
    module = name if name == kind.__module__ else f"__main__:{name}"
    try:
        found = _find(module, kind.__qualname__)
    except Exception:
        found = None
    if found is not kind:
        raise NotStorable(f"no other process could import the class {class_text(kind)} by its name")
    return module, kind.__qualname__


def find_class(module: str, qualname: str, fits: Callable[[type[Any]], bool], what: str) -> type[Any]:
    """Return the class that `home` named. Whatever else the names lead to by now is refused, and never called.

    Raises NotRestorable if the class is gone, or is no longer of the kind that `fits` tests and `what` names.
    """
    name = shown(f"{module}.{qualname}", 200)
    try:
        found = _find(module, qualname)
    except Exception as error:
        raise NotRestorable(f"the class {name} is gone ({shown(error, 200)})") from error
    if not (isinstance(found, type) and fits(found)):
        raise NotRestorable(f"{name} is not {what} any more")
    return found


def _find(module: str, qualname: str) -> Any:
    found: Any = _module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _module(module: str) -> Any:
    name = module.removeprefix("__main__:")
    if name == module_name("__main__"):
        return sys.modules["__main__"]  # an import by that name would run the script a second time
    if name != module:
        return sys.modules[name]  # a script is never imported unasked: that would run it
    return importlib.import_module(name)


# ---- kinds ----


def is_enum(kind: type[Any]) -> bool:
    """Tell whether `kind` is an Enum class of any flavour."""
    return issubclass(kind, Enum)


def is_namedtuple(kind: type[Any]) -> bool:
    """Tell whether `kind` is a class that `namedtuple` or `typing.NamedTuple` made, or a subclass of one."""
    return tuple in kind.__mro__ and hasattr(kind, "_fields") and hasattr(kind, "_field_defaults")


def is_dataclass(kind: type[Any]) -> bool:
    """Tell whether `kind` is a dataclass or inherits from one."""
    return hasattr(kind, "__dataclass_fields__")


def is_model(kind: type[Any]) -> bool:
    """Tell whether `kind` is a model class of Pydantic 2 or later."""
    base = getattr(sys.modules.get("pydantic.main"), "BaseModel", None)
    return base is not None and issubclass(kind, base) and hasattr(base, "model_fields")


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of all fields of a dataclass, those left out of comparison included."""
    import dataclasses  # slow, and whoever made the class has done it

    return tuple(field.name for field in dataclasses.fields(kind))


def model_fields(value: object) -> dict[str, object]:
    """Return the declared fields of a Pydantic model; what is cached beside them is left out."""
    names: Mapping[str, object] = cast("Any", type(value)).model_fields
    return {name: item for name, item in vars(value).items() if name in names}


# ---- state: taken from an object, and made into one ----


def _member_state(member: Enum) -> object:
    if member._name_ in type(member).__members__:
        return member._name_
    if isinstance(member, Flag):
        return member._value_
    raise NotStorable(f"{shown(member, 80)} is no member of {class_text(type(member))}")


def _make_member(kind: type[Any], state: object) -> object:
    members: Mapping[object, object] = kind.__members__
    if state in members:
        return members[state]
    if issubclass(kind, Flag) and type(state) is int:
        return kind(state)
    raise NotRestorable(f"{class_text(kind)} has no member {shown(state, 80)} any more")


def _namedtuple_state(value: Any) -> object:
    if getattr(value, "__dict__", None):
        raise NotStorable(f"{shown(value, 80)} has attributes besides its fields")
    return dict(zip(value._fields, tuple(value), strict=True))


def _make_namedtuple(kind: type[Any], state: Any) -> object:
    names: tuple[str, ...] = kind._fields
    _complete(kind, state, {name: kind._field_defaults.get(name, _MISSING) for name in names}, _MISSING)
    if len(state) != len(names):
        raise NotRestorable(f"{class_text(kind)} has fewer fields than were stored")
    return cast("Any", tuple).__new__(kind, [state[name] for name in names])


def _dataclass_state(value: object) -> object:
    kind = type(value)
    object.__new__(kind)  # TypeError for a class that holds more than attributes, as one below list or Exception
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in field_names(kind)}}


def _make_dataclass(kind: type[Any], state: Any) -> object:
    import dataclasses

    _complete(kind, state, {field.name: field.default for field in dataclasses.fields(kind)}, dataclasses.MISSING)
    made = object.__new__(kind)
    for name, item in state.items():
        if name.startswith("__"):
            raise NotRestorable(f"{shown(name, 80)} is no attribute that is stored")
        object.__setattr__(made, name, item)  # of frozen ones too
    return made


def _model_state(value: Any) -> object:
    return [model_fields(value), value.__pydantic_fields_set__, value.__pydantic_extra__, value.__pydantic_private__]


def _make_model(kind: type[Any], state: Any) -> object:
    import pydantic_core

    fields, fields_set, extra, private = state
    declared = cast("Mapping[str, Any]", kind.model_fields)
    _complete(kind, fields, {name: it.default for name, it in declared.items()}, pydantic_core.PydanticUndefined)
    made = object.__new__(kind)
    # What copy and pickle use: unlike model_construct it runs no code of the class and keeps private attributes.
    sys.modules["pydantic.main"].BaseModel.__setstate__(
        made,
        {
            "__dict__": fields,
            "__pydantic_fields_set__": fields_set,
            "__pydantic_extra__": extra,
            "__pydantic_private__": private,
        },
    )
    return made


def _complete(kind: type[Any], state: dict[str, object], defaults: Mapping[str, object], undefined: object) -> None:
    """Add the plain defaults of fields that the class has got since; a factory is never called."""
    for name, default in defaults.items():
        if name not in state:
            if default is undefined:
                raise NotRestorable(f"the field {name!r} of {class_text(kind)} was not stored")
            state[name] = default


class Kind(NamedTuple):
    """How objects of one kind of class are stored: `state` takes them apart, `make` puts them together."""

    what: str
    fits: Callable[[type[Any]], bool]
    state: Callable[[Any], object]
    make: Callable[[type[Any], Any], object]


_MISSING: Final = object()

#: By tag, and in the order in which a class is tried: an Enum may well be a dataclass too.
KINDS: Final[dict[str, Kind]] = {
    "enum": Kind("an Enum", is_enum, _member_state, _make_member),
    "namedtuple": Kind("a namedtuple class", is_namedtuple, _namedtuple_state, _make_namedtuple),
    "dataclass": Kind("a dataclass", is_dataclass, _dataclass_state, _make_dataclass),
    "pydantic": Kind("a Pydantic model", is_model, _model_state, _make_model),
}
