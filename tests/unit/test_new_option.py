"""An option is a line in the signature of its method: command line, file, form, docs and results have it from there."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import fairtrial
from inside.methods import declaration
from inside.trial import form_schema, load_results, run

ROOT = Path(__file__).parents[2]
METHOD = ROOT / "src" / "fairtrial" / "_transport" / "method.py"
BEFORE = "    seed: a.Seed = 0,\n"
OPTION = '    patience: Annotated[int, Option("So many people are waited for.", least=1)] = 7,\n'
SAID = "So many people are waited for."


@pytest.fixture
def transport(tmp_path: Path) -> Iterator[Any]:
    """The method with one more option, for the time of a test."""
    source = METHOD.read_text(encoding="utf-8")
    assert source.count(BEFORE) == 1
    path = tmp_path / "patient_transport.py"
    path.write_text(source.replace(BEFORE, OPTION + BEFORE), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("patient_transport", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    kept = dict(declaration.all_methods())
    sys.modules["patient_transport"] = module
    spec.loader.exec_module(module)
    yield module.transport
    del sys.modules["patient_transport"]
    declaration._DECLARED.update(kept)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {
            "race": ["A", "B"] * 60,
            "hired": [1, 0, 1, 1, 0, 0] * 20,
            "mark": [0.9, 0.2, 0.7, 0.6, 0.3, 0.1] * 20,
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_python_the_command_and_its_faults(transport: Any, people: Path, typed: Any) -> None:
    audit = fairtrial.Audit(people, score="mark", threshold=0.5, groups=["race"])
    assert transport(audit, "selection_rate").provenance["arguments"]["patience"] == 7
    assert transport(audit, "selection_rate", patience=3).provenance["arguments"]["patience"] == 3
    assert SAID in " ".join(typed("transport", "--help")[1].replace("│", " ").split())
    words = ["transport", str(people), "--score", "mark", "--threshold", "0.5", "--by", "race"]
    code, out, err = typed(*words, "--metric", "selection_rate", "--patience", "4", "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["provenance"]["arguments"]["patience"] == 4
    fault = typed(*words, "--metric", "selection_rate", "--patience", "0")[2]
    assert "--patience must be a whole number of at least 1, got 0" in fault


def test_the_file_and_the_form(transport: Any, people: Path, tmp_path: Path) -> None:
    data = {"source": str(people), "score": "mark", "threshold": 0.5, "groups": ["race"]}
    asked = {"metric": "selection_rate", "patience": 5}
    run({"data": data, "transport": asked}, out=tmp_path / "out")
    (section,) = load_results(tmp_path / "out")["sections"]
    assert section["result"]["provenance"]["arguments"]["patience"] == 5
    with pytest.raises(fairtrial.InputError, match="patience.*must be a whole number of at least 1"):
        run({"data": data, "transport": asked | {"patience": 0}}, out=tmp_path / "again")
    form = Draft202012Validator(form_schema(declaration.find_method("transport")))
    assert form.is_valid(asked)
    assert not form.is_valid(asked | {"patience": 0})


def test_the_docs(transport: Any) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    from write_parameters import functions, table

    assert f"| `patience` | {SAID} | `7` |" in table(dict(functions())["transport"])
