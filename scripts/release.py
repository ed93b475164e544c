"""Build the wheel and the source archive, check both, list what they rest on, and run the fast tests on the wheel.

    python3 scripts/release.py

`make release` makes the environment first. Nothing is uploaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv-release" / "bin" / "python"
FAST = "not slow and not whole and not validity and not browser and not spark"
# What a user misses at once when it is not there.
IN_WHEEL = (
    "fairtrial/datasets/compas.parquet", "fairtrial/_trial/results.schema.json", "fairtrial/py.typed",
    "fairtrial/_report/templates/page.html.j2", "fairtrial/__init__.pyi",
)  # fmt: skip
IN_SDIST = (
    "mkdocs.yml",
    "Makefile",
    "README.md",
    "tests/conftest.py",
    "docs/index.md",
    "scripts/environment.py",
)


def main() -> None:
    """Each step stops the release when it fails."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run("-m", "build", "--outdir", "dist", ".")
    [wheel], [sdist] = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    run("-m", "twine", "check", "--strict", str(wheel), str(sdist))
    run("-m", "check_wheel_contents", str(wheel))
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        [source] = Path(scratch).iterdir()
        shutil.rmtree(source / "src")  # so that only the installed wheel can be found
        run("-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel))
        run("scripts/sbom.py", f"dist/{wheel.name.removesuffix('.whl')}.cdx.json")
        run("-m", "pytest", "-q", "-n", "2", "-m", FAST, "tests", cwd=source)
    print(f"fairtrial: {wheel.name} and {sdist.name} are in dist/")


def check_contents(wheel: Path, sdist: Path) -> None:
    """Stop when a file that users need is not in the archives."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        source = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    lacking = [name for name in IN_WHEEL if name not in inside] + [
        name for name in IN_SDIST if name not in source
    ]
    if lacking:
        sys.exit(f"fairtrial: not in the archives: {', '.join(lacking)}")


def run(*arguments: str, cwd: Path = ROOT) -> None:
    """A Python command of the release's environment."""
    if subprocess.run([str(PYTHON), *arguments], cwd=cwd).returncode:
        sys.exit(f"fairtrial: {' '.join(arguments[:3])} failed; its message is above")


if __name__ == "__main__":
    main()
