"""The picture of the house: which folder may know which, and what a wheel must hold."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ORDER = ("generation", "backends", "lab", "cli")
"""Each folder may import from itself and from those before it."""
OWNERS = {
    "typer": {"cli"},
    "rich": {"cli"},
    "prompt_toolkit": {"cli"},
    "pygments": {"cli"},
    "wcwidth": {"cli"},
    "llama_cpp": {"backends"},
    "huggingface_hub": {"backends"},
    "jinja2": {"backends"},
    "matplotlib": {"lab"},
    "scipy": {"lab"},
    "simpy": {"lab"},
}
SUBPACKAGES = ("cli/chat",)
"""Folders inside a folder: each keeps its folder's rules, and nothing else may lie there."""
PICTURES = "lab/pictures"
"""Of the lab's log."""
FOLDERS = (*ORDER, *SUBPACKAGES)
MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports across folders are absolute"
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_imports_point_one_way(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[0]
    allowed = ORDER[: ORDER.index(folder) + 1]
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "nextok":
            assert rest.partition(".")[0] in allowed, f"{path} imports {name}"
        if top in OWNERS:
            assert folder in OWNERS[top], f"{path} imports {name}"
        if folder == "generation":
            assert top == "nextok" or top in sys.stdlib_module_names, f"{path} imports {name}"


def test_only_the_engine_modules_import_the_engine() -> None:
    for path in MODULES:
        if "llama_cpp" in {name.partition(".")[0] for name in imported(path)}:
            assert path.name.startswith("llama_")


def test_the_wheel_lists_every_folder() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for folder in FOLDERS:
        package = "nextok." + folder.replace("/", ".")
        assert f'"{package}" = "{folder}"' in text
        assert re.search(rf'packages = \[.*"{re.escape(package)}"', text)
        assert (ROOT / folder / "__init__.py").exists()
    for folder in ORDER:
        assert (ROOT / folder / "py.typed").exists()


def test_every_folder_inside_a_folder_is_a_listed_package() -> None:
    inside = {shown(path) for folder in FOLDERS for path in (ROOT / folder).glob("*/")}
    packages = {path for path in inside if not path.endswith("__pycache__")} - {PICTURES}
    assert packages == set(SUBPACKAGES)
    assert {path.suffix for path in (ROOT / PICTURES).iterdir()} <= {".png", ".svg"}


def test_no_folder_shadows_the_package() -> None:
    assert not (ROOT / "nextok").exists()
    assert not {"cli", "backends", "generation", "lab"} & set(sys.modules)


def test_no_function_is_too_long() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, f"{path}: {node.name}"


def test_the_loop_reads_like_the_algorithm() -> None:
    source = (ROOT / "generation" / "loop.py").read_text()
    body = source[source.index("def plain_steps") : source.index("def prefill(")]
    signposts = re.findall(r"# (\d)\. (\w+)", body)
    assert signposts == [("1", "Prefill"), ("2", "Sample"), ("3", "Stop"), ("4", "Decode")]
