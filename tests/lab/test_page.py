"""The page of several experiments: all of it there, nothing fetched, nobody's names mixed up."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from nextok.lab.chart import Chart, Series
from nextok.lab.drawing import chart_picture
from nextok.lab.findings import Findings
from nextok.lab.findings_text import as_object, as_text
from nextok.lab.page import Illustrated, page

CHART = Chart(
    name="speed", title="Speed & <more>", x_label="index", y_label="time (ms)",
    series=(Series(label="a", x=[0, 1], y=[1.0, 2.0]),),
)  # fmt: skip


def findings(name: str, *, complete: bool = True) -> Findings:
    return Findings(
        experiment=name,
        title=f"Title of {name} <b>",
        command=f"nextok lab {name} -p 'a & b'",
        model="m.Q4_1",
        data={"complete": complete, "tokens": [1, 2, 3], "times": {"s": 1.5}},
        sentences=("One.", "Two < three."),
        charts=(CHART,),
    )


def made(*names: str, complete: bool = True) -> str:
    svg = chart_picture(CHART, "svg").decode()
    return page(
        [
            Illustrated(
                findings=findings(name, complete=complete),
                svgs={"speed": svg},
                files={"": [("JSON", f"{name}.json")], "speed": [("PNG", f"{name}-speed.png")]},
            )
            for name in names
        ],
        version="1.2.3",
    )


class Reading(HTMLParser):
    """Every tag with its attributes, all ids, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def all_of(self, attribute: str) -> list[str]:
        return [value for _, found in self.tags if (value := found.get(attribute)) is not None]


def test_sentences_commands_pictures_and_data_are_there() -> None:
    read = Reading(made("loop", "cache"))
    for name in ("loop", "cache"):
        assert f"Title of {name} <b>" in read.words
        assert f"nextok lab {name} -p 'a & b'" in read.words
        assert {f"{name}.json", f"{name}-speed.png", f"#{name}"} <= set(read.all_of("href"))
    assert read.words.count("Two < three.") == 4  # said, and in the data
    assert [tag for tag, _ in read.tags].count("svg") == 2
    assert "m.Q4_1 · nextok 1.2.3" in read.words
    assert read.all_of("aria-label") == ["Speed & <more>"] * 2


def test_nothing_is_fetched_and_no_script_runs() -> None:
    read = Reading(made("loop"))
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in read.tags}
    assert read.all_of("src") == []
    assert [one for one in read.all_of("href") if "://" in one or one.startswith("//")] == []
    style = made("loop")
    assert "@import" not in style and "url(http" not in style
    assert "prefers-color-scheme:dark" in style


def test_the_parts_of_two_pictures_have_names_of_their_own() -> None:
    text = made("loop", "cache")
    ids = Reading(text).all_of("id")
    assert len(ids) == len(set(ids)) > 10
    for reference in Reading(text).all_of("xlink:href"):
        assert reference.removeprefix("#") in ids


def test_what_was_cut_short_says_so() -> None:
    assert "Cut short" in Reading(made("loop", complete=False)).words
    assert "Cut short" not in Reading(made("loop")).words


def test_what_failed_is_named_with_its_reason() -> None:
    read = Reading(page([], version="1", failures={"lengths": "no <answers>"}))
    assert "Failed: no <answers>" in read.words
    assert read.all_of("href") == ["#lengths"] and read.all_of("id") == ["lengths"]


def test_json_holds_everything_but_the_charts() -> None:
    found = as_object(findings("loop"))
    assert list(found) == [
        "experiment",
        "title",
        "command",
        "model",
        "sentences",
        *findings("loop").data,
    ]
    assert json.loads(as_text(found)) == json.loads(json.dumps(found))


def test_sentences_that_quote_times_stand_among_the_times() -> None:
    found = as_object(replace(findings("cache"), timed=True))
    assert "sentences" not in found
    assert found["times"] == {"sentences": ["One.", "Two < three."], "s": 1.5}
    assert "Two < three." in Reading(made("cache")).words


@pytest.mark.parametrize(
    "value",
    [{}, [], {"a": []}, [[]], 0.1, "é\n\"", None, True, {"k": {"deep": [1, [2, {"x": "y" * 200}]]}},
     list(range(300)), [0.125] * 100, ["w" * 150, "v"], {"n" * 120: [1, 2]}],
)  # fmt: skip
def test_json_laid_out_for_people_is_the_same_json(value: object) -> None:
    assert json.loads(as_text(value)) == value


def test_numbers_stand_side_by_side() -> None:
    lines = as_text({"numbers": list(range(60)), "name": "x"}).splitlines()
    assert lines[0] == "{" and lines[-1] == "}"
    assert len(lines) < 9 and max(map(len, lines)) <= 101


def test_numbers_that_are_none_are_null() -> None:
    found = Findings(
        experiment="x", title="", model="", sentences=(),
        data={"bad": [float("nan"), float("inf"), 1.0], "deep": {"worse": (float("-inf"),)}},
    )  # fmt: skip
    assert {key: as_object(found)[key] for key in found.data} == {
        "bad": [None, None, 1.0],
        "deep": {"worse": [None]},
    }
