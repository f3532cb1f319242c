"""The folder of -o: pictures and data of each experiment, and one page with all of them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from nextok.cli.version import version
from nextok.generation.errors import OutputError, UsageError
from nextok.lab.findings import Findings
from nextok.lab.findings_text import as_object, as_text
from nextok.lab.page import Illustrated, page
from nextok.lab.picture import MARK, Form
from nextok.lab.picture_file import check_replaceable, write_picture

PAGE = "index.html"
_FORMS: tuple[Form, ...] = ("png", "svg")


class LabFolder:
    """Made when something is about to be written; what is in it stays unless it is of ours."""

    def __init__(self, path: str) -> None:
        """OutputError without matplotlib, and where there cannot be such a folder."""
        if importlib.util.find_spec("matplotlib") is None:
            raise OutputError("pictures need matplotlib: pip install 'nextok[lab]'")
        self._path = Path(path)
        self._parts: list[Illustrated] = []
        if self._path.exists() and not self._path.is_dir():
            raise UsageError(f"{path} is no folder: -o FOLDER is where pictures and data go")
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make {path}: {error.strerror}") from error
        if not os.access(self._path, os.W_OK):
            raise OutputError(f"cannot write into {path}: Permission denied")
        self._check_ours(PAGE, f'content="{MARK}"')

    def check(self, experiment: str) -> None:
        """UsageError if a file of somebody else's has the name its data will have."""
        self._check_ours(f"{experiment}.json", f'"experiment": "{experiment}"')

    def write(self, findings: Findings) -> list[str]:
        """Pictures and data; the names of the files. Raises OutputError, UsageError."""
        from nextok.lab.drawing import chart_picture

        name = findings.experiment
        self._put(f"{name}.json", (as_text(as_object(findings)) + "\n").encode())
        files = {"": [("JSON", f"{name}.json")]}
        svgs: dict[str, str] = {}
        for chart in findings.charts:
            for form in _FORMS:
                picture = chart_picture(chart, form)
                file = f"{name}-{chart.name.removeprefix(f'{name}-')}.{form}"
                check_replaceable(str(self._path / file))
                self._put(file, picture)
                files.setdefault(chart.name, []).append((form.upper(), file))
                if form == "svg":
                    svgs[chart.name] = picture.decode()
        self._parts.append(Illustrated(findings=findings, svgs=svgs, files=files))
        return [file for links in files.values() for _, file in links]

    def write_page(self, failures: Mapping[str, str]) -> str:
        """The page of all that was written so far, and of what failed; its path."""
        self._put(PAGE, page(self._parts, version=version(), failures=failures).encode())
        return str(self._path / PAGE)

    def _put(self, name: str, data: bytes) -> None:
        write_picture(str(self._path / name), data)

    def _check_ours(self, name: str, sign: str) -> None:
        path = self._path / name
        try:
            known = not path.exists() or sign in path.read_text(errors="replace")[:4096]
        except OSError as error:
            raise OutputError(f"cannot read {path}: {error.strerror}") from error
        if not known:
            raise UsageError(f"{path} exists and was not written by nextok: give another folder")
