# Recipes of packages, and `make check-packages`, which builds and installs them.
EXTRA_DIST += packaging/version packaging/build-deb packaging/build-wheel packaging/check packaging/Containerfile \
    packaging/debian/control packaging/debian/copyright packaging/debian/rules packaging/debian/source/format \
    packaging/debian/libmpsweep-client1.install packaging/debian/libmpsweep-client-dev.install \
    packaging/debian/mpsweep.install packaging/debian/libmpsweep-client1.lintian-overrides \
    packaging/debian/libmpsweep-client-dev.lintian-overrides packaging/debian/mpsweep.lintian-overrides \
    packaging/spack/package.py packaging/wheel/setup.py

check-packages: all
	$(srcdir)/packaging/check .
.PHONY: check-packages
