"""The template of the page that `explain` writes."""
