"""Classes that others define: found by their names or refused, and restored without any of their code."""

import dataclasses
import datetime as dt
import enum
import functools
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Generic, TypeVar

import pydantic
import pytest

from call4agents_core._classes import module_name
from call4agents_core._codec import NotRestorable, NotStorable, decode, encode
from tests import strategies
from tests.strategies import Access, Colour, Place, Point, Refund, Seat

T = TypeVar("T")
ran: list[str] = []


@dataclasses.dataclass
class Loud:
    amount: int
    doubled: int = dataclasses.field(init=False)

    def __new__(cls, *arguments):
        ran.append("__new__")
        return super().__new__(cls)

    def __post_init__(self):
        ran.append("__post_init__")
        self.doubled = 2 * self.amount
        self.note = "beside the fields"


class Item(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", validate_assignment=True)
    name: str = pydantic.Field(alias="itemName")
    at: dt.datetime | None = None
    tags: list[Any] = pydantic.Field(default_factory=list)
    _secret: int = pydantic.PrivateAttr(default=1)

    def model_post_init(self, context):
        ran.append("model_post_init")

    @functools.cached_property
    def lock(self):
        return threading.Lock()


class Box(pydantic.BaseModel, Generic[T]):
    content: T


def stored(value):
    """Through JSON text, as a ledger does it."""
    return json.loads(json.dumps(encode(value), ensure_ascii=True, allow_nan=False))


def back(value):
    return decode(stored(value))


# ---- restoring ----


def test_restoring_a_dataclass_runs_no_code_of_its_class():
    """No __init__, no __new__, no __post_init__; what those left on the object is kept."""
    value = Loud(2)
    ran.clear()
    again = back(value)
    assert ran == []
    assert (again, again.note) == (value, "beside the fields")


def test_restoring_a_model_runs_no_code_of_its_class():
    """Fields set, extras and private attributes are kept; no validator and no post_init hook runs."""
    value = Item(itemName="a", gift=(1, b"x"))
    value._secret = 7
    assert value.lock
    ran.clear()
    again = back(value)
    assert ran == []
    assert type(again) is Item
    assert again == value
    assert (again.model_fields_set, again.model_extra, again._secret) == ({"name", "gift"}, {"gift": (1, b"x")}, 7)
    assert "lock" not in vars(again)
    again.name = "b"
    assert again.name == "b"


def test_a_model_that_was_not_validated_is_kept_as_it_is():
    """model_construct makes models that no validator would let pass."""
    value = Item.model_construct(name=3, tags=(1,))
    assert repr(back(value)) == repr(value)


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00-02:30"])
def test_the_zone_that_pydantic_gives_to_what_it_parses_is_kept(text):
    """Pydantic has a tzinfo class of its own, which every model with a parsed datetime holds."""
    value = Item.model_validate_json(json.dumps({"itemName": "a", "at": text}))
    assert repr(back(value)) == repr(value)


def test_a_generic_model_that_can_be_imported_is_kept():
    """Pydantic leaves a parametrised model in its module, under its own name."""
    value = Box[int](content=3)
    try:
        assert repr(back(value)) == repr(value)
    except NotStorable:
        assert not hasattr(sys.modules[__name__], "Box[int]")


def local_values():
    class Local(enum.Enum):
        A = 1

    @dataclasses.dataclass
    class Record:
        n: int

    class Model(pydantic.BaseModel):
        n: int

    renamed = dataclasses.make_dataclass("Refund", ["amount"], namespace={"__module__": "tests.strategies"})
    return {"enum": Local.A, "dataclass": Record(1), "model": Model(n=1), "another class of that name": renamed(1)}


@pytest.mark.parametrize("name", list(local_values()))
def test_a_class_that_its_name_does_not_lead_to_is_refused(name):
    """Another process could not find it, or would find another one."""
    with pytest.raises(NotStorable, match="import the class"):
        encode([local_values()[name]])


# ---- what became of the class ----


def replaced(monkeypatch, name, by):
    if by is None:
        monkeypatch.delattr(strategies, name)
    else:
        monkeypatch.setattr(strategies, name, by)


def called(*_arguments, **_more):
    raise AssertionError("a name from a record was called")


@pytest.mark.parametrize("by", [None, called, Seat(1), dict, Path], ids=["gone", "function", "object", "dict", "Path"])
@pytest.mark.parametrize(
    ("name", "value"), [("Refund", Refund(1)), ("Colour", Colour.RED), ("Point", Point(1, 2)), ("Access", Access(5))]
)
def test_only_a_class_of_the_recorded_kind_is_ever_used(name, value, by, monkeypatch):
    """Whatever else a stored name leads to by now is refused by name, and never called."""
    data = stored(value)
    replaced(monkeypatch, name, by)
    with pytest.raises(NotRestorable, match=rf"tests\.strategies\.{name}"):
        decode(data)


@pytest.mark.parametrize("tag", ["enum", "namedtuple", "dataclass", "pydantic"])
@pytest.mark.parametrize(
    "name", ["os.system", "builtins.dict", "no_such_module.Refund", "json.decoder", "pydantic.BaseModel.copy"]
)
def test_a_name_cannot_lead_out_of_its_kind(tag, name):
    """No callable but a class of the expected kind can be reached from a record."""
    module, _, attribute = name.partition(".")
    with pytest.raises(NotRestorable):
        decode({"$": tag, "v": [module, attribute, {}]})


def test_a_field_that_the_class_has_got_since_takes_its_default(monkeypatch):
    """Old results stay readable after a release; a factory is never called."""
    data = stored(Refund(1)), stored(Point(1, 2))
    new = dataclasses.make_dataclass("Refund", ["amount", ("why", str, dataclasses.field(default="?"))], slots=True)
    replaced(monkeypatch, "Refund", new)
    replaced(monkeypatch, "Point", Place)
    assert decode(data[0]) == new(1, "?")
    assert decode(data[1]) == Place(1, 2)


@pytest.mark.parametrize(
    ("name", "value", "by"),
    [
        ("Refund", Refund(1), dataclasses.make_dataclass("Refund", ["amount", "needed"])),
        ("Refund", Refund(1), dataclasses.make_dataclass("Refund", ["total"], slots=True)),
        ("Refund", Refund(1), dataclasses.make_dataclass("Refund", ["amount", ("l", list, dataclasses.field(default_factory=list))])),
        ("Point", Point(1, 2), strategies.namedtuple("Point", "x")),
        ("Point", Point(1, 2), strategies.namedtuple("Point", "x y z")),
        ("Colour", Colour.RED, enum.Enum("Colour", "GREEN")),
        ("Access", Access.RUN, enum.Flag("Access", "READ")),
    ],
    ids=["field added", "field removed", "factory added", "shorter", "longer", "member gone", "flag gone"],
)  # fmt: skip
def test_a_class_that_no_longer_fits_is_refused(name, value, by, monkeypatch):
    """Half an object is worse than none."""
    data = stored(value)
    replaced(monkeypatch, name, by)
    with pytest.raises(NotRestorable):
        decode(data)


# ---- names ----


def test_a_module_has_its_own_name():
    """Tools and classes are named by module (DESIGN 3)."""
    assert module_name("shop.pay") == "shop.pay"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pay.py"], "pay"),
        (["-m", "pay"], "pay"),
        (["-m", "shop.till"], "shop.till"),
        (["-c", "import pay"], "__main__"),
    ],
    ids=" ".join,
)
def test_main_is_named_by_its_spec_or_the_stem_of_its_file(arguments, expected, tmp_path):
    """Also within a child that multiprocessing spawned (DESIGN 3)."""
    script = (
        "import multiprocessing, sys\n"
        "from call4agents_core._classes import module_name\n"
        "def tell(): print(module_name('__main__'), module_name('__mp_main__'), module_name(tell.__module__), flush=True)\n"
        "def main():\n"
        "    tell()\n"
        "    child = multiprocessing.get_context('spawn').Process(target=tell)\n"
        "    child.start(); child.join()\n"
        "if __name__ == '__main__': main()\n"
    )
    (tmp_path / "pay.py").write_text(script)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "till.py").write_text(script)
    if arguments[0] == "-c":
        arguments = ["-c", "from call4agents_core._classes import module_name; print(*[module_name('__main__')] * 3)"]
    child = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert set(child.stdout.split()) == {expected}


