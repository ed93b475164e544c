"""A finished trial: answers, the correction over all of them, the verdict, and the forms it is saved in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.counting import probable_rows
from fairtrial._audit.files import split_sheet
from fairtrial._errors import GateClosed, check_choice
from fairtrial._inference.multiplicity import Dependence
from fairtrial._method.declaration import read_result
from fairtrial._results.claims import Claim
from fairtrial._results.column import Verdict, escape
from fairtrial._results.masking import hidden_values, mask_entry, mask_groups, mask_result
from fairtrial._results.result import Result
from fairtrial._results.text import left_out_texts
from fairtrial._trial.family import (
    FamilyEntry,
    conclude,
    correct,
    corrected_claims,
    count_tests,
    difference_alone,
    favourable_of,
)
from fairtrial._trial.ledger import LedgerLine, make_ledger, rebuilt
from fairtrial._trial.naming import Naming
from fairtrial._trial.publishing.scrubbing import scrub
from fairtrial._trial.results_file import SCHEMA
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.two_facts import question_words, section_words

Status = Literal["done", "failed", "stopped"]
GATES = ("violated", "undetermined")  # verdicts that a gate may refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one section."""

    section: Section
    status: Status
    result: Result | None = None
    error: str = ""
    unexpected: str = field(default="", repr=False)
    seconds: float = 0.0
    kept: bool = False


