"""A hundred audit files from strangers that want to write, read, connect, run code or exhaust: each is one message.

Nothing outside their folder is read or changed, and no message holds what a file elsewhere says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairtrial
from fairtrial import InputError

SECRET = "the-secret-of-another-file"
DATA = "g,d,p\n" + "a,1,1\na,0,1\nb,1,1\nb,0,1\n" * 30
HEAD = '[data]\nsource = "rows.csv"\ndecision = "d"\ngroups = ["g"]\n'
ASK = '[measure]\nmetric = "selection_rate"\n'
WATCH = '[watch]\nmetric = "selection_rate"\nperiod = "p"\n'
OUTSIDE = [
    "../outside/secret.csv", "../outside/*.csv", "./../outside/secret.csv", "sub/../../outside/secret.csv",
    "/etc/passwd", "/etc/*", "~/.ssh/id_rsa", "~root/.bashrc", "/proc/self/environ", "/dev/zero", "/dev/stdin",
    "link.csv", "links/secret.csv", "links/*.csv", "link*.csv", ".env", ".git/config", "circle.csv",
    "rows.csv/../../x.csv",    "file:///etc/passwd", "https://example.org/x.csv", "s3://bucket/x.csv", "tcp://10.0.0.1:1",
    "pipe.csv", "notes.md", "key", "..", "../../../../../../etc/hostname",
]  # fmt: skip
WRITTEN = [
    "../home/.bashrc", "../outside/secret.csv", "/tmp/x.json", "~/x.json", "~/.bashrc", "links/new.json", "link.csv",
    ".git/hooks/pre-commit", ".hidden.json", "audit.toml", "rows.csv", "package.json", "notes.md", "link.json",
    "/dev/stdout", "/dev/null", "sub/../../x.json", "Makefile", "new.sh", "../outside/new.json",
]  # fmt: skip
ADDRESSES = [
    "tcp://10.0.0.1:8786", "tls://10.0.0.1:8786", "inproc://x", "ucx://10.0.0.1", "ws://10.0.0.1", "10.0.0.1:8786",
    "DASK",
]  # fmt: skip
SPARK = [
    'table = "prod.people"',
    'sql = "SELECT 1"',
    "sql = \"INSERT OVERWRITE DIRECTORY '/x' SELECT 1\"",
    'source = "s3://b/x"',
]
WORK = [
    ("scan", 'metric = "selection_rate"\npermutations = 9000000'),
    ("scan", 'metric = "selection_rate"\npermutations = 1000001'),
    ("measure", 'metric = "selection_rate"\ndepth = 30'), ("measure", 'metric = "selection_rate"\ndepth = 5'),
    ("flag", 'metric = "selection_rate"\ndepth = 1000000'), ("run", "jobs = 1024"),
]  # fmt: skip


def specs() -> dict[str, str]:
    """Every hostile file by what it wants."""
    found = {f"reads {name}": HEAD.replace("rows.csv", name) + ASK for name in OUTSIDE}
    found |= {f"writes its state to {name}": f'{HEAD}{WATCH}state = "{name}"\n' for name in WRITTEN}
    alert = f'{HEAD}{WATCH}state = "state.jsonl"\nalert_file = '
    found |= {f"writes its alert to {name}": f'{alert}"{name}"\n' for name in WRITTEN}
    found |= {f"connects to {name}": f'{HEAD}{ASK}[run]\nparallel = "{name}"\n' for name in ADDRESSES}
    spark = '[data]\nengine = "spark"\ndecision = "d"\ngroups = ["g"]\n'
    found |= {f"asks Spark for {where}": f"{spark}{where}\n{ASK}" for where in SPARK}
    found |= {
        f"exhausts by {table}: {keys[-20:]}": f"{HEAD}{ASK if table == 'run' else ''}[{table}]\n{keys}\n"
        for table, keys in WORK
    }
    found["exhausts by questions"] = HEAD + "[[measure]]\nmetric = 'selection_rate'\n" * 101
    found["exhausts by attributes"] = HEAD.replace('"g"', ",".join(f'"g{i}"' for i in range(101))) + ASK
    found |= {f"runs {name}": f"{HEAD}[{table}]\n{name}\n" for table, name in CODE}
    return found


CODE = [
    ('run', 'trust = true'),
    ('measure', 'metric = "selection_rate"\ntrust = true'),
    ('measure', 'metric = "__import__"'),
    ('measure', 'metric = { name = "x", value = "os.system" }'),
    ('run', 'progress = "print"'),
    ('run', 'cancel = "exit"'),
    ('run', 'out = "../x"'),
    ('run', 'data = "../x"'),
    ('data.environment', 'HOME = "x"'),
    ('measure', 'metric = "selection_rate"\nby = "g; COPY (SELECT 1) TO \'x\'"'),
    ('include', 'file = "/etc/passwd"'),
    ('run', 'plugin = "os"'),
    ('measure', 'metric = "read_csv(\'/etc/passwd\')"'),
]  # fmt: skip
SPECS = specs()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, with links out of it, beside what is none of its business."""
    home, outside, inside = (tmp_path / name for name in ("home", "outside", "inside"))
    for made in (home, outside, inside, inside / "sub", inside / ".git"):
        made.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / ".bashrc").write_text(SECRET)
    (outside / "secret.csv").write_text(f"{SECRET},d,p\na,1,1\n")
    for name in (".env", ".git/config", "notes.md", "key", "package.json", "Makefile"):
        (inside / name).write_text(SECRET)
    (inside / "rows.csv").write_text(DATA)
    (inside / "link.csv").symlink_to(outside / "secret.csv")
    (inside / "link.json").symlink_to(outside / "secret.csv")
    (inside / "links").symlink_to(outside)
    (inside / "circle.csv").symlink_to(inside / "circle.csv")
    os.mkfifo(inside / "pipe.csv")
    return inside


