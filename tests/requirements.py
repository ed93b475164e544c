"""What some tests need beyond Python packages: found here, or the test skips with the reason.

Where everything can be installed, in CI as root, a skip would hide a missing installation step, so it is a
failure there; `FAIRTRIAL_REQUIRE_ALL=1` asks for the same anywhere. Only the standard library at the top:
scripts/environment.py uses the finders before anything is installed.
"""

import collections
import glob
import importlib.util
import os
import re
import shutil
import subprocess

MINIMUM_JAVA = 17
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without these Chromium looks up hosts of its own at every start, which a closed network refuses one by one.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium():
    """(path, "") of a Chromium that starts, or (None, reason)."""
    for name in CHROMIUM_NAMES:
        path = shutil.which(name)
        if path and _output([path, "--version"]):
            return path, ""
    return None, "Chromium is not installed (Debian package: chromium)"


def find_java():
    """(path, "") of Java 17 or newer, or (None, reason)."""
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    version = re.search(r'version "(\d+)', _output([path, "-version"])) if path else None
    if version is None:
        return None, "Java is not installed (Debian package: default-jre-headless)"
    if int(version.group(1)) < MINIMUM_JAVA:
        return None, f"Java {version.group(1)} is older than {MINIMUM_JAVA}, which Spark needs"
    return path, ""


def require_chromium():
    """The path of Chromium, for `playwright.chromium.launch(executable_path=…, args=CHROMIUM_FLAGS)`."""
    return _present(*find_chromium())


def require_java():
    """The path of Java 17 or newer; skips the test when it or pyspark is not there."""
    path = _present(*find_java())
    try:
        import pyspark  # noqa: F401
    except ImportError:
        _present(None, "pyspark is not installed")
    return path


def require_dask():
    """A real cluster of local processes; skips the test when Dask is not there."""
    _require_package("distributed")


def require_ibis():
    _require_package("ibis")


def require_delta():
    _require_package("deltalake")


def _require_package(name):
    if importlib.util.find_spec(name) is None:
        _present(None, f"the package {name} is not installed")


Postgres = collections.namedtuple("Postgres", "initdb pg_ctl user")


def find_postgres():
    """(programs, "") of a PostgreSQL server, or (None, reason); Debian keeps them beside their version."""
    places = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), None]
    for place in places:
        found = [shutil.which(name, path=place) for name in ("initdb", "pg_ctl")]
        if all(found):
            if os.geteuid() != 0:
                return Postgres(*found, None), ""
            if shutil.which("runuser") and _user("postgres"):
                return Postgres(*found, "postgres"), ""
            return None, "PostgreSQL does not run as root, and there is no user postgres to run it as"
    return None, "PostgreSQL is not installed (Debian package: postgresql)"


def _user(name):
    import pwd

    return any(entry.pw_name == name for entry in pwd.getpwall())


def require_postgres():
    """The programs that make and start a server; skips the test when they are not there."""
    return _present(*find_postgres())


def _output(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _present(found, reason):
    import pytest

    if found is not None:
        return found
    if everything_required():
        pytest.fail(reason + ", and here everything must be tested")
    return pytest.skip(reason)


def everything_required():
    in_ci_as_root = os.environ.get("CI") == "true" and os.geteuid() == 0
    return in_ci_as_root or os.environ.get("FAIRTRIAL_REQUIRE_ALL") == "1"
