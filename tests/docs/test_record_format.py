"""docs/record-format.md is enough to read and to check a ledger: a second reader, made from the page alone, reads one of ours."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

import call4agents_core as c4a
from call4agents_core import _keys, _types
from call4agents_core._canonical import canonical, loose
from call4agents_core._state import State
from call4agents_core.stores import _sqlite_schema
from tests.docs.pages import page, rows

VECTORS = json.loads((Path(__file__).parent / "record_vectors.json").read_text("utf-8"))
PAGE = page("docs/record-format.md")
SECRET = VECTORS["secret"].encode()
LEDGER_ID = bytes.fromhex(VECTORS["ledger_id"])


# ---- the second reader: nothing of the product, only what the page says --------------------------------------------


def joined(purpose: str, *parts: bytes) -> bytes:
    return purpose.encode() + b"\0" + b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def digest(purpose: str, *parts: bytes) -> str:
    return hashlib.sha256(joined(purpose, *parts)).hexdigest()


def key_id(secret: bytes, ledger_id: bytes) -> bytes:
    return hmac.new(secret, joined("c4a-key-id-1", ledger_id), "sha256").digest()[:4]


def mac(secret: bytes, ledger_id: bytes, run: str, action: bytes, n: int, before: bytes, body: bytes) -> bytes:
    message = b"c4a-entry-1\0"
    for part in (ledger_id, run.encode()):
        message += len(part).to_bytes(4, "big") + part
    message += action + n.to_bytes(4, "big")
    for part in (before, body):
        message += len(part).to_bytes(4, "big") + part
    return key_id(secret, ledger_id) + hmac.new(secret, message, "sha256").digest()


def action_id(ledger_id: bytes, run: str, tool: str, key: str, ordinal: int) -> str:
    parts = (ledger_id, run.encode(), tool.encode(), bytes.fromhex(key), ordinal.to_bytes(8, "big"))
    return digest("c4a-action-1", *parts)[:32]


def idempotency_key(ledger_id: bytes, action: str) -> str:
    return "c4a-" + digest("c4a-idempotency-1", ledger_id, bytes.fromhex(action))[:40]


def request_id(action: str, n: int) -> str:
    return digest("c4a-request-1", bytes.fromhex(action), n.to_bytes(4, "big"))[:16]


def streams(file: Path) -> tuple[bytes, dict[tuple[str, bytes], list[dict[str, Any]]]]:
    """The ledger's id and all its entries, each checked against its MAC."""
    secret = bytes.fromhex((file.with_name(file.name + ".c4a") / "secret").read_text("ascii").split()[0])
    with closing(sqlite3.connect(file)) as database:
        facts = dict(database.execute("SELECT name, value FROM c4a_meta"))
        entries = database.execute(
            "SELECT run, action, n, body, mac FROM c4a_entries ORDER BY run, action, n"
        ).fetchall()
    assert facts["key_id"] == key_id(secret, facts["ledger_id"])
    found: dict[tuple[str, bytes], list[dict[str, Any]]] = {}
    before = b""
    for run, action, n, body, signed in entries:
        stream = found.setdefault((run, action), [])
        assert n == len(stream) + 1
        assert signed == mac(secret, facts["ledger_id"], run, action, n, before if stream else b"", body)
        stream.append(json.loads(body))
        before = signed
    return facts["ledger_id"], found


# ---- vectors -------------------------------------------------------------------------------------------------------


def test_the_code_and_a_second_reader_agree_on_digests():
    """Digests of arguments and keys are as the page says."""
    arguments, key = VECTORS["arguments"], VECTORS["given_key"]
    encoded = canonical(arguments["arguments"])
    assert encoded.hex() == arguments["canonical"]
    assert digest("c4a-arguments-1", LEDGER_ID, encoded) == arguments["digest"]
    assert _keys.arguments_digest(LEDGER_ID, encoded).hex() == arguments["digest"]
    for name, value in arguments["arguments"].items():
        assert digest("c4a-arguments-1", LEDGER_ID, loose(value))[:32] == arguments["loose"][name]
    assert digest("c4a-given-key-1", LEDGER_ID, key["key"].encode()) == key["digest"]
    assert _keys.given_key_digest(LEDGER_ID, key["key"]).hex() == key["digest"]


