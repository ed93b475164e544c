"""Write the search index as a script too: a page opened from disk may not fetch a JSON file."""

from pathlib import Path

from mkdocs.plugins import event_priority


@event_priority(-100)  # after the search plugin has written its index
def on_post_build(config, **_):
    """Called by MkDocs when the site is complete."""
    index = Path(config.site_dir, "search", "search_index.json")
    index.with_suffix(".js").write_text(
        f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8"
    )
