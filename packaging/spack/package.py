from spack.package import *


class Mpsweep(AutotoolsPackage):
    """Benchmark and tuner of CUDA workers: how many processes, threads and streams, over NVIDIA MPS
    or not, and why."""

    # A clone: `spack dev-build mpsweep@main` in it; there is no release with a checksum yet.
    version("main")

    variant("cuda", default=True, description="Native code for GPUs; else PTX, compiled by the driver")
    variant("server", default=True, description="Load on HTTP servers")

    license("BSD-3-Clause")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2.5:")
    depends_on("jansson@2.11:")
    depends_on("inih")
    depends_on("curl@7.85:", when="+server")
    depends_on("cuda", when="+cuda", type="build")
    depends_on("gnuplot", type="run")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        cuda = self.spec["cuda"].prefix if self.spec.satisfies("+cuda") else None
        return ["--with-cuda=%s" % cuda if cuda else "--without-cuda"]
