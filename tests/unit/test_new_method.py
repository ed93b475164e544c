"""A method of one module is found everywhere: command line, audit.toml, report, masking, docs and forms."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import fairtrial
from inside.methods import declaration
from inside.trial import form_schema, load_results, run

SOURCE = '''
"""How many are there? A method in one module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option
from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import finish, inline
from fairtrial._results.column import Column, Primary, State, StateKind, Verdict
from fairtrial._results.result import Result

Fewest = Annotated[int, Option("So many people a group must have.", least=1)]
Words_ = Annotated[Literal["short", "long"], Option("How much is said.")]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadcountResult(Result):
    kind: ClassVar[str] = "headcount"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("group", "group", "text"),
        Column("heads", "heads", "people"),
        Column("share", "share", "rate"),
        Column("state", "verdict", "state"),
        Column("state_reason", "reason", "text", shown=False),
    )
    states: ClassVar[tuple[StateKind, ...]] = (StateKind("enough", "good"), StateKind("too few", "bad"))
    verdict_tones = {"counted": "good"}
    people_in_details: ClassVar[frozenset[str]] = frozenset({"heads"})

    def primary(self) -> list[Primary]:
        return [
            Primary("headcount", row["group"], 0.001, row["share"], 0.0, 0.5, "points", "all", row["heads"])
            for row in self.estimates
        ]

    def pictures(self) -> list[Picture]:
        import altair as alt

        heads = [row for row in self.estimates if isinstance(row["heads"], int)]
        bars = alt.Chart(inline(heads)).mark_bar().encode(x="heads:Q", y="group:N")
        words = "One bar per group, as long as it has people."
        return [Picture("heads", "People of each group", words, finish(bars, 300))]


@method(
    question="How many are there?",
    short="Heads",
    help="How many are there? People per group.",
    order=15,
    shows="disparity",
    result=HeadcountResult,
)
def headcount(
    audit: Audit,
    fewest: Fewest,
    *,
    by: a.By = None,
    words: Words_ = "short",
    confidence_level: a.Level = 0.8,
    seed: a.Seed = 0,
    progress: a.Tell = None,
) -> HeadcountResult:
    """Count the people of each group."""
    if fewest > 1000:
        raise InputError("headcount", Fault("fewest", "is too many", cure=Words("try {}", Set("fewest", 10))))
    name = by if isinstance(by, str) else (by or audit.groups)[0]
    cells = audit.cells((name,))
    rows = tuple(
        {
            "group": cells.labels[name][int(code)],
            "heads": int(n),
            "share": float(n / cells.rows.sum()),
            **State("enough" if n >= fewest else "too few", "" if n >= fewest else f"fewer than {fewest}").cells(),
        }
        for (code,), n in zip(cells.codes, cells.rows, strict=True)
    )
    return HeadcountResult(
        question="How many people are in each group?",
        null="",
        verdict=Verdict("counted", f"{len(rows)} groups were counted"),
        estimates=rows,
        details={"confidence_level": confidence_level, "also": [dict(row) for row in rows]},
        provenance=audit.provenance(cells, seed=seed),
    )
