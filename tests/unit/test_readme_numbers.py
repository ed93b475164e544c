"""The README's headline numbers are those of the pages that `make validity` and `make bench` write."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("readme_numbers", ROOT / "scripts" / "readme_numbers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_says_what_the_pages_say(script):
    readme, validity, race = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/validity.md", "docs/benchmarks.md")
    )
    assert script.with_numbers(readme, validity, race) == readme, "run scripts/readme_numbers.py"


def test_a_page_without_its_numbers_is_noticed(script):
    with pytest.raises(SystemExit, match="do not say"):
        script.numbers("nothing", "nothing")
