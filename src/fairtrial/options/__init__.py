"""Options are declared once, in the signature of the function that takes them."""

from fairtrial.options.declared import (
    Argument,
    arguments_of,
    bind,
    checked,
    faults_of,
    plain,
    recorded,
)
from fairtrial.options.option import Option
from fairtrial.options.texts import (
    compared,
    cuts,
    group,
    named_number,
    number_list,
    number_or_text,
    numbers,
    target,
)

__all__ = [
    "Argument",
    "Option",
    "arguments_of",
    "bind",
    "checked",
    "compared",
    "cuts",
    "faults_of",
    "group",
    "named_number",
    "number_list",
    "number_or_text",
    "numbers",
    "plain",
    "recorded",
    "target",
]