class Trial:
    """All answers of one audit.

    Parameters
    ----------
    spec : Spec
        What was asked, of which data, and how.
    answers : tuple of Answer
        What became of each section.
    data : dict
        Facts about the data: where they came from, who is in them, what is missing.
    notes : tuple of str
        What a reader must know of the questions.
    versions : dict
        Of the package and of what its numbers depend on.
    run : dict
        When, where and how long it ran.
    dependence : Dependence or None
        How the tests depend on each other, where they are corrected by max-T.

    Examples
    --------
    >>> import fairtrial
    >>> fairtrial.run({"data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
    ...                "measure": {"metric": "selection_rate"}})
    Trial(violated: 1 of 1 questions answered)
    """

    def __init__(
        self,
        *,
        spec: Spec,
        answers: tuple[Answer, ...],
        data: Mapping[str, Any],
        notes: tuple[str, ...],
        versions: Mapping[str, str],
        run: Mapping[str, Any],
        dependence: Dependence | None = None,
        unpublished: tuple[str, ...] = (),
    ) -> None:
        self.spec = spec
        self.answers = answers
        self.data = dict(data)
        self.notes = notes
        self.versions = dict(versions)
        self.run = dict(run)
        self.dependence = dependence
        self.unpublished = unpublished

    @property
    def seed(self) -> int:
        """What draws of chance depend on."""
        return self.spec.run.seed

    @cached_property
    def results(self) -> dict[str, Result]:
        """The result of each section that was answered, by the section's id."""
        return {answer.section.id: answer.result for answer in self.answers if answer.result is not None}

    @cached_property
    def family(self) -> tuple[FamilyEntry, ...]:
        """Every primary p-value of the trial, corrected together, strongest first."""
        naming, alpha = Naming.of(self.data, self.spec.content), self.spec.run.alpha
        return tuple(correct([*self.results.items()], alpha, self.dependence, self.seed, naming))

    @cached_property
    def ledger(self) -> tuple[LedgerLine, ...]:
        """Every distinct comparison once, with all that may be shown of it."""
        return tuple(self._ledger(self.shown, self._masked_family))

    def _ledger(self, results: Mapping[str, Result], family: Sequence[Mapping[str, Any]]) -> list[LedgerLine]:
        naming = Naming.of(self.data, self.spec.content)
        return make_ledger([*results.items()], family, naming, self.spec.run.alpha)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict after correction over the whole trial."""
        return self._verdict([entry.to_dict() for entry in self.family], self.results)

    @cached_property
    def _sections(self) -> list[dict[str, Any]]:
        """The answers as they may be passed on: numbers about fewer than `suppress_below` people are masked."""
        return [_section(answer, self.spec.report.suppress_below) for answer in self.answers]

    @cached_property
    def shown(self) -> dict[str, Result]:
        """The results as every view shows them, without numbers about fewer than `suppress_below` people."""
        return {one["id"]: read_result(one["result"]) for one in self._sections if one["result"] is not None}

    @cached_property
    def shown_verdict(self) -> Verdict:
        """The verdict in words that every view may say."""
        return self._verdict(self._masked_family, self.shown)

    def _verdict(self, family: Sequence[Mapping[str, Any]], results: Mapping[str, Result]) -> Verdict:
        unanswered = sum(answer.status != "done" for answer in self.answers)
        entries = [FamilyEntry(**entry) for entry in family]
        alone = difference_alone([answer.section.to_dict() for answer in self.answers])
        return conclude(self._ledger(results, family), entries, [*results.items()], unanswered, alone)

    def _correction(self) -> dict[str, Any]:
        known = {} if self.dependence is None else {"known": int(self.dependence.tests.size)}
        run = self.spec.run
        tests = len(self.family) if self.dependence is not None else count_tests(self._masked_family)
        return {"method": run.correction, "alpha": run.alpha, "tests": tests, **known}

    def _publication(self) -> dict[str, Any]:
        """Whether it was made for strangers, and what was left out for that."""
        left = {"not_published": list(self.unpublished)} if self.unpublished else {}
        return {"publish": self.spec.run.publish, **left}

    @cached_property
    def _masked_family(self) -> list[dict[str, Any]]:
        """The family without what the sections' own tables do not show."""
        below = self.spec.report.suppress_below
        hidden = {
            section["id"]: hidden_values(self.results[section["id"]], section["result"])
            for section in self._sections
            if section["result"] is not None
        }
        return [mask_entry(entry.to_dict(), below, hidden[entry.section]) for entry in self.family]

    def claims(self) -> list[Claim]:
        """What the trial claims: a finding that the correction over the whole trial does not bear out is none."""
        borne_out = {
            (entry.section, entry.metric, entry.subject) for entry in self.family if entry.significant
        }
        return [
            claim
            for section, result in self.results.items()
            for claim in corrected_claims(section, result, borne_out)
        ]

    @property
    def left_out(self) -> list[str]:
        """Metrics that more than 1% of the rows were left out of, and what these lack."""
        texts = [text for result in self.shown.values() for text in left_out_texts(result)]
        return list(dict.fromkeys(f"{text[:1].upper()}{text[1:]}" for text in texts))

    @property
    def complete(self) -> bool:
        """Whether every question was answered."""
        return all(answer.status == "done" for answer in self.answers)

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped before its last question."""
        return any(answer.status == "stopped" for answer in self.answers)

    def check(self, fail_on: str | Sequence[str] = ("violated",)) -> None:
        """Raise when the trial did not end as it must, as `fairtrial run --fail-on` leaves with a code of its own.

        Parameters
        ----------
        fail_on : str or list
            Verdicts that must not pass: "violated", "undetermined". A trial that is not complete never passes.

        Raises
        ------
        GateClosed
            With the verdict, or with what was not answered.
        """
        conditions = [fail_on] if isinstance(fail_on, str) else list(fail_on)
        for condition in conditions:
            check_choice("check", "fail_on", condition, GATES)
        open_ones = [
            f"{answer.section.id}: {answer.error}" for answer in self.answers if answer.status != "done"
        ]
        if open_ones:
            raise GateClosed("not every question was answered: " + "; ".join(open_ones))
        if self.verdict.code in conditions:
            raise GateClosed(self.shown_verdict.text)

    def to_dict(self) -> dict[str, Any]:
        """What results.json holds; numbers about fewer than `suppress_below` people are masked."""
        verdict = self.shown_verdict
        content = {
            "schema": SCHEMA,
            "report": {**asdict(self.spec.report), **self._publication()},
            "preset": self.spec.preset,
            "status": "complete" if self.complete else "incomplete",
            "verdict": {"code": verdict.code, "text": verdict.text},
            "correction": self._correction(),
            "family": self._masked_family,
            "ledger": [],
            "sections": self._sections,
            "notes": list(self.notes),
            "data": _published(self.data, self.spec.report.suppress_below),
            "seed": self.seed,
            "versions": self.versions,
            "spec": {"name": self.spec.name, "text": self.spec.text, "content": self.spec.content},
            "run": self.run,
        }
        plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False, default=str))
        plain = scrub(plain) if self.spec.run.publish else plain
        return {**plain, "ledger": [line.to_dict() for line in rebuilt(plain)]}

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained HTML file, and return its path."""
        from fairtrial._report import write_report

        return write_report(self.to_dict(), path)

    def certificate(self, path: str | os.PathLike[str]) -> Path:
        """Write a one-page certificate and return its path; refused with the reason unless all of it is certified."""
        from fairtrial._report.certificate import write_certificate

        return write_certificate(self.to_dict(), path)

    def to_markdown(self) -> str:
        """The verdict, the findings and a line per question as Markdown, for a pull request."""
        from fairtrial._report import summary_markdown

        return summary_markdown(self.to_dict())

    def model_card(self, *, model: str | None = None) -> str:
        """A model card's section on fairness, as the model hubs read it; `model` names the model."""
        from fairtrial._report import card_markdown

        return card_markdown(self.to_dict(), model=model)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write results.json, report.html, summary.md, tables and charts into `folder`."""
        from fairtrial._report import write_all

        return write_all(self.to_dict(), folder)

    def summary(self) -> str:
        """The verdict and one line per question, as text."""
        lines = [self.shown_verdict.text, *(f"{text}." for text in self.left_out), ""]
        return "\n".join([*lines, *(f"{self._title(one)}  {self._answered(one)}" for one in self.answers)])

    def _answered(self, answer: Answer) -> str:
        """What a section found, or why it found nothing."""
        result = self.shown.get(answer.section.id)
        return answer.error if result is None else section_words(answer.section.id, result, self.ledger)

    def _title(self, answer: Answer) -> str:
        favourable = favourable_of(self.spec.content)
        result = self.shown.get(answer.section.id)
        return question_words(answer.section.title, answer.section.method, result, favourable)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """The verdict and a line per question, for a notebook: no script, nothing fetched, texts from data escaped."""
        rows = "".join(
            f"<tr><td>{escape(self._title(answer))}</td><td>{escape(self._answered(answer))}</td></tr>"
            for answer in self.answers
        )
        left_out = "".join(f"<p>{escape(text)}.</p>" for text in self.left_out)
        head = "<thead><tr><th scope='col'>question</th><th scope='col'>answer</th></tr></thead>"
        return f"<p><b>{escape(self.shown_verdict.text)}</b></p>{left_out}<table>{head}<tbody>{rows}</tbody></table>"

    def __repr__(self) -> str:
        return f"Trial({self.verdict.code}: {len(self.results)} of {len(self.answers)} questions answered)"


def _published(data: Mapping[str, Any], below: int) -> dict[str, Any]:
    """Facts about the data without counts of few people; missing values of a group are one of its sizes."""
    missing = [
        {**item, "missing": None if 0 < item["missing"] < below else item["missing"]}
        for item in data["missing"]
    ]
    return {**data, "groups": mask_groups(data["groups"], below), "missing": missing}


def _section(answer: Answer, below: int) -> dict[str, Any]:
    return {
        **answer.section.to_dict(),
        "status": answer.status,
        "error": answer.error,
        "result": mask_result(answer.result, below) if answer.result is not None else None,
    }


# -- What the report says about the data: where they came from, who is in them, what is missing.
_CHUNK = 1 << 20


def data_facts(spec: Spec, audit: Audit, in_memory: bool) -> dict[str, Any]:
    """Source, digests, sizes, roles, people per group and missing values."""
    missing, total = count_missing(audit)
    roles = ("outcome", "decision", "score", "threshold", "weight", "unit", "pair", "count", "total")
    return {
        "source": "in memory" if in_memory else spec.data.name,
        "sha256": None if in_memory or spec.data.engine == "spark" else source_digest(spec),
        "digest": audit.digest(),
        "rows": total,
        "columns": len(audit.source.columns),
        "roles": {name: getattr(audit, name) for name in roles if getattr(audit, name) is not None},
        "features": list(audit.features),
        "missing_rule": audit.missing,
        "missing": missing,
        "groups": {name: group_sizes(audit, name) for name in audit.groups},
    }


def group_sizes(audit: Audit, attribute: str) -> list[dict[str, Any]]:
    """How many people each level of an attribute has; about how many where it is known with a probability."""
    if attribute in audit.probable:
        _, weights, _ = probable_rows("Audit", audit, attribute)
        people = zip(audit.levels(attribute), weights.sum(axis=0), strict=True)
        return [{"label": label, "n": round(float(n))} for label, n in people]
    cells = audit.cells((attribute,))
    labels = cells.labels[attribute]
    return [
        {"label": labels[int(code)], "n": int(n)} for (code,), n in zip(cells.codes, cells.rows, strict=True)
    ]


def count_missing(audit: Audit) -> tuple[list[dict[str, Any]], int]:
    """Missing values of every column the audit uses, and the number of rows."""
    used = audit.roles.declared
    counts = audit.count_missing(used)
    return [{"column": name, "missing": counts[name]} for name in used], audit.count_rows()


def source_digest(spec: Spec) -> str:
    """SHA-256 over the content of the data files, so that a reader can check to have the same."""
    content = hashlib.sha256()
    for path in _files(spec):
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                content.update(chunk)
    return content.hexdigest()


def _files(spec: Spec) -> list[Path]:
    if spec.data.dataset is not None:
        from importlib.resources import files

        return [Path(str(files("fairtrial.datasets").joinpath(f"{spec.data.dataset}.parquet")))]
    source = split_sheet(spec.source)[0]
    return (
        [Path(source)]
        if Path(source).exists()
        else [Path(path) for path in sorted(glob(source, recursive=True))]
    )
