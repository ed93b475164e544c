"""What a release rests on: every package that fairtrial's core needs, its version and its licence, as CycloneDX.

    python scripts/sbom.py FILE.cdx.json

Read from what is installed. Stops with the names of packages whose licence is not among those that may be used.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = "fairtrial"
NAME = re.compile(r"[A-Za-z0-9._-]+")
# Licences that let anyone use, change and pass on what they cover; MPL covers its own files only.
ALLOWED = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|Zlib|Unlicense|CC0|HPND)\b",
    re.IGNORECASE,
)
# MIT in the text of the licence alone
BY_TEXT = {
    "MIT": "Permission is hereby granted, free of charge",
    "BSD": "Redistribution and use in source and binary",
}


def plain(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str = ROOT) -> list[str]:
    """The package and all that it needs without an extra, of what is installed here."""
    found: dict[str, None] = {}
    waiting = [plain(name)]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        try:
            required = metadata.requires(one) or []
        except metadata.PackageNotFoundError:
            continue  # needed on other systems only
        found[one] = None
        waiting += [
            plain(NAME.match(line).group()) for line in required if not re.search(r"extra\s*==", line)
        ]  # type: ignore[union-attr]
    return sorted(found)


def licence(name: str) -> str:
    """A package's licence: its expression, else its classifiers, else what it says itself."""
    about = metadata.metadata(name)
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    classed = [
        text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or [] if "License ::" in text
    ]
    classed = [text for text in classed if text != "OSI Approved"]
    if classed:
        return " OR ".join(classed)
    said = str(about.get("License") or "").strip()
    if said and len(said) < 100:
        return said
    for path in metadata.files(name) or []:
        if "licen" in path.name.lower() or "copying" in path.name.lower():
            text = " ".join(path.locate().read_text(encoding="utf-8", errors="replace").split())
            return next((known for known, words in BY_TEXT.items() if words in text), "unknown")
    return next((known for known, words in BY_TEXT.items() if words in " ".join(said.split())), "unknown")


def bill() -> dict[str, Any]:
    """The bill of materials."""
    parts = [
        {
            "type": "library",
            "name": name,
            "version": metadata.version(name),
            "purl": f"pkg:pypi/{name}@{metadata.version(name)}",
            "licenses": [{"license": {"name": licence(name)}}],
        }
        for name in needed()
        if name != ROOT
    ]
    about = {"component": {"type": "library", "name": ROOT, "version": metadata.version(ROOT)}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": about,
        "components": parts,
    }


def refused(content: dict[str, Any]) -> list[str]:
    """Packages under a licence that is not among the allowed ones."""
    told = [(part["name"], part["licenses"][0]["license"]["name"]) for part in content["components"]]
    return [f"{name}: {text}" for name, text in told if not allowed(text)]


def allowed(text: str) -> bool:
    """Whether every licence that applies is an allowed one; of alternatives one is enough.

    >>> allowed("MIT OR GPL-3.0"), allowed("MIT AND GPL-3.0"), allowed("unknown")
    (True, False, False)
    """
    parts = [re.split(r"\bOR\b", part) for part in re.split(r"\bAND\b", text)]
    return all(any(ALLOWED.search(one) for one in part) for part in parts)


def main(target: str) -> None:
    """Write it, unless a licence is refused."""
    content = bill()
    faults = refused(content)
    if faults:
        sys.exit("fairtrial: licences that may not be used: " + "; ".join(faults))
    Path(target).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"fairtrial: {len(content['components'])} packages are listed in {target}")


if __name__ == "__main__":
    main(sys.argv[1])