@pytest.mark.parametrize("vector", VECTORS["actions"], ids=lambda vector: vector["action"])
def test_the_code_and_a_second_reader_agree_on_ids(vector):
    """Action ids and idempotency keys are as the page says."""
    facts = [vector[name] for name in ("run", "tool", "key", "ordinal")]
    assert action_id(LEDGER_ID, *facts) == vector["action"]
    assert _keys.action_id(LEDGER_ID, *facts[:2], bytes.fromhex(facts[2]), facts[3]) == vector["action"]
    assert idempotency_key(LEDGER_ID, vector["action"]) == vector["idempotency_key"]
    assert _keys.idempotency_key(LEDGER_ID, vector["action"]) == vector["idempotency_key"]


def test_the_code_and_a_second_reader_agree_on_request_ids():
    """Request ids are as the page says."""
    for vector in VECTORS["requests"]:
        assert (
            request_id(vector["action"], vector["n"]) == _keys.request_id(vector["action"], vector["n"]) == vector["id"]
        )


def test_the_code_and_a_second_reader_agree_on_macs():
    """The MAC of each entry is over its ledger, run, action, number, body and the MAC before it."""
    ring = _keys.Keyring(LEDGER_ID, SECRET)
    run, action, before = VECTORS["entries"]["run"], VECTORS["entries"]["action"], b""
    for entry in VECTORS["entries"]["entries"]:
        body, signed = entry["body"].encode(), bytes.fromhex(entry["mac"])
        assert mac(SECRET, LEDGER_ID, run, bytes.fromhex(action), entry["n"], before, body) == signed
        assert ring.sign(run, action, entry["n"], before, body) == signed
        assert ring.accepts(signed, run, action, entry["n"], before, body)
        before = signed
    assert signed.hex()[:8] == VECTORS["key_id"] == key_id(SECRET, LEDGER_ID).hex()


def test_the_page_prints_the_vectors_that_are_tested():
    """Each vector stands in the page, in its table or block."""
    section = PAGE.section("Test vectors for ids and MACs")
    cells = [[cell.strip("`") for cell in row] for row in rows(section)]
    arguments, key = VECTORS["arguments"], VECTORS["given_key"]
    wanted = [VECTORS["secret"], VECTORS["ledger_id"], VECTORS["key_id"], arguments["canonical"], arguments["digest"]]
    wanted += [arguments["loose"]["amount"], arguments["loose"]["to"], key["digest"]]
    assert [row[1] for row in cells if len(row) == 2] == wanted
    of = {"the arguments": arguments["digest"], "the given key": key["digest"]}
    shown = [[row[0], row[1], of[row[2]], int(row[3]), row[4], row[5]] for row in cells if len(row) == 6]
    assert shown == [list(vector.values()) for vector in VECTORS["actions"]]
    shown = [{"action": row[1], "n": int(row[0]), "id": row[2]} for row in cells if len(row) == 3]
    assert shown == VECTORS["requests"]
    entries = re.findall(r"Entry (\d+), MAC `(\w+)`:\n\n```json\n(.*)\n```", section)
    assert entries == [(str(one["n"]), one["mac"], one["body"]) for one in VECTORS["entries"]["entries"]]


# ---- a ledger of the product, read by the second reader ------------------------------------------------------------


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    """A ledger with every kind of entry that this release writes, but a late end."""
    file = tmp_path / "shop.sqlite"
    ledger = c4a.Ledger.open(file)
    troubles: list[Exception] = [ConnectionError("no answer"), KeyError("nothing sent")]

    @c4a.effect(name="shop.pay", approval=True, undo=lambda amount: None, redact=("token",))
    def pay(amount, token="a secret"):
        return (amount,)

    @c4a.effect(name="shop.mail", retry_on=KeyError)
    def mail(to):
        raise troubles.pop()

    with c4a.run("thread-42", ledger=ledger):
        with pytest.raises(c4a.errors.ApprovalRequired):
            pay(10)
        ledger.approve(pay, amount=10, c4a_by="ann", c4a_valid_for=60)
        pay(10)
        ledger.approve(pay, amount=10, c4a_key="order-7")
        pay(10, c4a_key="order-7")
        ledger.deny(pay, amount=99, c4a_reason="too much")
        for trouble in KeyError, ConnectionError:
            with pytest.raises(trouble):
                mail("bob")
        (action,) = [row.action for row in ledger.store.actions(tool="shop.mail")]
        ledger.resolve("thread-42", action, c4a.happened("seen"), by="ann", note="at the bank")
        ledger.undo("thread-42")
    ledger.close()
    return file


def test_a_second_reader_checks_every_mac_of_a_ledger(ledger_file):
    """The page is enough to check a ledger."""
    _, found = streams(ledger_file)
    assert sum(map(len, found.values())) > 15


