"""Launcher for a checkout: `python cli.py check` is `lightning-sym check`."""

import sys

try:
    from lightning_cli.main import main
except ModuleNotFoundError as missing:
    print(
        f"error: {missing.name} must be installed: run `make check` once, then .venv/bin/python cli.py ({missing})",
        file=sys.stderr,
    )
    sys.exit(2)

if __name__ == "__main__":
    main()
