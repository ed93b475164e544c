"""Four questions about COMPAS in a minute: rates, certificate, flags, and a search for the subgroup nobody named."""

import fairtrial


def main() -> None:
    audit = fairtrial.Audit(
        fairtrial.load("compas"),
        outcome="two_year_recid",
        score="decile_score",
        threshold=5,
        groups=["race", "sex"],
        features=["sex", "age_cat", "c_charge_degree"],
    )
    caucasian = {"race": "Caucasian"}
    answers = [
        fairtrial.measure(audit, "fpr", by="race", target=caucasian),
        fairtrial.certify(audit, "fpr", by="race", target=caucasian, tolerance=0.05),
        fairtrial.flag(audit, "fpr", depth=2, direction="above", tolerance=0.02),
        fairtrial.scan(audit, "fpr", protected={"race": "African-American"}, direction="above"),
    ]
    for answer in answers:
        print(answer.question)
        print("  " + answer.verdict.text)


if __name__ == "__main__":
    main()
