"""Builds the extension for the stable interface of Python, so that one file serves 3.11 and all that come later."""

from setuptools import Extension, setup

setup(
    packages=[],
    ext_modules=[
        Extension(
            "lightning_sym_kernel",
            ["kernel.c"],
            depends=["elimination.h"],
            extra_compile_args=["-std=c11", "-O3", "-pthread"],
            extra_link_args=["-pthread"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
