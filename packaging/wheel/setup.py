"""The wheel of the client: the module, and the C library beside it. build-wheel runs it in a folder
that has both."""
import os

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    """It has a library of this platform, which any Python 3 can load."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(
    name="mpsweep-client",
    version=os.environ["MPSWEEP_WHEEL_VERSION"],
    description="What a program calls to be measured by mpsweep in every layout of processes and threads",
    license="BSD-3-Clause",
    license_files=["LICENSE"],
    python_requires=">=3.6",
    packages=["mpsweep"],
    package_data={"mpsweep": ["libmpsweep-client.so.1"]},
    cmdclass={"bdist_wheel": PlatformWheel},
)
