"""The model card is one that the hub's own reader takes."""

from __future__ import annotations

from huggingface_hub import ModelCard

from fairtrial._trial import Trial


def test_the_hubs_reader_finds_every_rate(trial: Trial) -> None:
    card = ModelCard(trial.model_card(model="promotion"))
    assert card.data.library_name == "fairtrial"
    assert card.data.model_name == "promotion"
    found = {result.metric_name: result.metric_value for result in card.data.eval_results}
    rates = {row["group"]: row["rate"] for row in trial.results["measure"].estimates}
    assert found["selection_rate, W"] == round(rates["W"], 6)
    assert "selection_rate, B" not in found  # fewer than ten of them passed: masked as in the report
    assert "<b>" not in card.text
    assert trial.verdict.text.split(":")[0] in card.text
