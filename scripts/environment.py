"""Make a virtual environment and install into it: `python3 scripts/environment.py FOLDER [--lowest] ARGUMENTS`.

The arguments are those of `pip install`; the Makefile holds them. `--lowest` pins each lower bound in pyproject.toml.
Needs nothing but Python 3.11 with pip; needs no root, no writable HOME, no ensurepip, and never touches the
system's or the user's packages. A stamp inside the environment, keyed on the arguments, pyproject.toml, this file and
the interpreter, makes a second run return at once. Older interpreters must be able to parse this file, so that
they print the message about the version.
"""

import hashlib
import os
import shutil
import subprocess
import sys

MINIMUM = (3, 11)
# The first pip that knows dependency groups.
PIP = "pip>=25.1"
HAS_PIP = "import pip, sys; sys.exit([int(part) for part in pip.__version__.split('.')[:2]] < [25, 1])"


def main(folder, *arguments):
    if sys.version_info < MINIMUM:
        sys.exit(
            "fairtrial needs Python 3.11 or newer, and {} is {}.{}. With a newer one installed, name it: "
            "make PYTHON=python3.12".format(sys.executable, *sys.version_info[:2])
        )
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Relative on purpose: an absolute path with a space in it breaks some tools.
    python = os.path.join(folder, "bin", "python")
    stamp = os.path.join(folder, f"fairtrial-{fingerprint(python, arguments)}.stamp")
    if not arguments or (os.path.exists(stamp) and works(python, "import sys")):
        return
    if "--lowest" in arguments:
        shutil.rmtree(folder, ignore_errors=True)  # what an older bound brought along must not stay
        arguments = [argument for argument in arguments if argument != "--lowest"] + lowest_pins()
    if not works(python, HAS_PIP):
        create(folder, python)
    say(f"installing into {folder} (a few minutes the first time)")
    if pip([python, "-m", "pip"], arguments):
        sys.exit("fairtrial: pip could not install {}; its message is above.".format(" ".join(arguments)))
    with open(stamp, "w") as file:
        file.write("installed\n")


def say(text):
    print("fairtrial: " + text, flush=True)


def lowest_pins():
    """Each direct dependency of the package and of its tests at its lower bound; pip picks the indirect ones."""
    import tomllib  # not at the top: an older interpreter must come as far as the message about its version

    with open("pyproject.toml", "rb") as file:
        content = tomllib.load(file)
    wanted = content["project"]["dependencies"] + content["dependency-groups"]["test"]
    [own] = [requirement for requirement in wanted if requirement.startswith("fairtrial[")]
    for extra in own[len("fairtrial[") : -1].split(","):
        wanted += content["project"]["optional-dependencies"][extra]
    bounds = [requirement.split(">=") for requirement in wanted if requirement != own]
    return ["{}=={}".format(name, bound.split(",")[0]) for name, bound in bounds]


def fingerprint(python, arguments):
    digest = hashlib.sha256()
    for path in ("pyproject.toml", os.path.join("scripts", "environment.py")):
        with open(path, "rb") as file:
            digest.update(file.read())
    # An editable install remembers where the project lies, and an environment its interpreter.
    digest.update(repr((arguments, os.getcwd(), sys.version_info[:3], os.path.realpath(python))).encode())
    return digest.hexdigest()[:16]


def create(folder, python):
    if not works(python, "import sys"):
        if os.path.lexists(folder):
            say(f"{folder} is not usable any more; making it anew")
            shutil.rmtree(folder)
        say("making the virtual environment {} with Python {}.{}.{}".format(folder, *sys.version_info[:3]))
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # Debian splits ensurepip from python3; pip itself can then install into the environment from outside.
    subprocess.run([python, "-m", "ensurepip"], capture_output=True)
    inside = [python, "-m", "pip"]
    if pip(
        inside if works(python, "import pip") else [sys.executable, "-m", "pip", "--python", python], [PIP]
    ):
        sys.exit(
            f"fairtrial: {sys.executable} has neither ensurepip nor a pip that can install {PIP} into {folder}. "
            "Install pip 22.3 or newer for it (Debian: python3-pip or python3-venv) and run make again."
        )


def works(python, code):
    try:
        return subprocess.run([python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def pip(command, arguments):
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
    return subprocess.run([*command, "install", "--quiet", *arguments], env=environment).returncode


if __name__ == "__main__":
    main(*sys.argv[1:])
