"""Cases from public reports: forged and edited records, records that import or call, secrets in clear text, and SQL in names."""

import ast
import dataclasses
import logging
from pathlib import Path

import pytest

import call4agents_core as c4a
from call4agents_core import _codec
from call4agents_core.errors import EffectInDoubt, LedgerTampered, ResultNotKept
from tests.kit import Boom, files_of, raw

NASTY = ["'; DROP TABLE c4a_entries; --", '" OR 1=1', "100%", "a;b", "two\nlines", "?1", "\\", "{0}", "%s"]


@dataclasses.dataclass
class Thing:
    """A test puts something else in its place."""

    n: int


def test_d27_a_token_is_in_no_table_and_no_text(ledger, caplog):
    """D27: with redact= the key still tells two tokens apart, and neither is anywhere in clear text."""
    caplog.set_level(logging.DEBUG)
    one, two, ran, texts = "sk-live-1111111111", "sk-live-2222222222", [], []

    @c4a.effect(redact={"token"}, wait=0.2)
    def call(what, token):
        ran.append(token)
        if what == "boom":
            raise Boom(f"401 for {token!r}")
        return what

    with c4a.run("r"):
        assert [call("get", one), call("get", two), call("get", one)] == ["get"] * 3
        with pytest.raises(Boom):
            call("boom", one)
        with pytest.raises(EffectInDoubt) as caught:
            call("boom", one)
        texts += [str(caught.value), caplog.text, repr(c4a.pending())]
    assert ran == [one, two, one]
    for token in (one, two):
        assert token.encode() not in files_of(ledger)
        assert not [text for text in texts if token in text]


NAMED = [
    ["os", "system", {"command": "touch owned"}], ["subprocess", "Popen", {"args": "x"}], ["builtins", "eval", "1"],
    ["collections", "OrderedDict", {}], ["call4agents_core.ledger", "Ledger", {}],
]  # fmt: skip


@pytest.mark.parametrize("content", NAMED, ids=[".".join(one[:2]) for one in NAMED])
@pytest.mark.parametrize("tag", ["dataclass", "enum", "namedtuple", "pydantic"])
def test_d26_a_record_that_names_something_else_calls_nothing(content, tag):
    """D26: whatever the name leads to, it has to be a class of the kind that the tag says, and is never called."""
    with pytest.raises(_codec.NotRestorable):
        _codec.decode({"$": tag, "v": content})


@pytest.mark.parametrize("tag", ["lc", "constructor", "object", "py/object", "__reduce__", ""])
def test_d26_a_record_with_an_unknown_tag_is_refused(tag):
    """D26: only the tags that docs/record-format.md lists, and those that a plugin has registered."""
    with pytest.raises(_codec.NotRestorable, match="tag"):
        _codec.decode({"$": tag, "v": ["os", "system", []]})


def test_d26_an_edited_record_is_not_even_read(ledger, tmp_path, monkeypatch):
    """D26: its MAC does not fit, so no name in it is looked at and nothing is imported."""
    (tmp_path / "owned.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    @c4a.effect
    def pay(n):
        return "paid"

    with c4a.run("r"):
        pay(1)
        with raw(ledger.location) as db:
            value = '"value":{"$":"dataclass","v":["owned","Thing",{}]}'
            done = db.execute(
                'UPDATE c4a_entries SET body = CAST(replace(CAST(body AS TEXT), \'"value":"paid"\', ?) AS BLOB) WHERE n = 2',
                (value,),
            )
            assert done.rowcount == 1
        with pytest.raises(LedgerTampered):
            pay(1)


def test_d26_a_class_outside_its_kind_is_not_called_even_where_the_record_is_ours(ledger, monkeypatch):
    """D26: the class has become something else since: ResultNotKept, and no call."""

    @c4a.effect
    def pay():
        return Thing(1)

    with c4a.run("r"):
        pay()
        monkeypatch.setitem(globals(), "Thing", lambda **values: pytest.fail("called"))
        with pytest.raises(ResultNotKept, match="not a dataclass any more"):
            pay()


def test_r24_names_with_sql_in_them_are_data(ledger):
    """R24: run ids, tool names, keys and arguments; each finds itself and nothing else."""
    for n, name in enumerate(NASTY):
        tool = c4a.effect(name=name)(lambda value: value)
        with c4a.run(name):
            assert tool(name) == tool(name, c4a_key=name) == name
        assert len(ledger.store.actions(run=name)) == len(ledger.store.actions(tool=name)) == 2
        assert len(ledger.store.actions()) == 2 * (n + 1)
    assert ledger.store.requests(id=NASTY[0]) == []
    with pytest.raises(c4a.errors.UsageError):
        c4a.resolve(NASTY[0], "%", c4a.did_not_happen())
    assert ledger.verify().faults == ()


def test_r25_no_pickle_anywhere():
    """R25: nor anything else that turns bytes into calls."""
    banned = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle", "copyreg"}
    package = Path(c4a.__file__).parent
    plugins = package.parent / "plugins"
    for path in [*package.rglob("*.py"), *plugins.glob("*/src/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not banned & {alias.name.partition(".")[0] for alias in node.names}, path
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").partition(".")[0] not in banned, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "__import__"}, path


@pytest.mark.parametrize("sql", ["UPDATE c4a_entries SET body = replace(body, '10', '11') WHERE n = 1", "DELETE FROM c4a_entries WHERE n = 1", "UPDATE c4a_actions SET state = 'new'"])  # fmt: skip
def test_r41_what_was_done_to_the_record_is_found_by_a_check_in_ci(sql, ledger):
    """R41: verify names the exact entry, and finds nothing to say about a record in order."""

    @c4a.effect
    def pay(amount):
        return "paid"

    with c4a.run("r"):
        pay(10)
        pay(20)
    assert ledger.verify().faults == ()
    with raw(ledger.location) as db:
        db.execute(sql)
    assert ledger.verify().faults