def test_a_second_reader_finds_the_ids_of_a_ledger(ledger_file):
    """Action ids follow from what entry 1 says, and open requests from the entries."""
    ledger_id, found = streams(ledger_file)
    asked = set()
    for (run, action), stream in found.items():
        head, digests = stream[0], [entry["digest"] for entry in stream if "digest" in entry]
        if "key" in head:
            digests = [digest("c4a-given-key-1", ledger_id, head["key"].encode())]
        for key in digests:
            assert action_id(ledger_id, run, head["tool"], key, head["ordinal"]) == action.hex()
        asked |= {request_id(action.hex(), n) for n, entry in enumerate(stream, 1) if entry["kind"] == "asked"}
    with closing(sqlite3.connect(ledger_file)) as database:
        assert asked == {name for (name,) in database.execute("SELECT id FROM c4a_requests")}
    assert asked


def kinds() -> dict[str, tuple[set[str], set[str]]]:
    """Of each kind in the page: the keys that must stand in a body, and those that may."""
    table = [row for row in rows(PAGE.section("Entries")) if len(row) == 3]
    found = {}
    for kind, keys, _ in table:
        may = set(re.findall(r"\(`(\w+)`\)", keys))
        found[kind.strip("`")] = (set(re.findall(r"`(\w+)`", keys)) - may, may)
    return found


def test_the_page_describes_every_kind_of_entry():
    """What code may write, and only that."""
    assert set(kinds()) == set(get_args(_types.EntryKind))


def test_bodies_hold_what_the_page_says(ledger_file):
    """Every key of every entry of a ledger is described, and none that is described as always there is missing."""
    seen = set()
    for stream in streams(ledger_file)[1].values():
        for n, entry in enumerate(stream, 1):
            described(entry, n)
            seen.add(entry["kind"])
    assert seen == set(kinds()) - {"late", "archived"}


def described(entry: dict, n: int) -> None:
    """Entry ``n`` of an action holds what the page says, and nothing else."""
    must, may = kinds()[entry["kind"]]
    must = must | {"v", "kind", "at"} | ({"tool", "ordinal"} if n == 1 else set())
    assert must <= entry.keys() <= must | may | ({"key", "reverses"} if n == 1 else set()), entry


def test_archived_action_leaves_what_the_page_says(ledger_file):
    """One entry for each action, signed, which says what the action is and accounts for the numbers that are gone."""
    _, before = streams(ledger_file)
    numbers = numbers_of(ledger_file)
    ledger = c4a.Ledger.open(ledger_file)
    ledger.archive(ledger_file.with_name("old.sqlite"), older_than=0)
    ledger.close()
    _, found = streams(ledger_file)
    assert found.keys() == before.keys()
    for place, (stone,) in found.items():
        described(stone, 1)
        assert stone["kind"] == "archived"
        for name in ("tool", "ordinal", "key", "reverses"):
            assert stone.get(name) == before[place][0].get(name)
    assert {stone["was"] for (stone,) in found.values()} >= {"done", "undone", "denied"}
    assert {"key", "reverses"} <= {name for (stone,) in found.values() for name in stone}
    assert {place: stone["gone"] for place, (stone,) in found.items()} == numbers
    newest = max(max(gone) for gone in numbers.values())
    kept = {place: gone[-1:] if newest in gone else gone[:1] for place, gone in numbers.items()}
    assert numbers_of(ledger_file) == kept


def numbers_of(file: Path) -> dict[tuple[str, bytes], list[int]]:
    """The `seq` of the entries of each action, in their order."""
    found: dict[tuple[str, bytes], list[int]] = {}
    with closing(sqlite3.connect(file)) as database:
        for run, action, seq in database.execute("SELECT run, action, seq FROM c4a_entries ORDER BY n"):
            found.setdefault((run, action), []).append(seq)
    return found


def test_the_page_names_every_state():
    """The states of the derived table, but the one of an action without entries."""
    named = {word for row in rows(PAGE.section("States")) for word in re.findall(r"`([\w-]+)`", row[0])}
    assert named == set(get_args(_types.StateName)) - {State().name}


def test_the_page_prints_the_schema():
    """The tables are as the page says."""
    (block,) = [block for block in PAGE.blocks if block.info == ("sql",)]
    assert block.text.strip() == _sqlite_schema._SCHEMA.strip()


def test_the_page_gives_the_versions():
    """The numbers in the page are those of the code."""
    shown = {row[0]: int(row[2]) for row in rows(PAGE.section("Versions"))}
    assert shown == {
        "format of the ledger": _keys.FORMAT,
        "format of an entry": _keys.FORMAT,
        "format of the canonical encoding": canonical(None)[0],
    }
