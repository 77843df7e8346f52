"""The figure of the packages is drawn from imports: packages above what they import, few lines, exceptions apart."""

import itertools

import package_imports
from package_imports import Layout, read_imports


def test_boxes_and_lanes_do_not_overlap():
    layout = Layout(read_imports())
    for row in layout.rows:
        for left, right in itertools.pairwise(row):
            assert layout.x[left] + left.width / 2 < layout.x[right] - right.width / 2
        assert layout.x[row[0]] - row[0].width / 2 >= 0
        assert layout.x[row[-1]] + row[-1].width / 2 <= layout.width


def test_no_import_of_this_project_goes_up_unless_it_is_an_exception():
    read = read_imports()
    assert not {each for each in read.imports if read.goes_up(*each)} - read.exceptions


def test_an_exception_is_dashed_in_the_figure():
    figure = package_imports.figure()
    assert figure.count('class="import exception"') == len(read_imports().exceptions)
    assert "<script" not in figure
    # Markdown ends a block of HTML at an empty line.
    assert "\n\n" not in figure
