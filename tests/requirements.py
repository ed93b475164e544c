"""What some tests need beyond Python packages: found here, or the test skips with the reason.

Where everything can be installed, in CI as root, a skip would hide a missing installation step, so it is a
failure there; `FAIRTRIAL_REQUIRE_ALL=1` asks for the same anywhere.

    python3 tests/requirements.py [chromium] [java] [postgres] [R]

installs what is missing of these, as root on Debian; for Java it prints what pip should install where it is, since
pyspark has 450 MB and is of no use without. It needs nothing but Python: the Makefile calls it on a bare machine.
"""

import collections
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys

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


def find_r():
    """(path, "") of R, or (None, reason)."""
    return shutil.which("Rscript"), "R is not installed (Debian packages: r-base-core, r-cran-jsonlite)"


FINDERS = {"chromium": find_chromium, "java": find_java, "postgres": find_postgres, "R": find_r}
DEBIAN = {
    "chromium": ["chromium"],
    "java": ["default-jre-headless"],
    "postgres": ["postgresql"],
    "R": ["r-base-core", "r-cran-jsonlite"],
}


def install(names):
    """Missing programs as Debian packages, which only root may install; without them their tests skip."""
    missing = [name for name in names if FINDERS[name]()[0] is None]
    packages = [package for name in missing for package in DEBIAN[name]]
    if packages and (os.geteuid() != 0 or shutil.which("apt-get") is None):
        say(
            "without root and apt-get {} cannot be installed; their tests will skip".format(
                ", ".join(packages)
            )
        )
    elif packages:
        say("installing the Debian packages {} for the tests (a minute or two)".format(", ".join(packages)))
        quiet = {"env": dict(os.environ, DEBIAN_FRONTEND="noninteractive"), "stdout": subprocess.DEVNULL}
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        subprocess.run(["apt-get", "update", "-qq"], **quiet)
        for package in packages:
            if subprocess.run([*command, package], **quiet).returncode:
                say(f"apt-get could not install {package}; its message is above")


def say(text):
    sys.stderr.write("fairtrial: " + text + "\n")


if __name__ == "__main__":
    install(sys.argv[1:])
    java, why_not = find_java()
    if "java" in sys.argv and java is None:
        say("pyspark is not installed: " + why_not)
    elif "java" in sys.argv:
        sys.stdout.write("-e .[spark-connect]\n")
