"""Make the virtual environment that the Makefile's targets run in.

    python3 scripts/environment.py demo | serve | test | docs | bench | lowest | integrations | release | papers

Needs nothing but Python 3.11 with pip; needs no root, no writable HOME, no ensurepip, and never touches the
system's or the user's packages. A stamp inside the environment, keyed on pyproject.toml, this file and the
interpreter, makes a second run return at once. Older interpreters must be able to parse this file, so that
they print the message about the version.
"""

import hashlib
import os
import shutil
import subprocess
import sys

MINIMUM = (3, 11)
# The environment's folder and what is installed into it. The benchmarks have their own, because some of the
# peers pin old releases; `lowest` adds a pin for each lower bound in pyproject.toml.
STAGES = {
    "demo": (".venv", ["-e", "."]),
    "serve": (".venv", ["-e", ".[web]"]),
    "test": (".venv", ["-e", ".[test,lint]"]),
    "docs": (".venv", ["-e", ".[test,lint,docs]"]),
    "bench": (".venv-bench", ["-e", ".[web]", "pandas", "polars"]),
    # what the papers were made with, beside the package
    "papers": (".venv-papers", ["-e", ".[fair]", "pandas", "xgboost-cpu", "aif360"]),
    "lowest": (".venv-lowest", ["-e", ".[test]"]),
    "release": (".venv-release", [".[test]", "build", "twine", "check-wheel-contents"]),
    "integrations": (
        ".venv-integrations",
        [
            "-e",
            ".[notebook,web]",
            "httpx2",
            "schemathesis",
            "pandas",
            "pytest",
            "pyyaml",
            "mlflow",
            "huggingface_hub",
            "nbclient",
            "ipykernel",
        ],
    ),
}
PEERS = ["fairlearn", "aif360", "aequitas", "statsmodels"]


def say(text):
    print("fairtrial: " + text, flush=True)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in STAGES:
        sys.exit("usage: python3 scripts/environment.py " + "|".join(sorted(STAGES)))
    if sys.version_info < MINIMUM:
        sys.exit(
            "fairtrial needs Python 3.11 or newer, and {} is {}.{}. With a newer one installed, name it: "
            "make PYTHON=python3.12 {}".format(sys.executable, *sys.version_info[:2], sys.argv[1])
        )
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    stage = sys.argv[1]
    folder, packages = STAGES[stage]
    # Relative on purpose: an absolute path with a space in it breaks some tools.
    python = os.path.join(folder, "bin", "python")
    if stage == "lowest" and os.path.isdir(folder) and not os.path.exists(stamp_of(stage, folder, python)):
        shutil.rmtree(folder)  # what an older bound brought along must not stay
    create(folder, python)
    if stage == "test":
        install_debian(wanted_by_tests())
    if stage == "integrations" and shutil.which("Rscript") is None:
        install_debian([("r-base-core", "R"), ("r-cran-jsonlite", "reading results.json in it")])
    for name, step in steps(stage, python, packages):
        stamp = stamp_of(name, folder, python)
        if not os.path.exists(stamp) and step():
            with open(stamp, "w") as file:
                file.write("installed\n")


def steps(stage, python, packages):
    """The named installation steps of a stage; each is repeated on the next run unless it returned True."""

    def install_package():
        say(f"installing the package and what '{stage}' needs (a few minutes the first time)")
        pip(python, packages + lowest_pins() if stage == "lowest" else packages)
        return True

    result = [(stage, install_package)]
    if stage in ("test", "bench"):
        result.append(("spark", lambda: install_spark(python)))
    if stage == "bench":
        result.append(("peers", lambda: install_peers(python)))
    return result


