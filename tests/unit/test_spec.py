"""A spec is read whole: every fault with its place in the file and a cure, names replaced by what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairtrial import InputError
from inside.cli import main
from inside.methods import trial_methods
from inside.trial import KeyLines, describe, load_spec, open_audit, section_keys

GOOD = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]

[metrics.late]
value = "priors_count"
given = { "role.decision" = 1 }

[groups.black_men]
race = "African-American"
sex = "Male"

[[measure]]
metric = ["fpr", "late"]
by = ["race", "black_men"]

[[measure]]
title = "And the rest?"
metric = "ppv"
"""


def written(folder: Path, text: str, name: str = "audit.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def faults_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """What `fairtrial run` says of a spec that it must refuse: exit code 2, and nothing written."""

    def run(path: Path) -> str:
        out = path.parent / "out"
        monkeypatch.setattr("sys.argv", ["fairtrial", "run", str(path), "--out", str(out)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        assert not out.exists()
        said = capsys.readouterr()
        assert said.out == ""
        return said.err

    return run


def test_a_good_spec_is_read_with_its_names_replaced(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, GOOD))
    assert [section.id for section in spec.sections] == ["measure-1", "measure-2"]
    assert spec.sections[0].arguments["metric"] == [
        "fpr",
        {"name": "late", "value": "priors_count", "given": {"role.decision": 1}},
    ]
    assert spec.sections[0].arguments["by"] == ["race", {"black_men": "black_men"}]
    assert spec.names.groups == {"black_men": {"race": "African-American", "sex": "Male"}}
    assert spec.sections[1].title == "And the rest?"
    assert spec.report.suppress_below == 10


def test_a_dict_is_a_spec_too() -> None:
    spec = load_spec({"data": {"dataset": "ricci", "decision": "passed", "groups": "race"}, "measure": {}})
    assert spec.data.groups == ["race"]


def test_all_faults_come_at_once_with_their_lines(tmp_path: Path, faults_of: Callable[[Path], str]) -> None:
    text = faults_of(
        written(
            tmp_path,
            """\
[data]
source = "people.csv"
outcom = "y"
groups = ["race", "race"]

[measure]
metric = ["fprr"]
dept = 2

[report]
suppress_below = "ten"
""",
        )
    )
    assert text.startswith("audit.toml: 5 faults:")
    for part in (
        "line 3, [data] outcom: unknown key. Did you mean 'outcome'?",
        "line 4, [data] groups: names 'race' twice",
        "line 7, [measure] metric: is unknown: 'fprr'. Did you mean 'fpr'?",
        "line 8, [measure] dept: measure takes no argument 'dept'. Did you mean 'depth'?",
        "line 11, [report] suppress_below: must be a whole number of at least 0, got 'ten'",
    ):
        assert part in text


HEAD = '[data]\ndataset = "compas"\noutcome = "two_year_recid"\ndecision = "is_recid"\ngroups = ["race"]\n'

# text of the spec (the data lines come first where it starts with +) → what the message must hold
BROKEN = {
    "empty": ("", ["[data]: is missing"]),
    "not TOML": ("[data\nsource = 1", ["not valid TOML", "line 1", "Texts need quotes"]),
    "no quotes": ("[data]\nsource = people.csv\n", ["not valid TOML", "line 2"]),
    "key twice": ('[data]\nsource = "a.csv"\nsource = "b.csv"\n', ["not valid TOML", "line 3"]),
    "no question": (HEAD, ["asks no question", "[measure]"]),
    "unknown section": (HEAD + "[mesure]\n", ["line 6", "mesure", "Did you mean 'measure'?"]),
    "unknown preset": ('preset = "hiring"\n' + HEAD, ["line 1, preset", "must be one of", "'employment'"]),
    "no source": ("[data]\ndecision = 'd'\ngroups = ['g']\n[measure]\n", ["line 1, [data]", 'source = "file.csv"']),
    "both sources": (HEAD + "source = 'x.csv'\n[measure]\n", ["needs either source"]),
    "unknown dataset": (HEAD.replace("compas", "compass") + "[measure]\n", ["line 2", "Did you mean 'compas'?"]),
    "a web address": ("[data]\nsource = 'https://x.org/a.csv'\ndecision='d'\ngroups=['g']\n[measure]\n",
                      ["line 2, [data] source", "file of this machine", "download it first"]),
    "no roles": ("[data]\ndataset = 'compas'\ngroups = ['race']\n[measure]\n",
                 ["names no role", "decision, outcome, score"]),
    "no groups": ("[data]\ndataset = 'compas'\ndecision = 'is_recid'\n[measure]\n",
                  ["groups: is missing", "such as groups"]),
    "threshold alone": (HEAD + "threshold = 5\n[measure]\n", ["line 6, [data] threshold", "needs a score"]),
    "text threshold": (HEAD + "score = 'decile_score'\nthreshold = 'high'\n[measure]\n",
                       ["line 7, [data] threshold", "must be a number", "got 'high'"]),
    "wrong type": (HEAD + "[measure]\ndepth = 'two'\n", ["line 7, [measure] depth", "a whole number", "got 'two'"]),
    "seed in a section": (HEAD + "[measure]\nseed = 3\n", ["line 7", "write it under [run]"]),
    "bad alpha": (HEAD + "[measure]\n[run]\nalpha = 5\n", ["line 8, [run] alpha", "between 0 and 0.5", "got 5"]),
    "metric name taken": (HEAD + "[metrics.fpr]\nvalue = 'age'\n[measure]\n", ["[metrics] fpr", "choose another name"]),
    "metric without value": (HEAD + "[metrics.mine]\nlabel = 'x'\n[measure]\n", ["[metrics] mine", "'value'"]),
    "group without values": (HEAD + "[groups.mine]\n[measure]\n", ["[groups] mine", "must name attributes and values"]),
    "section of numbers": (HEAD + "", ["asks no question"]),
    "unknown column": (HEAD.replace('"is_recid"', '"is_recidd"') + "[measure]\n",
                       ["line 4, [data] decision", "unknown column 'is_recidd'", "Did you mean 'is_recid'?"]),
    "unknown column in a section": (HEAD + "[measure]\nby = ['rase']\n",
                                    ["line 7, [measure] by", "unknown column 'rase'", "Did you mean 'race'?"]),
    "unknown level": (HEAD + "[measure]\ntarget = { race = 'Caucasien' }\n",
                      ["line 7, [measure] target", "not in the data", "Did you mean 'Caucasian'?"]),
    "metric without its role": (HEAD.replace('decision = "is_recid"\n', "") + "[measure]\nmetric = 'fpr'\n",
                                ["line 6, [measure] metric", "'fpr' needs the decision", "[data] decision ="]),
    "labels without positive": (HEAD.replace("is_recid", "c_charge_degree") + "[measure]\n",
                                ["line 4, [data] decision", "'F', 'M'", "positive = { decision = "]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_spec_names_place_and_cure(
    name: str, tmp_path: Path, faults_of: Callable[[Path], str]
) -> None:
    text, parts = BROKEN[name]
    message = faults_of(written(tmp_path, text))
    assert message.startswith("audit.toml: ")
    for part in parts:
        assert part in message, message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.toml"]


# content of the data file → what the message must hold
BAD_DATA = {
    "missing file": (None, ["line 2, [data] source", "there is no file", "Did you mean 'peoples.csv'?"]),
    "empty file": ("", ["people.csv"]),
    "only a header": ("d,g\n", ["no rows"]),
    "ragged": ("d,g\n1,a\n0,b,c\n", ["people.csv"]),
    "header twice": ("d,g,g\n1,a,b\n", ["'g'"]),
    "missing decision": ("d,g\n1,a\n,b\n", ["line 3, [data] decision", "missing in 1", 'missing = "drop"']),
    "numbers that are no decision": ("d,g\n3,a\n0,b\n", ["line 3, [data] decision", "other than 0 and 1"]),
    "infinite score": ("d,g,s\n1,a,inf\n0,b,2\n", ["[data] score"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_broken_data_name_their_place_in_the_spec(
    name: str, tmp_path: Path, faults_of: Callable[[Path], str]
) -> None:
    content, parts = BAD_DATA[name]
    source = '[data]\nsource = "people.csv"\ndecision = "d"\ngroups = ["g"]\n'
    if content is None:
        (tmp_path / "peoples.csv").write_text("d,g\n1,a\n")
    else:
        (tmp_path / "people.csv").write_text(content)
    score = 'score = "s"\n' if name == "infinite score" else ""
    message = faults_of(written(tmp_path, source + score + "[measure]\n"))
    assert message.startswith("audit.toml: ")
    for part in parts:
        assert part in message, message


def test_a_file_that_is_no_spec(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file.*Found here: audit\.toml"):
        load_spec(written(tmp_path, GOOD).with_name("missing.toml"))
    with pytest.raises(InputError, match="is a folder"):
        load_spec(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b'title = "\xe9"')
    with pytest.raises(InputError, match="not a UTF-8 text"):
        load_spec(path)


def test_places_of_nested_and_repeated_tables() -> None:
    lines = KeyLines(
        'a = 1\n[b]\nc = [\n  1,\n  2,\n]\nd.e = "x"\n[[f]]\ng = """\nh = 1\n"""\n[[f]]\ng = 2\n'
    )
    assert lines.line(("a",)) == 1
    assert lines.line(("b", "c")) == 3
    assert lines.line(("b", "d", "e")) == 7
    assert lines.line(("f", 0, "g")) == 9
    assert lines.line(("f", 0, "h")) == 8, "a line inside a long text is no key"
    assert lines.line(("f", 1, "g")) == 13
    assert lines.line(("nowhere",)) is None
    assert describe(("f", 1, "g", "h")) == "[[f]] number 2, g.h"


@pytest.mark.parametrize("method", trial_methods())
def test_every_method_can_be_asked_from_a_file(method: str) -> None:
    allowed = section_keys(trial_methods()[method])
    assert not {"audit", "seed", "jobs", "progress"} & set(allowed)
    assert allowed


def test_threshold_median_means_above_the_median(tmp_path: Path) -> None:
    lines = [f"{score},{group}\n" for score, group in zip("1223334", "abababa", strict=True)]
    (tmp_path / "scores.csv").write_text("s,g\n" + "".join(lines))
    data = '[data]\nsource = "scores.csv"\nscore = "s"\nthreshold = "median"\ngroups = "g"\n[measure]\n'
    path = written(tmp_path, data)
    audit = open_audit(load_spec(path))
    assert audit.threshold == 4  # the median is 3, and 3 itself is not above it


def test_a_named_group_is_picked_from_those_compared() -> None:
    """As the demo's explain does: the reference is one of the groups that `by` names."""
    spec = {
        "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"], "features": ["position"]},
        "groups": {"white": {"race": "W"}, "black": {"race": "B"}},
        "explain": {
            "metric": "selection_rate",
            "by": ["black", "white"],
            "target": "white",
            "model": "tree",
        },
        "measure": {"metric": "selection_rate", "by": ["race"], "target": "white"},
    }
    sections = {section.method: section.arguments for section in load_spec(spec).sections}
    assert sections["explain"]["target"] == {"white": "white"}
    assert sections["measure"]["target"] == {"race": "W"}
