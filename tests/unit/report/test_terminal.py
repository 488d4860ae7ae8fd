"""Has each layout in the table a document, and a function that takes it?"""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from forensics.report.terminal import LAYOUTS


@pytest.mark.parametrize(("document", "place"), LAYOUTS.items(), ids=list(LAYOUTS))
def test_a_layout_takes_a_page_and_the_document_that_it_is_named_for(document: str, place: tuple[str, str]) -> None:
    module, name = place
    page, taken, *wishes = inspect.signature(
        getattr(import_module(f"forensics.report.{module}"), name)
    ).parameters.values()
    assert page.annotation == "Page"
    assert taken.annotation in {document, "Head"}  # Head: what audit and inspection share
    assert all(one.default is not one.empty for one in wishes)
