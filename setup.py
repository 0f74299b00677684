"""Copies configs/ into an installed package, as kanachan/configs; everything else is in pyproject.toml.

In a checkout and in an editable install kanachan.training.settings reads the folder itself.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_tree("configs", str(Path(self.build_lib, "kanachan", "configs")))


setup(cmdclass={"build_py": BuildWithConfigs})
