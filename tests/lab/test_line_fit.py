"""The line through noisy points, and the area below it."""

from __future__ import annotations

import math

import pytest

from nextok.lab.line_fit import Line, fit_line


def test_points_on_a_line_give_the_line() -> None:
    line = fit_line([1, 2, 3, 10], [5.0, 7.0, 9.0, 23.0])
    assert line == Line(intercept=3.0, slope=2.0)


def test_wild_points_do_not_bend_it() -> None:
    x = list(range(20))
    y = [4.0 + 0.5 * at for at in x]
    y[3], y[11], y[19] = 900.0, -50.0, 400.0
    line = fit_line(x, y)
    assert line is not None
    assert (line.intercept, line.slope) == (4.0, 0.5)


def test_two_points_are_too_few_and_so_is_one_place() -> None:
    assert fit_line([1, 2], [1.0, 2.0]) is None
    assert fit_line([], []) is None
    assert fit_line([1, 1, 1], [1.0, 2.0, 3.0]) is None


def test_many_points_are_thinned_out() -> None:
    x = list(range(5000))
    assert fit_line(x, [1.0 + 2.0 * at for at in x]) == Line(intercept=1.0, slope=2.0)


def test_the_area_and_where_it_is_reached_are_each_others_inverse() -> None:
    line = Line(intercept=2.0, slope=0.5)
    assert line.area(10.0) == 45.0
    assert line.reaches(45.0) == pytest.approx(10.0)
    assert line.reaches(48.0, start=3.0) == pytest.approx(10.0)


def test_a_flat_line_and_one_that_falls() -> None:
    assert Line(intercept=2.0, slope=0.0).reaches(6.0) == 3.0
    assert Line(intercept=2.0, slope=-1.0).reaches(2.0) == pytest.approx(2.0)
    assert Line(intercept=2.0, slope=-1.0).reaches(2.5) == math.inf
    assert Line(intercept=0.0, slope=0.0).reaches(1.0) == math.inf
    assert Line(intercept=1.0, slope=0.0).reaches(1.0, start=2.0) == 0.0
