"""Sealed report folders: a signed list of every file in one, and what that list proves.

The list, seal.json, names each file with its SHA-256 and says of which data and with which versions the numbers were
made. ssh-keygen signs it with a key that its user has, in OpenSSH's own form, so that it can be checked for as long
as there is an OpenSSH, with or without fairtrial.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from fairtrial._errors import Fault, InputError, MissingExtra
from fairtrial._results.result import versions
from fairtrial._trial.rederived import contradictions
from fairtrial._trial.results_file import load_results
from fairtrial._work.kept_files import write_whole

SEAL, SIGNATURE, LETTER = "seal.json", "seal.json.sig", "seal.txt"
SCHEMA, NAMESPACE = "fairtrial/seal/1", "fairtrial"
NOT_SEALED = frozenset({SEAL, SIGNATURE, LETTER, ".lock"})
MOST_BYTES = 20_000_000  # of a seal
MOST_LISTED = 10
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a seal was found to prove: each line is true of the folder as it is now."""

    proved: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found against it."""
        return not self.faults

    def __str__(self) -> str:
        lines = [*(f"no   {text}" for text in self.faults), *(f"yes  {text}" for text in self.proved)]
        head = "The seal holds." if self.holds else "The seal does not hold."
        return "\n".join([head, *lines, "", *NOT_PROVED])


NOT_PROVED = (
    "What a seal does not prove: that the data are true, that the right questions were asked, or when it was made;",
    "the date is the signer's word.",
)


def seal(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Sign the report folder with an SSH key, and return the path of the seal."""
    place = Path(folder)
    content = load_results(place)
    wrong = contradictions(content)
    if wrong:
        required = f"holds numbers that contradict each other: {wrong[0]}"
        raise InputError("seal", Fault("folder", required, cure="run the audit again"))
    if not Path(key).is_file():
        raise InputError("seal", Fault("key", "must be the file of an SSH key", got=str(key)))
    told = {
        "schema": SCHEMA,
        "sealed": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": _about(content),
        "sealed_with": dict(versions()),
        "files": {name: _digest(place / name) for name in _names(place)},
    }
    text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    signature = _ssh_keygen(["-Y", "sign", "-f", str(key), "-n", NAMESPACE], text.encode())
    if signature.returncode:
        required = f"does not sign: {_last_line(signature.stderr)}"
        raise InputError("seal", Fault("key", required, got=str(key), cure="name the file of a private key"))
    write_whole(place / SEAL, text)
    write_whole(place / SIGNATURE, signature.stdout)
    write_whole(place / LETTER, _letter(told))
    return place / SEAL