def state_of(place: Path) -> dict[str, bytes]:
    """Every plain file below, with what it holds."""
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_there_are_a_hundred() -> None:
    assert len(SPECS) >= 100


@pytest.mark.parametrize("name", SPECS)
def test_a_hostile_spec_is_one_message_and_touches_nothing(name: str, folder: Path) -> None:
    (folder / "audit.toml").write_text(SPECS[name])
    before = state_of(folder.parent)
    with pytest.raises(InputError) as refused:
        fairtrial.run(folder / "audit.toml", out=folder / "report")
    assert SECRET not in str(refused.value)
    assert state_of(folder.parent) == before


@pytest.mark.parametrize(
    "asked", ['[explain]\nmetric = "selection_rate"\nmodel = "model.pkl"\n',
              '[improve]\nmetric = "selection_rate"\ncandidates = ["model.pkl"]\n'],
)  # fmt: skip
def test_a_model_in_a_file_is_not_loaded(asked: str, folder: Path) -> None:
    (folder / "model.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    (folder / "audit.toml").write_text(HEAD + asked)
    before = state_of(folder.parent)
    trial = fairtrial.run(folder / "audit.toml")
    assert not trial.complete
    assert trial.answers[0].error
    assert state_of(folder.parent) == before


def test_all_that_it_asks_for_is_listed_once_with_what_to_say(folder: Path) -> None:
    text = (
        HEAD.replace("rows.csv", "/etc/passwd")
        + WATCH
        + 'state = "../x.jsonl"\n[run]\nparallel = "tcp://1.2.3.4:1"\n'
    )
    (folder / "audit.toml").write_text(text)
    with pytest.raises(InputError) as refused:
        fairtrial.run(folder / "audit.toml")
    told = str(refused.value)
    assert told.count("trust=True") == 1
    assert [part in told for part in ("line 2, [data] source", "[watch] state", "[run] parallel")] == [
        True
    ] * 3


@pytest.mark.parametrize("link", ["report", "report/results.json", "report/tables", "report/.lock"])
def test_output_does_not_follow_a_link(link: str, folder: Path) -> None:
    (folder / "audit.toml").write_text(HEAD + ASK)
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(folder.parent / "outside")
    before = state_of(folder.parent)
    with pytest.raises(InputError, match="is a link"):
        fairtrial.run(folder / "audit.toml", out=folder / "report")
    assert state_of(folder.parent) == before


def test_settings_that_numba_would_follow_are_refused(folder: Path) -> None:
    (folder / "audit.toml").write_text(HEAD + ASK)
    (folder / ".numba_config.yaml").write_text("cache_dir: sub\n")
    with pytest.raises(InputError, match="numba_config"):
        fairtrial.run(folder / "audit.toml")


def test_a_file_one_trusts_may_do_so(folder: Path) -> None:
    (folder.parent / "outside" / "rows.csv").write_text(DATA)
    (folder / "audit.toml").write_text(HEAD.replace("rows.csv", "../outside/rows.csv") + ASK)
    with pytest.raises(InputError, match="outside its folder"):
        fairtrial.run(folder / "audit.toml")
    assert fairtrial.run(folder / "audit.toml", trust=True).complete


def test_a_watch_of_ones_own_folder_is_kept(folder: Path) -> None:
    (folder / "audit.toml").write_text(
        f'{HEAD}{WATCH}state = "sub/state.jsonl"\nalert_file = "sub/alert.json"\n'
    )
    for _ in range(2):  # the second time over what the first one wrote
        assert fairtrial.run(folder / "audit.toml").complete
    assert (folder / "sub" / "alert.json").exists()


def test_an_alert_takes_the_place_of_no_other_file(folder: Path) -> None:
    audit = fairtrial.Audit(str(folder / "rows.csv"), decision="d", groups=["g"])
    with pytest.raises(InputError, match="alert_file"):
        fairtrial.watch(
            str(folder / "s.jsonl"), audit, "selection_rate", period="p", alert_file=str(folder / "notes.md")
        )
    assert (folder / "notes.md").read_text() == SECRET


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reads /etc/passwd", "connects to tcp://10.0.0.1:8786"])
def test_the_action_refuses_it_too(name: str, folder: Path) -> None:
    (folder / "audit.toml").write_text(SPECS[name])
    (folder / "pip.py").write_text("raise SystemExit('a stranger runs')")
    before = state_of(folder.parent)
    script = Path(__file__).parents[2] / "scripts" / "action.sh"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "FAIRTRIAL_INSTALL": "none", "PATH": path, "GITHUB_OUTPUT": "/dev/null"}
    done = subprocess.run(["bash", str(script)], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--trust" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert state_of(folder.parent) == before