def project():
    import tomllib  # not at the top: an older interpreter must come as far as the message about its version

    with open("pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]


def lowest_pins():
    """Each direct dependency of the package and of its tests at its lower bound; pip picks the indirect ones."""
    extras = project()["optional-dependencies"]
    named = ("dask", "databases", "fair", "export", "web", "test")
    wanted = project()["dependencies"] + [requirement for name in named for requirement in extras[name]]
    bounds = [requirement.split(">=") for requirement in wanted if not requirement.startswith("fairtrial[")]
    return [f"{name}=={bound.split(',')[0]}" for name, bound in bounds]


def stamp_of(name, folder, python):
    return os.path.join(folder, f"fairtrial-{name}-{fingerprint(python)}.stamp")


def fingerprint(python):
    digest = hashlib.sha256()
    for path in ("pyproject.toml", os.path.join("scripts", "environment.py")):
        with open(path, "rb") as file:
            digest.update(file.read())
    # An editable install remembers where the project lies, and an environment its interpreter.
    digest.update(repr((os.getcwd(), sys.version_info[:3], os.path.realpath(python))).encode())
    return digest.hexdigest()[:16]


def create(folder, python):
    if works(python, "import sys"):
        if works(python, "import pip"):
            return
    else:
        if os.path.lexists(folder):
            say(f"{folder} is not usable any more; making it anew")
            shutil.rmtree(folder)
        say("making the virtual environment {} with Python {}.{}.{}".format(folder, *sys.version_info[:3]))
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # Debian splits ensurepip from python3; pip itself can then install into the environment from outside.
    if subprocess.run([python, "-m", "ensurepip", "--default-pip"], capture_output=True).returncode == 0:
        return
    outside = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "pip"], env=pip_environment()
    )
    if outside.returncode != 0:
        sys.exit(
            f"fairtrial: {sys.executable} has neither ensurepip nor a pip that can install into {folder}. "
            "Install pip 22.3 or newer for it (Debian: python3-pip or python3-venv) and run make again."
        )


def works(python, code):
    try:
        return subprocess.run([python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def pip(python, packages, check=True):
    environment = pip_environment()
    command = [python, "-m", "pip", "install", "--quiet", *packages]
    result = subprocess.run(command, env=environment)
    if check and result.returncode != 0:
        sys.exit("fairtrial: pip could not install {}; its message is above.".format(" ".join(packages)))
    return result.returncode == 0


def pip_environment():
    # A user-wide setting must not divert the installation out of the environment.
    environment = dict(os.environ, PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    for name in ("PIP_TARGET", "PIP_PREFIX"):
        environment.pop(name, None)
    cache = os.environ.get("PIP_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache")), "pip"
    )
    while not os.path.exists(cache) and os.path.dirname(cache) != cache:
        cache = os.path.dirname(cache)
    if not os.access(cache, os.W_OK):
        environment["PIP_NO_CACHE_DIR"] = "1"  # with a read-only HOME pip would warn about it every time
    return environment


def wanted_by_tests():
    """Chromium, Java for Spark and PostgreSQL, where they are missing: Debian's package and what it is for."""
    sys.path.insert(0, "tests")
    from requirements import find_chromium, find_java, find_postgres

    wanted = []
    if find_chromium()[0] is None:
        wanted.append(("chromium", "the browser tests"))
    if find_java()[0] is None:
        wanted.append(("default-jre-headless", "the Spark tests"))
    if find_postgres()[0] is None:
        wanted.append(("postgresql", "the test of a real database"))
    return wanted


def install_debian(wanted):
    """Packages that only root may install."""
    if not wanted:
        return
    names = [name for name, _ in wanted]
    purpose = " and ".join(purpose for _, purpose in wanted)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say(
            "without root and apt-get the Debian packages {} cannot be installed; {} will skip".format(
                ", ".join(names), purpose
            )
        )
        return
    say("installing the Debian packages {} for {} (a minute or two)".format(", ".join(names), purpose))
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    quiet = {"env": environment, "stdout": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update", "-qq"], **quiet)
    for name in names:
        if subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", name], **quiet
        ).returncode:
            say(f"apt-get could not install {name}; its message is above")


def install_spark(python):
    sys.path.insert(0, "tests")
    from requirements import find_java

    path, reason = find_java()
    if path is None:
        say("pyspark is not installed: " + reason)
        return False
    say("installing pyspark (450 MB; a minute or two)")
    return pip(python, project()["optional-dependencies"]["spark-connect"], check=False)


def install_peers(python):
    """All together, so that pip finds releases that agree; one by one when it finds none."""
    say("installing the peers {} for the benchmarks".format(", ".join(PEERS)))
    if pip(python, ["-e", ".", *PEERS], check=False):
        return True
    for peer in PEERS:
        if not pip(python, ["-e", ".", peer], check=False):
            say(f"{peer} does not install here; the benchmarks report it as missing")
    return True


if __name__ == "__main__":
    main()
