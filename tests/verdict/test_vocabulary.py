"""The closed list is the design's, word for word."""

import json

from analyzer.verdict.vocabulary import Cause
from tests.paths import SHARED


def test_the_causes_are_those_of_the_vocabulary() -> None:
    published = json.loads((SHARED / "design" / "vocabulary.json").read_text("utf-8"))
    assert {cause.value for cause in Cause} == set(published["causes"])
