"""What a beginner gets wrong is answered in the words of the command line."""

from __future__ import annotations

import pytest

from fairtrial import InputError
from inside.cli import Question, questions
from inside.ground import Fault, Named, Set, Use, Words
from inside.methods import find_method

SCORE = ["--outcome", "y", "--score", "s"]
ROLES = [*SCORE, "--threshold", "5", "--positive", "yes"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("beginner") / "people.csv"
    rows = [f"{'AB'[i % 2]},{'FM'[i % 3 % 2]},{['no', 'yes'][i % 5 % 2]},{i % 10},{20000 + 37 * i},{i if i % 9 else ''}"
            for i in range(400)]  # fmt: skip
    path.write_text("\n".join(["race,sex,y,s,income,visits", *rows]) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--by", "race"], "'fpr' needs the decision: name its column with --decision"),
        (["--by", "race", *SCORE], "name its column with --decision, or cut the score with --threshold"),
        (["--by", "race", *SCORE, "--threshold", "5"], "say which counts as 1, e.g. --positive outcome=yes"),
        (["--by", "race,sex", *SCORE], "'race,sex'. Name the columns one by one: 'race', 'sex'."),
        (["--by", "income", *ROLES], "cut it with --bins income=4 (quarters)"),
        (["--by", "visits", *ROLES], "choose --missing drop (or 'category'"),
        (["--by", "race", *ROLES, "--target", "A"], "or a group like race=A, got 'A'"),
    ],
)  # fmt: skip
def test_one_line_that_can_be_typed(run, data, arguments, text):
    code, out, err = run("measure", data, "--metric", "fpr", *arguments)
    assert (code, out) == (2, "")
    assert text in err


def test_a_threshold_nobody_reaches(run, data):
    code, out, err = run(
        "measure", data, "--by", "race", *SCORE, "--positive", "yes", "--threshold", "50", "--metric", "fpr"
    )
    assert (code, err) == (0, "")
    assert "- Every decision is 0: threshold 50 is above the largest score 9." in out


def test_misspelt_commands(run):
    assert run("mesure", "x.csv") == (
        2,
        "",
        "fairtrial: there is no command 'mesure'. Did you mean 'measure'?\n",
    )
    assert run("xyzzy")[2] == "fairtrial: there is no command 'xyzzy'. `fairtrial --help` lists them.\n"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Set("threshold", 0.5, of="Audit"), "--threshold 0.5"),
        (Set("decision", of="Audit"), "--decision"),
        (Set("groups", ["race", "the sex"], of="Audit"), "--by race --by 'the sex'"),
        (Set("bins", {"age": [25, 45]}, of="Audit"), "--bins age=25,45"),
        (Set("positive", {"outcome": "yes, late"}, of="Audit"), "--positive 'outcome=yes, late'"),
        (Set("target", {"race": "A", "sex": ["F", "M"]}), "--target 'race=A,sex=F|M'"),
        (Set("by", [{"race": "A"}, {"race": "B"}]), "--by race=A --by race=B"),
        (Set("tolerance", (-0.02, 0.05)), "--tolerance -0.02,0.05"),
        (Set("direction", None), "--direction none"),
        (Named("confidence_level"), "--confidence-level"),
        (Named("features", of="Audit"), "--feature"),
        (Named("each", of="Metric"), "each= in the Metric"),
        (Use("fairness_test"), "fairness-test"),
    ],
)
def test_settings_as_they_are_typed(part, text):
    assert Words("{}", part).said(Question.of(find_method("certify")).speech) == text


def test_flags_and_what_is_no_option():
    speech = Question.of(questions()["plan"]).speech
    assert Words("{}", Set("target_known", True)).said(speech) == "--target-known"
    assert Words("{}", Set("target_known", False)).said(speech) == "--no-target-known"
    assert Words("{}", Set("missing", "drop", of="Audit")).said(speech) == "missing='drop' in the Audit"
    error = InputError("plan", Fault("progress", "is no option"))
    assert error.said(speech) == "plan: 'progress' is no option"
