"""Help as plain text in sections: it fits 80 columns, no name is cut, and it needs no colours."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Sectioned(TyperCommand):
    """A command whose options stand under the headings they were declared with."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for part in self.get_params(ctx):
            record = part.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if part.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(part, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def plain(command: Any, name: str) -> Any:
    """The command under its name, without frames and colours; what is typed after an option has one word for it."""
    command.name, command.rich_markup_mode = name, None
    for part in command.params:
        if part.param_type_name == "option" and part.metavar is None and not part.is_flag:
            part.metavar = "TEXT"
    return command