'''


@pytest.fixture
def headcount(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "headcount_method.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("headcount_method", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["headcount_method"] = module
    spec.loader.exec_module(module)
    yield module
    del declaration._DECLARED["headcount"], sys.modules["headcount_method"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"race": ["A"] * 40 + ["B"] * 30 + ["C"] * 4, "hired": [1, 0] * 37})
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_command(headcount: ModuleType, people: Path, typed: Any) -> None:
    assert "How many are there? People per group." in typed("--help")[1]
    said = " ".join(typed("headcount", "--help")[1].replace("│", " ").split())
    for part in (
        "So many people a group must have.",
        "a whole number of at least 1",
        "short | long; default: short",
    ):
        assert part in said
    roles = [str(people), "--decision", "hired", "--by", "race"]
    code, out, err = typed("headcount", *roles, "--fewest", "5", "--json", "-")
    assert (code, err) == (0, "")
    assert [row["heads"] for row in json.loads(out)["estimates"]] == [40, 30, 4]
    chart = people.parent / "heads.svg"
    assert typed("headcount", *roles, "--fewest", "5", "--chart", str(chart))[0] == 0
    assert "heads" in chart.read_text(encoding="utf-8")
    for options, text in {
        ("--fewest", "0"): "--fewest must be a whole number of at least 1, got 0",
        (
            "--fewest",
            "5",
            "--words",
            "lon",
        ): "--words must be one of ['short', 'long'], got 'lon'. Did you mean 'long'?",
        ("--fewest", "5000"): "--fewest is too many: try --fewest 10",
    }.items():
        assert typed("headcount", *roles, *options) == (2, "", f"headcount: {text}\n")


def test_the_file(headcount: ModuleType, people: Path, tmp_path: Path, typed: Any) -> None:
    path = tmp_path / "audit.toml"
    data = f'[data]\nsource = "{people.name}"\ndecision = "hired"\ngroups = ["race"]\n'
    path.write_text(data + "[headcount]\nfewest = 0\nwordz = 1\nprogress = 1\nseed = 1\n")
    code, _, err = typed("run", str(path))
    assert code == 2
    for part in (
        "line 6, [headcount] fewest: must be a whole number of at least 1, got 0",
        "line 7, [headcount] wordz: headcount takes no argument 'wordz'. Did you mean 'words'?",
        "line 8, [headcount] progress: is for Python only: it is a function",
        "line 9, [headcount] seed: is set for the whole trial: write it under [run], not in [headcount]",
    ):
        assert part in err
    path.write_text(data + "[headcount]\n")
    assert "[headcount] fewest: is missing: headcount needs it" in typed("run", str(path))[2]
    path.write_text(data + "[headcount]\nfewest = 5000\n")
    code, _, err = typed("run", str(path), "--out", str(tmp_path / "out"))
    assert code == 4
    assert "headcount: 'fewest' is too many: try fewest = 10" in err


def spec_of(people: Path) -> dict[str, Any]:
    data = {"source": str(people), "decision": "hired", "groups": ["race"]}
    return {"data": data, "headcount": {"fewest": 5}}


def test_report_masking_and_levels(headcount: ModuleType, people: Path, tmp_path: Path) -> None:
    trial = run(spec_of(people), out=tmp_path / "out")
    assert trial.verdict.code == "violated", "its tests are in the family"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "How many people are in each group?" in page
    assert "80% interval" in page
    assert "People of each group" in page
    assert "One bar per group, as long as it has people." in page
    assert "95%" not in page.split('<section id="glossary"')[0]
    content = load_results(tmp_path / "out")
    result = content["sections"][0]["result"]
    assert [row["state"] for row in result["estimates"]] == ["enough", "enough", "masked"]
    assert result["estimates"][2]["heads"]["masked"] is True
    assert [row["heads"] for row in result["details"]["also"]] == [40, 30]
    assert {entry["level"] for entry in content["family"]} == {0.8}
    assert [entry["n"] for entry in content["family"]] == [40, 30, None]
    assert isinstance(declaration.read_result(result), headcount.HeadcountResult)


def test_forms_and_docs(headcount: ModuleType) -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    from write_parameters import functions, table

    schema = form_schema(declaration.find_method("headcount"))
    Draft202012Validator.check_schema(schema)
    check = Draft202012Validator(schema)
    assert check.is_valid({"fewest": 3, "words": "long"})
    assert not check.is_valid({"fewest": 0})
    assert not check.is_valid({"words": "long"})
    assert not check.is_valid({"fewest": 3, "words": "lon"})
    assert not check.is_valid({"fewest": 3, "seed": 1}), "it is set for the whole trial"
    assert "| `words` | How much is said. One of `short`; `long`. | `'short'` |" in table(
        dict(functions())["headcount"]
    )


@pytest.fixture
def of_a_paper(tmp_path: Path) -> Iterator[None]:
    """The same method, declared as a paper's own."""
    source = SOURCE.replace(
        'kind: ClassVar[str] = "headcount"', 'kind: ClassVar[str] = "papers.census.headcount"'
    )
    source = source.replace('shows="disparity",', 'shows=None, paper="census",')
    path = tmp_path / "census_method.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("census_method", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["census_method"] = module
    spec.loader.exec_module(module)
    yield
    del declaration._DECLARED["papers.census.headcount"], sys.modules["census_method"]


def test_a_papers_own_method_stands_apart(of_a_paper: None, people: Path, typed: Any) -> None:
    assert "papers.census.headcount" not in declaration.declared_methods()
    code, said, _ = typed("papers", "census", "headcount", str(people), "--by", "race", "--fewest", "5")
    assert code == 0
    assert "3 groups were counted" in said
    code, _, fault = typed("papers", "census", "headcount", str(people), "--by", "race", "--fewest", "2000")
    assert code == 2
    assert "--fewest is too many" in fault
    assert "census" in typed("papers", "--help")[1]
    assert "headcount" in typed("papers", "census", "--help")[1]


@pytest.mark.parametrize("place", ["papers.census", "papers.census.headcount"])
def test_a_papers_section_carries_no_verdict(
    of_a_paper: None, people: Path, tmp_path: Path, place: str
) -> None:
    spec = tmp_path / "audit.toml"
    spec.write_text(
        f'[data]\nsource = "{people.name}"\ndecision = "hired"\ngroups = ["race"]\n\n[{place}]\nfewest = 5\n'
    )
    trial = run(spec, out=tmp_path / "out")
    content = load_results(tmp_path / "out")
    assert [section["id"] for section in content["sections"]] == ["papers_census_headcount"]
    assert content["sections"][0]["status"] == "done"
    assert trial.family == ()
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "How many people are in each group?" in report
    spec.write_text(spec.read_text().replace(place, "papers.cenus"))
    with pytest.raises(fairtrial.InputError, match="Did you mean 'census'"):
        run(spec)


def test_it_is_gone_again() -> None:
    assert "headcount" not in declaration.declared_methods()
    with pytest.raises(fairtrial.InputError, match="there is no method 'headcount'"):
        declaration.find_method("headcount")