def verify(
    folder: str | os.PathLike[str],
    *,
    signers: str | os.PathLike[str] | None = None,
    signer: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> Verification:
    """What the folder's seal proves of it, and of the data file where one is given."""
    place = Path(folder)
    text, told = _read(place)
    proved, faults = _signed(place, text, signers, signer)
    changed = list(_changes(place, told["files"]))
    faults += changed
    proved += [] if changed else [f"All {len(told['files'])} files are as they were when they were sealed."]
    proved.append(f"The signer says that this was on {str(told['sealed'])[:25]}.")
    if not changed:
        wrong = contradictions(load_results(place))
        faults += [f"The results contradict each other: {text}." for text in wrong[:MOST_LISTED]]
        proved += [] if wrong else ["Gaps, limits, corrections and verdict follow from each other."]
    if data is not None:
        same = _digest(Path(data)) == told["about"].get("data_sha256")
        (proved if same else faults).append(
            f"{Path(data).name} is {'the' if same else 'not the'} file that was audited."
        )
    return Verification(proved=tuple(proved), faults=tuple(faults))


def _about(content: Mapping[str, Any]) -> dict[str, Any]:
    """Of which data, from which questions and with which versions the numbers were made."""
    spec = json.dumps(content["spec"], sort_keys=True, ensure_ascii=False)
    return {
        "title": content["report"]["title"],
        "verdict": content["verdict"]["code"],
        "data_sha256": content["data"]["sha256"],
        "data_digest": content["data"]["digest"],
        "spec_sha256": hashlib.sha256(spec.encode()).hexdigest(),
        "seed": content["seed"],
        "versions": content["versions"],
        "for_strangers": bool(content["report"].get("publish")),
    }


def _names(place: Path) -> list[str]:
    """Every file of the folder that a seal covers; a link could point anywhere, so there may be none."""
    found = []
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_symlink():
            raise InputError(
                "seal", Fault("folder", f"holds the link {name!r}", cure="put the file in its place")
            )
        if name.startswith(".unfinished"):
            cure = "finish the run with `fairtrial run --resume`"
            raise InputError("seal", Fault("folder", "holds a run that is not finished", cure=cure))
        if path.is_file() and name not in NOT_SEALED:
            found.append(name)
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        required = f"cannot be read: {error.strerror}"
        raise InputError(
            "seal", Fault("", required, subject=repr(path.name), cure="make it readable")
        ) from None


def _read(place: Path) -> tuple[bytes, dict[str, Any]]:
    """The seal's text and what it says, whoever wrote it."""
    try:
        if (place / SEAL).stat().st_size > MOST_BYTES:
            raise ValueError("too large")
        text = (place / SEAL).read_bytes()
        told = json.loads(text)
        whole = (
            told["schema"] == SCHEMA and isinstance(told["about"], dict) and isinstance(told["sealed"], str)
        )
        files = told["files"]
        if not whole or not all(_plain(name) and HASH.fullmatch(digest) for name, digest in files.items()):
            raise ValueError("not of this form")
    except OSError:
        cure = "`fairtrial seal` makes one"
        raise InputError("verify", Fault("folder", f"holds no {SEAL}", got=str(place), cure=cure)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        cure = "bring back the folder as it was sealed"
        raise InputError(
            "verify", Fault("folder", f"holds a {SEAL} that fairtrial did not write", cure=cure)
        ) from None
    return text, told


def _plain(name: str) -> bool:
    """Whether it names a file inside the folder."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not PurePosixPath(name).is_absolute() and ".." not in parts and "\\" not in name


def _signed(
    place: Path, text: bytes, signers: str | os.PathLike[str] | None, signer: str | None
) -> tuple[list[str], list[str]]:
    """What the signature proves: whose it is only where the keys of known signers are given."""
    signature = place / SIGNATURE
    if not signature.is_file():
        return [], [f"There is no signature ({SIGNATURE}) beside the list of files."]
    checked = _ssh_keygen(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)], text)
    if checked.returncode:
        return [], ["The list of files was changed after it was signed, or the signature is none."]
    key = re.search(rb"SHA256:[A-Za-z0-9+/]+", checked.stdout)
    name = key.group().decode() if key else "unknown"
    if signers is None:
        text_of = f"The list of files is signed with the key {name}. Compare it with the signer's own;"
        return [f"{text_of} whose it is cannot be told without --signers."], []
    if not Path(signers).is_file():
        raise InputError("verify", Fault("signers", "must be a file of allowed signers", got=str(signers)))
    who = signer or _principal(signers, signature)
    names = ["-Y", "verify", "-f", str(signers), "-I", who, "-n", NAMESPACE, "-s", str(signature)]
    if not who or _ssh_keygen(names, text).returncode:
        return [], [f"The key {name} is not that of {signer or 'any of the allowed signers'}."]
    return [f"The list of files is signed by {who}, with the key {name}."], []


def _principal(signers: str | os.PathLike[str], signature: Path) -> str:
    """Who among the allowed signers has the signature's key; empty where nobody has."""
    found = _ssh_keygen(["-Y", "find-principals", "-f", str(signers), "-s", str(signature)], b"")
    return found.stdout.decode(errors="replace").split("\n")[0].strip() if not found.returncode else ""


def _changes(place: Path, files: Mapping[str, str]) -> Iterator[str]:
    """Files that are not as they were, are gone, or have come since."""
    there = {
        path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file() or path.is_symlink()
    }
    there -= NOT_SEALED
    changed = [name for name in files if name in there and not _same(place / name, files[name])]
    for what, names in (
        ("changed since", changed),
        ("missing", sorted(set(files) - there)),
        ("not part of what was sealed", sorted(there - set(files))),
    ):
        if names:
            more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
            yield f"{what[:1].upper()}{what[1:]}: {', '.join(names[:MOST_LISTED])}{more}."


def _same(path: Path, digest: str) -> bool:
    return not path.is_symlink() and _digest(path) == digest


def _ssh_keygen(arguments: Sequence[str], text: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise MissingExtra("seal: needs ssh-keygen, which comes with OpenSSH 8.2 or later.")
    return subprocess.run([program, *arguments], input=text, capture_output=True, check=False)


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "ssh-keygen gave no reason"


def _letter(told: Mapping[str, Any]) -> str:
    """How to check the folder in many years, with nothing but OpenSSH and sha256sum."""
    about = told["about"]
    return (
        f"{about['title']}\nSealed on {told['sealed']} with fairtrial {about['versions'].get('fairtrial', '')}.\n\n"
        "seal.json lists every file of this folder with its SHA-256, and is signed.\n"
        "With fairtrial:     fairtrial verify FOLDER --signers ALLOWED_SIGNERS\n"
        "Without fairtrial:  ssh-keygen -Y verify -f ALLOWED_SIGNERS -I NAME -n fairtrial "
        "-s seal.json.sig < seal.json\n"
        "                    and compare the hashes in seal.json with those that sha256sum prints.\n\n"
        + "\n".join(NOT_PROVED)
        + "\n"
    )
