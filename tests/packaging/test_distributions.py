"""What is built and what is committed: contents of the wheels, imports of the core, house rules."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "call4agents_core"
SOURCES = sorted(CORE.rglob("*.py"))

# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN_TEXT = {
    "registry address": ["pypi" + r"\.org", "python" + "hosted", r"registry\." + "npmjs", r"deb\." + "debian"],
    "machine path": ["/wo" + "rk/", "/fa" + "rm/", "/ro" + "ot/", "/ho" + r"me/\w", "/Us" + "ers/", r"C:\\" + "Users"],
    "key of a service": [r"\bsk-" + r"[\w-]{20}", r"\bAK" + r"IA\w{16}", r"\bgh[pos]_" + r"\w{20}"],
    "word that is not about the project": [
        r"\bcla" + "ude", r"\banth" + "ropic", "chat" + "gpt", r"\bco" + "pilot", "co-authored" + "-by",
        r"\bai[- ]" + "generated", r"\bDES" + r"IGN\.md", r"reference/\w+" + r"\.md",
    ],
}


def project(folder: str) -> dict:
    """The [project] table of one distribution."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def committed_files() -> list[Path]:
    """Every text file that git knows, staged ones included."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    files = [ROOT / name for name in sorted(set(names)) if name]
    return [file for file in files if file.is_file() and b"\0" not in file.read_bytes()]


def named(file: Path) -> str:
    """The file's path as it is called in this repository."""
    return file.relative_to(ROOT).as_posix()


def imported(source: Path) -> set[str]:
    """The modules that a file imports by an import statement anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return found


def test_core_has_no_dependency():
    assert project(".")["dependencies"] == []


def test_importing_the_core_loads_the_standard_library_only():
    program = (
        "import sys; before = set(sys.modules); import call4agents_core as c4a; "
        "public = [getattr(c4a, name) for name in c4a.__all__]; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == ["call4agents_core"]


def test_core_imports_nothing_that_runs_code_out_of_bytes():
    banned = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    assert SOURCES
    assert [named(source) for source in SOURCES if banned & imported(source)] == []


def test_plugins_import_only_the_public_rooms_of_the_core_and_never_each_other():
    plugins = {"call4agents_langgraph", "call4agents_pydantic_ai", "call4agents_openai_agents", "call4agents_mcp"}
    public = {"plugin", "errors", "testing"}
    private = {path.stem for path in CORE.iterdir() if path.suffix == ".py" or path.is_dir()} - public
    wrong = []
    for source in (ROOT / "plugins").glob("*/src/*/**/*.py"):
        others = plugins - set(source.parts)
        for module in imported(source):
            first, _, rest = module.partition(".")
            if first in others or (first == "call4agents_core" and rest.partition(".")[0] in private):
                wrong.append(f"{named(source)} imports {module}")
    assert wrong == []


def test_nothing_lies_directly_in_plugins_that_makes_it_a_package():
    assert [path.name for path in (ROOT / "plugins").iterdir() if path.is_file()] == []


@pytest.mark.parametrize("folder", [".", "plugins/langgraph"])
def test_license_is_one_text_and_metadata_agree(folder):
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert project(folder)["license"] == "Apache-2.0"
    assert project(folder)["requires-python"] == ">=3.11"


def test_constraints_hold_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pin = re.compile(r"[a-z0-9.-]+==[A-Za-z0-9.+]+( ; [a-z_]+ [<>=!]=? '[\w.]+')?")
    assert [line for line in lines if not line.startswith("#") and not pin.fullmatch(line)] == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout: what is committed cannot be told")
@pytest.mark.parametrize("kind", FORBIDDEN_TEXT)
def test_no_committed_file_holds_a(kind):
    pattern = re.compile("|".join(FORBIDDEN_TEXT[kind]), re.IGNORECASE)
    found = []
    for file in committed_files():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [f"{named(file)}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    assert found == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout: what is committed cannot be told")
def test_no_source_file_is_over_400_lines():
    lengths = {named(file): len(file.read_bytes().splitlines()) for file in committed_files() if file.suffix == ".py"}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "package"), [(".", "call4agents_core"), ("plugins/langgraph", "call4agents_langgraph")]
)
def test_wheel_holds_the_package_its_license_and_py_typed(folder, package, tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT / folder)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    required = [line for line in about.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert f"{package}/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {package}
    assert package != "call4agents_core" or required == []
