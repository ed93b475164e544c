"""The tables that can be asked for: what each shows, which options it takes, whose practice it is, who builds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairtrial.methods.tabulate import amounts, decisions, impact, record
from fairtrial.methods.tabulate.asked import Asked, Table


@dataclass(frozen=True, slots=True)
class FieldTable:
    """One table of one field."""

    question: str
    build: Callable[[Asked], Table]
    takes: frozenset[str]  # options besides those that every table takes
    law: tuple[str, ...] = ()  # texts with their dates


US_EMPLOYMENT = (
    "Uniform Guidelines on Employee Selection Procedures, 29 CFR Part 1607 (43 FR 38290, 25 August 1978), § 1607.4(D), "
    "and the agencies' Questions and Answers (44 FR 11996, 2 March 1979), no. 21: where the selection of one different "
    "person would give the group the higher rate, the numbers are too small. The EEOC's agenda lists the rescission of "
    "its part of the guidelines (RIN 3046-AB43, seen in July 2026). Courts speak of two or three standard deviations "
    "(Castaneda v. Partida, 430 U.S. 482, 1977; Hazelwood School District v. United States, 433 U.S. 299, 1977).",
    "Exact p-values are Fisher's; the adjusted ones are corrected (Holm) over the groups of this table. Comparing with "
    "the group that happens to have the highest rate would make any p-value too small: the target is everyone else, or "
    "a group that was named.",
    "The shortfall is how many more of the group would have been selected had selection not depended on it, given how "
    "many were selected in each stratum. These numbers describe; they do not say that a law was or was not broken.",
)
CREDIT = (
    "Adverse impact ratio and odds ratio of the unfavourable decision, measures of fair-lending practice that New "
    "York's Insurance Circular Letter No. 7 (11 July 2024) names too, without a threshold. Under the Equal Credit "
    "Opportunity Act (15 U.S.C. § 1691, 1974) Regulation B (12 CFR Part 1002) no longer knows a test of effects: the "
    "rule published on 22 April 2026 took it out from 21 July 2026; laws of states may. Nothing here says that a law "
    "was or was not broken.",
)
AMOUNTS = (
    "Standardized mean differences are in the denominator that is stated; a basis point is a hundredth of a percentage "
    "point. Differences are in the unit of the column.",
)
RECORD = (
    "The record follows what Article 10(2)(f) and (g) of Regulation (EU) 2024/1689 (AI Act, 13 June 2024) asks of high-"
    "risk systems (those of Annex III from 2 December 2027, by the amendment adopted on 29 June 2026): examine "
    "possible biases, and take measures to detect, prevent and mitigate them. It states what was found; it is no "
    "conformity assessment and does not say that a law is complied with.",
    "Within a threshold is certified as certify does it; beyond it is a test, corrected (Holm) over the record.",
)

TABLES: dict[str, FieldTable] = {
    "local-law-144": FieldTable(
        "What are the selection rates and impact ratios (New York City Local Law 144)?",
        impact.build,
        frozenset({"smallest", "tool", "audit_date", "distribution_date", "data_source", "justification"}),
    ),
    "adverse-impact": FieldTable(
        "How far are selections from chance, and how many people is that (US employment practice)?",
        decisions.build_employment,
        frozenset({"target", "within"}),
        US_EMPLOYMENT,
    ),
    "credit-decisions": FieldTable(
        "How do approvals and denials compare (lending and insurance practice)?",
        decisions.build_credit,
        frozenset({"target", "within"}),
        CREDIT,
    ),
    "score-and-price": FieldTable(
        "How do mean scores and prices compare (lending and insurance practice)?",
        amounts.build_means,
        frozenset({"target", "within", "price", "price_unit", "denominator"}),
        AMOUNTS,
    ),
    "score-quantiles": FieldTable(
        "How do shares among the best scores compare, cut-off by cut-off?",
        amounts.build_quantiles,
        frozenset({"target", "quantiles"}),
    ),
    "bias-record": FieldTable(
        "Who could be harmed, and what do the numbers say?",
        record.build,
        frozenset({"target", "records"}),
        RECORD,
    ),
}
