"""A sealed report folder: what its seal proves, and what is noticed of a folder that is not as it was."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import LETTER, SEAL, SIGNATURE, seal, verify

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
SPEC = {
    "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}


def made_key(folder: Path, name: str) -> Path:
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A sealed report, the key, and the file of allowed signers."""
    place = tmp_path_factory.mktemp("sealed")
    trial = fairtrial.run(SPEC)
    content = trial.to_dict()
    report = place / "report"
    report.mkdir()
    (report / "results.json").write_text(json.dumps(content))
    (report / "summary.md").write_text(trial.to_markdown())
    key = made_key(place, "anna")
    signers = place / "signers"
    signers.write_text(f"anna@example.org {(place / 'anna.pub').read_text()}")
    seal(report, key)
    return report, key, signers


@pytest.fixture
def folder(made: tuple[Path, Path, Path], tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made[0], tmp_path / "copy"))


def test_an_untouched_folder_is_proved(made: tuple[Path, Path, Path], folder: Path) -> None:
    found = verify(folder, signers=made[2])
    assert found.holds, str(found)
    assert "signed by anna@example.org" in str(found)
    assert "All 2 files" in str(found)
    assert "does not prove" in str(found)
    told = json.loads((folder / SEAL).read_text())
    assert told["about"]["data_sha256"] == fairtrial.run(SPEC).data["sha256"]
    assert "ssh-keygen -Y verify" in (folder / LETTER).read_text()


def test_without_known_signers_it_says_that_nobody_is_known(folder: Path) -> None:
    found = verify(folder)
    assert found.holds
    assert "cannot be told without" in str(found)


CHANGES = {
    "a file was edited": (
        lambda place: (place / "summary.md").write_text("fine"),
        "Changed since: summary.md",
    ),
    "a file is gone": (lambda place: (place / "summary.md").unlink(), "Missing: summary.md"),
    "a file came": (lambda place: (place / "more.csv").touch(), "Not part of what was sealed: more.csv"),
    "a link came": (lambda place: (place / "l").symlink_to("/etc/passwd"), "Not part of what was sealed: l"),
    "the list was edited": (
        lambda place: (place / SEAL).write_text((place / SEAL).read_text().replace("violated", "certified")),
        "changed after it was signed",
    ),
    "no signature": (lambda place: (place / SIGNATURE).unlink(), "no signature"),
    "another signature": (lambda place: (place / SIGNATURE).write_text("x"), "changed after it was signed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_not_as_it_was_is_named(name: str, folder: Path) -> None:
    change, text = CHANGES[name]
    change(folder)
    found = verify(folder)
    assert not found.holds
    assert text in str(found)


def test_somebody_elses_key_is_not_a_known_signers(
    made: tuple[Path, Path, Path], folder: Path, tmp_path: Path
) -> None:
    seal(folder, made_key(tmp_path, "eve"))
    assert verify(folder).holds  # signed, by whomever
    found = verify(folder, signers=made[2])
    assert not found.holds
    assert "not that of any of the allowed signers" in str(found)
    assert not verify(folder, signers=made[2], signer="anna@example.org").holds


def test_the_data_can_be_compared(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data = Path(fairtrial.datasets.__file__).parent / "ricci.parquet"
    assert verify(made[0], data=data).holds
    other = tmp_path / "other.csv"
    other.touch()
    assert "not the file that was audited" in str(verify(made[0], data=other))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, '{"schema": "fairtrial/seal/1"}',
             '{"schema": "fairtrial/seal/1", "about": {}, "sealed": "x", "files": {"../x": "' + "0" * 64 + '"}}',
             '{"schema": "fairtrial/seal/1", "about": {}, "sealed": "x", "files": {"x": 1}}'],
)  # fmt: skip
def test_a_foreign_seal_is_one_message(text: str, folder: Path) -> None:
    (folder / SEAL).write_text(text)
    with pytest.raises(InputError, match=r"seal\.json that fairtrial did not write"):
        verify(folder)


def test_what_cannot_be_sealed(folder: Path, tmp_path: Path) -> None:
    key = made_key(tmp_path, "k")
    with pytest.raises(InputError, match="must be the file of an SSH key"):
        seal(folder, tmp_path / "nowhere")
    with pytest.raises(InputError, match="does not sign"):
        seal(folder, folder / "summary.md")
    content = json.loads((folder / "results.json").read_text())
    content["verdict"]["code"] = "certified"
    (folder / "results.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="contradict each other"):
        seal(folder, key)
