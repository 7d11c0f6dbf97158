"""Sources of the live pages, plain files; `lightning_cli.writing.live_pages` puts each page together."""
