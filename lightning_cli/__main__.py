"""`python -m lightning_cli`, and the program `lightning-sym`: Ctrl-C is exit code 130 from the first import to the end.

Nothing is imported before somebody waits for Ctrl-C: imports take most of the time of a short answer.
"""

import gc
import sys


def main() -> None:
    """Import the program and run it; `lightning_cli.main` says which exit code stands for what."""
    try:
        sys.unraisablehook = _raise_later
        gc.set_threshold(100_000)  # what a start makes are modules, which are never garbage
        from lightning_cli.main import main as program

        program()
    except BaseException as error:
        if KeyboardInterrupt not in (type(error), type(error.__cause__)):  # a class that is made hides it in another
            raise
        import os  # while something was imported, or in the last moment

        os.write(2, b"interrupted\n")
        os._exit(130)
    finally:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said: what is interrupted now ends without a word


def _raise_later(lost: "sys.UnraisableHookArgs") -> None:
    """Raise Ctrl-C a moment later where nothing can be raised, as in a callback of the import system."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import signal
    import threading

    try:
        threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
    except KeyboardInterrupt:  # on a busy machine it comes while its thread starts, and here too it would be lost
        _raise_later(lost)


if __name__ == "__main__":
    main()
