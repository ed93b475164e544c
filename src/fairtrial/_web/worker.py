"""One audit in a process of its own: limits first, then `run`, telling how far it is in lines of JSON.

python -m fairtrial._web.worker FOLDER MEMORY
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairtrial._work.memory import limit_memory


def main(folder: str, memory: str) -> None:
    """Run the folder's spec.json and write its report beside it."""
    # before the limit: some releases' linear algebra loops for ever where it gets no memory while it is loaded
    import scipy.special  # noqa: F401

    limit_memory(int(memory))
    os.nice(5)  # the page stays quick

    from fairtrial._errors import FairtrialError
    from fairtrial._trial import Event, run

    place = Path(folder).resolve()
    os.chdir(place)  # where the rows have their own name

    def tell(event: Event) -> None:
        _say("event", **asdict(event))

    content = json.loads((place / "spec.json").read_text(encoding="utf-8"))
    try:
        trial = run(content, out=place / "report", resume=(place / "report").is_dir(), progress=tell)
    except FairtrialError as error:
        _say("failed", text=str(error))
        sys.exit(2)
    except MemoryError:
        _say("failed", text="The audit needs more memory than one may use here.")
        sys.exit(2)
    _say("done", code=trial.verdict.code, text=trial.shown_verdict.text)


def _say(what: str, **facts: Any) -> None:
    sys.stdout.write(json.dumps({"what": what, **facts}, ensure_ascii=True) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
