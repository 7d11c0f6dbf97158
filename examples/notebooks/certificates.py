# Certificates: believe it without the program. Open with: marimo edit examples/notebooks/certificates.py

import marimo

app = marimo.App(app_title="Certificates")


@app.cell
def _(mo):
    mo.md(
        """
        # Certificates

        An answer of the program need not be believed. It writes down what proves it, and a checker that shares no
        code with it, small enough to be read in one sitting, redoes the arithmetic.
        """
    )
    return


@app.cell
def _():
    import tempfile
    import textwrap
    from pathlib import Path

    import marimo as mo

    from lightning_sym import Architecture, certified_dimension, dimension_certificate, write_certificate
    from proofs_check.checker import verify

    return (
        Architecture,
        Path,
        certified_dimension,
        dimension_certificate,
        mo,
        tempfile,
        textwrap,
        verify,
        write_certificate,
    )


@app.cell
def _(Architecture, certified_dimension):
    found = certified_dimension(Architecture(widths=(3, 3, 3), attention_ranks=(2, 2), tokens=2))
    found
    return (found,)


@app.cell
def _(mo):
    mo.md(
        """
        What proves it: integer weights, rows and columns of a minor that is not zero modulo a prime, and an upper
        bound.
        """
    )
    return


@app.cell
def _(dimension_certificate, found):
    document = dimension_certificate(found)
    ", ".join(document)
    return (document,)


@app.cell
def _(Path, document, mo, tempfile, textwrap, verify, write_certificate):
    def checked(certificate):
        """Return what the checker says of a certificate: what it proves, or why it is rejected."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "certificate.json"
            write_certificate(file, certificate)
            try:
                said = "proved: " + verify.check(verify.read(str(file)))
            except verify.Rejected as error:
                said = f"rejected: {error}"
        return mo.plain_text(textwrap.fill(said, 100))

    checked(document)
    return (checked,)


@app.cell
def _(mo):
    mo.md("Claim more than is proved, and it is rejected, with the reason:")
    return


@app.cell
def _(checked, document):
    checked({**document, "lower": 24, "upper": 24})
    return


if __name__ == "__main__":
    app.run()