SCRIPT = """
import dataclasses, json, sys
from call4agents_core._codec import NotRestorable, decode, encode

@dataclasses.dataclass
class Refund:
    amount: int

def act():
    if sys.argv[1] == "write":
        print(json.dumps(encode(Refund(3))))
    else:
        try:
            value = decode(json.loads(sys.argv[2]))
        except NotRestorable as refused:
            print("refused", refused)
        else:
            print(type(value) is Refund, value)

if __name__ == "__main__":
    act()
"""


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{folder}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.strip()


def test_a_class_of_a_script_is_found_in_the_script_and_in_its_import(tmp_path):
    """The worker imports what the script ran as __main__; the command line imports it too (--import)."""
    (tmp_path / "pay.py").write_text(SCRIPT)
    (tmp_path / "other.py").write_text(SCRIPT)
    data = run(tmp_path, "pay.py", "write")
    assert json.loads(data)["v"][0] == "__main__:pay"
    assert run(tmp_path, "pay.py", "read", data) == "True Refund(amount=3)"
    assert run(tmp_path, "-m", "pay", "read", data) == "True Refund(amount=3)"
    assert run(tmp_path, "-c", "import pay; pay.act()", "read", data) == "True Refund(amount=3)"
    imported = run(tmp_path, "-c", "import pay; pay.act()", "write")
    assert json.loads(imported)["v"][0] == "pay"
    assert run(tmp_path, "pay.py", "read", imported) == "True Refund(amount=3)"
    assert run(tmp_path, "other.py", "read", data).startswith("refused")
