"""Cases from public reports: what an argument is, and results that came back as something else."""

import dataclasses
import json
import sys
import types

import pytest

import call4agents_core as c4a
from call4agents_core.errors import ApprovalRequired, ResultNotKept

pytestmark = pytest.mark.usefixtures("ledger", "in_run")


def counter(**options):
    ran = []

    @c4a.effect(**options)
    def tool(a, b=2, ctx=None):
        ran.append((a, b))
        return len(ran)

    return tool, ran


def test_d22_positional_keyword_and_default_are_one_call():
    """D22: four spellings, one effect; what is excluded is so in every spelling; a yes by keyword fits a positional call."""
    tool, ran = counter(exclude=("ctx",))
    assert [tool(1), tool(1, 2), tool(a=1), tool(b=2, a=1), tool(1, 2, object()), tool(1, ctx=object())] == [1] * 6
    assert len(ran) == 1
    needy, paid = counter(approval=True, name="needy")
    c4a.approve(needy, b=2, a=1)
    assert needy(1, 2) == 1
    assert len(paid) == 1


def test_d23_one_rule_for_numbers_and_for_the_order_of_keys():
    """D23: 1, 1.0, True and "1" differ, the order of keys never matters, and the approval agrees with the key."""
    tool, _ = counter()
    assert [tool(1), tool(1.0), tool(True), tool("1")] == [1, 2, 3, 4]
    first, second = {"a": {"x": 1, "y": [2]}, "b": 3}, {"b": 3, "a": {"y": [2], "x": 1}}
    assert tool(first) == tool(second) == 5
    needy, _ = counter(approval=True, name="needy")
    c4a.approve(needy, a=1)
    for other in (1.0, True, "1"):
        with pytest.raises(ApprovalRequired):
            needy(other)
    c4a.approve(needy, a=first)
    assert needy(second) == 1


@pytest.mark.parametrize("value", [b"\xff\xfe", b"", [b"\x00"], {"raw": b"\xff"}, bytearray(b"x")], ids=repr)
def test_r17_bytes_come_back_as_bytes(value):
    """R17: not as text, not as an error, and not as base64."""

    @c4a.effect
    def fetch():
        return value

    assert fetch() == fetch() == value
    assert type(fetch()) is type(value)


@dataclasses.dataclass
class Receipt:
    number: int


def test_r18_a_result_whose_class_is_gone_says_so_and_names_it(monkeypatch):
    """R18: neither None nor a dict: an error, and the action is not run again."""
    module, ran = types.ModuleType("shop_of_last_year"), []
    module.Receipt = dataclasses.make_dataclass("Receipt", ["number"], namespace={"__module__": module.__name__})
    module.Receipt.__module__ = module.__name__
    monkeypatch.setitem(sys.modules, module.__name__, module)

    @c4a.effect
    def pay():
        ran.append(1)
        return module.Receipt(7)

    assert pay() == pay() == module.Receipt(7)
    monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(ResultNotKept, match=r"shop_of_last_year\.Receipt.*is gone") as caught:
        pay()
    assert "number=7" in caught.value.shown
    assert ran == [1]


def test_a_result_that_looks_like_our_own_tags_is_data():
    """D26, the other way round: nothing that a tool returns is read as a type of ours."""
    look_alikes = [
        {"$": "bytes", "v": "eA=="},
        {"$": "dataclass", "v": ["os", "system", {}]},
        [{"$": 1}],
        json.loads('{"$": null}'),
    ]

    @c4a.effect
    def fetch(n):
        return look_alikes[n]

    for n, value in enumerate(look_alikes):
        assert fetch(n) == fetch(n) == value
