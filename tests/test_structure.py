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
    "llama_cpp": {"backends"},
    "huggingface_hub": {"backends"},
    "jinja2": {"backends"},
    "matplotlib": {"lab"},
    "scipy": {"lab"},
}
MODULES = [path for folder in ORDER for path in sorted((ROOT / folder).glob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports across folders are absolute"
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_imports_point_one_way(path: Path) -> None:
    folder = path.parent.name
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
    for folder in ORDER:
        assert f'"nextok.{folder}" = "{folder}"' in text
        assert re.search(rf'packages = \[.*"nextok\.{folder}"', text)
        assert (ROOT / folder / "py.typed").exists()
        assert not [path for path in (ROOT / folder).glob("*/") if path.name != "__pycache__"]


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
