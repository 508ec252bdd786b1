"""The page's own copies of phases, colours and the vocabulary are in step with where they come from."""

import json
import re

from analyzer.web.serve import STATIC
from collector.phases import DECODE_PARTS, TTFT_PARTS, Phase
from tests.paths import SHARED
from tests.web.recorded_api import ANSWERS


def parts_of(constant: str) -> tuple[str, ...]:
    source = (STATIC / "js" / "phases.js").read_text()
    block = re.search(rf"const {constant} = \[(.*?)\n\];", source, re.DOTALL)
    assert block
    return tuple(re.findall(r"^  \['(\w+)'", block.group(1), re.MULTILINE))


def test_the_page_knows_the_parts_of_ttft_in_pipeline_order() -> None:
    assert parts_of("TTFT") == TTFT_PARTS


def test_the_page_knows_the_parts_of_the_decode_interval() -> None:
    assert parts_of("DECODE") == DECODE_PARTS


def test_every_part_has_a_colour_for_light_and_dark() -> None:
    css = (STATIC / "css" / "colours.css").read_text()
    colours = dict(re.findall(r"--part-(\w+): light-dark\((#\w{6}, #\w{6})\);", css))
    assert set(colours) == {*TTFT_PARTS, *DECODE_PARTS, Phase.DECODE, "unknown"}
    ttft = [colours[part] for part in TTFT_PARTS]
    assert len(set(ttft)) == len(ttft)


def test_the_vocabulary_is_word_for_word_the_designs() -> None:
    source = (STATIC / "js" / "vocabulary.js").read_text()
    vocabulary = json.loads((SHARED / "design" / "vocabulary.json").read_text())
    for name in ("causes", "findings"):
        block = re.search(rf"export const {name.upper()} = (\{{.*?\n\}});", source, re.DOTALL)
        assert block
        assert json.loads(block.group(1)) == vocabulary[name]


def test_the_recorded_answers_name_only_known_parts_and_causes() -> None:
    causes = json.loads((SHARED / "design" / "vocabulary.json").read_text())["causes"]
    for path in ANSWERS.glob("request*.json"):
        answer = json.loads(path.read_text())
        for request in answer.get("requests", [answer]):
            assert request["cause"] in causes
            assert request["exposed"] is None or tuple(request["exposed"]) == TTFT_PARTS
            if request["ttft"] is not None:
                assert abs(sum(request["exposed"].values()) - request["ttft"]) < 1e-9
