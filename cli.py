"""Launcher for a checkout: `python cli.py check` is `lightning-sym check`."""

from lightning_cli.main import main

if __name__ == "__main__":
    main()
