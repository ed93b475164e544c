"""What a beginner gets wrong is answered in the words of the command line."""

from __future__ import annotations

import pytest

import fairtrial
from fairtrial.cli.wording import QUESTIONS, in_options

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


def test_other_questions_name_options_too(run, data):
    code, _, err = run("transport", data, "--by", "race")
    assert (code, err) == (
        2,
        "transport: the criterion needs the decision: name its column with --decision\n",
    )
    assert in_options("list the groups to compare, by=[{…}, {…}]").endswith("compare, --group once for each")


def test_only_arguments_are_reworded():
    assert set(QUESTIONS) <= set(fairtrial.cli.COMMANDS)
    for text in (
        "'tolerance' must be a number or low,high, got 'five'",
        "there is no file 'a=b.csv'",
        "x=1 and y=2",
    ):
        assert in_options(text) == text
