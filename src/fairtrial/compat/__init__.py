"""Other tools' shapes: `from fairtrial.compat import MetricFrame`."""

from fairtrial.compat.metric_frame import MetricFrame

__all__ = ["MetricFrame"]
