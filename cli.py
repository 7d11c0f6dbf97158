"""Launcher for a checkout: `python cli.py check` is `lightning-sym check`."""

import sys

if __name__ == "__main__":
    try:
        from lightning_cli.__main__ import main

        main()
    except KeyboardInterrupt:  # before `main` has begun
        sys.exit(130)
    except ModuleNotFoundError as missing:
        print(
            f"error: {missing.name} must be installed: run `make check` once, then .venv/bin/python cli.py ({missing})",
            file=sys.stderr,
        )
        sys.exit(2)
