"""`python -m lightning_cli` is `lightning-sym`."""

from lightning_cli.main import main

main()
