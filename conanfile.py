import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import can_run, check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.1"


class SottoConan(ConanFile):
    name = "sotto"
    description = "Trains one neural network on many machines over slow networks"
    license = "BSD-3-Clause"
    topics = ("header-only", "machine-learning", "distributed-training", "gradient-compression")
    package_type = "header-library"  # a static library with the option `compiled`
    settings = "os", "arch", "compiler", "build_type"
    # compiled: the package has the static libraries of sotto::compiled, sotto::compiled_models and so on too.
    # launcher: the package has the programs sotto_launch and sotto_teachers too. With either it is one of its platform.
    options = {
        "compiled": [True, False],
        "fPIC": [True, False],
        "models": [True, False],
        "tls": [True, False],
        "mpi": [True, False],
        "launcher": [True, False],
    }
    default_options = {
        "compiled": False,
        "fPIC": True,
        "models": False,
        "tls": False,
        "mpi": False,
        "launcher": False,
    }
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "examples/launcher/*", "tests/*"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "sotto", "version.hpp"))
        self.version = ".".join(re.findall(r"SOTTO_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def configure(self):
        if self.options.compiled:
            self.package_type = "static-library"
        else:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Compiled, the package has the headers too, with all that they include.
        headers = {"transitive_headers": True}
        # xtensor before xsimd: Conan Center's xtensor asks for one exact xsimd, and a range that
        # comes after it takes that version; one that comes before, or a fixed one, is a conflict.
        self.requires("xtensor/[>=0.24.3 <1]", **headers)
        self.requires("xsimd/[>=8.1 <15]", **headers)
        self.requires("boost/[>=1.74 <2]", options={"header_only": True}, **headers)  # builds no Boost
        self.requires("xxhash/[>=0.8 <1]", **headers)
        if self.options.compiled:
            self.requires("nlohmann_json/[>=3.10 <4]", **headers)
        if self.options.models:
            self.requires("openblas/[>=0.3.20 <1]", **headers)
            self.requires("zlib/[>=1.2.11 <2]", **headers)
        if self.options.tls:
            self.requires("openssl/[>=3 <4]", **headers)
        if self.options.mpi:
            self.requires("openmpi/[>=4 <6]", **headers)

    def build_requirements(self):
        self.test_requires("doctest/[>=2.4 <3]")
        if not self.options.compiled:
            self.test_requires("nlohmann_json/[>=3.10 <4]")

    def validate(self):
        check_min_cppstd(self, 20)
        # Clang 14 and 15 compile sotto, but not the xtensor that the range above resolves to.
        minimum = {"gcc": "12", "clang": "16", "apple-clang": "15"}
        needed = minimum.get(str(self.settings.compiler))
        if needed and Version(self.settings.compiler.version) < needed:
            compiler = self.settings.compiler
            raise ConanInvalidConfiguration(f"{self.ref} needs {compiler} >= {needed}")

    @property
    def _runs_tests(self):
        return not self.conf.get("tools.build:skip_test", default=False, check_type=bool)

    _mpi_defines = ["OMPI_SKIP_MPICXX", "MPICH_SKIP_MPICXX"]

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SOTTO_COMPILED"] = bool(self.options.compiled)
        # Two programs alone are compiled sooner than the library.
        toolchain.cache_variables["SOTTO_OWN_COMPILED"] = bool(self.options.compiled) or self._runs_tests
        toolchain.cache_variables["SOTTO_BUILD_LAUNCHER"] = bool(self.options.launcher)
        toolchain.cache_variables["SOTTO_BUILD_TESTS"] = self._runs_tests
        toolchain.cache_variables["SOTTO_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["SOTTO_BUILD_BENCH"] = False
        # test_package is this package's consumer; ours would look for Debian's packages.
        toolchain.cache_variables["SOTTO_TEST_PACKAGE"] = False
        # What happens to be installed must not add to the package.
        toolchain.cache_variables["SOTTO_TORCH"] = False
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_CBLAS"] = not self.options.models
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_OpenSSL"] = not self.options.tls
        # Conan Center's MPI has no names of CMake's: headers need none, and for what is compiled they are given here.
        compiled_mpi = bool(self.options.compiled and self.options.mpi)
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_MPI"] = not compiled_mpi
        dependencies = CMakeDeps(self)
        if compiled_mpi:
            toolchain.cache_variables["MPI_CXX_FOUND"] = True
            for name in self._mpi_defines:
                toolchain.preprocessor_definitions[name] = None
            dependencies.set_property("openmpi", "cmake_file_name", "MPI")
            dependencies.set_property("openmpi", "cmake_target_name", "MPI::MPI_CXX")
            dependencies.set_property("openmpi", "cmake_config_version_compat", "AnyNewerVersion")
        toolchain.generate()
        dependencies.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self._runs_tests or self.options.launcher or self.options.compiled:
            cmake.build()
        if self._runs_tests and can_run(self):
            cmake.test()

    def package(self):
        CMake(self).install()
        licenses = os.path.join(self.package_folder, "licenses")
        copy(self, "LICENSE", src=self.source_folder, dst=licenses)
        # CMakeDeps and PkgConfigDeps write their own.
        rmdir(self, os.path.join(self.package_folder, "share"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_id(self):
        if not self.info.options.launcher and not self.info.options.compiled:
            self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "sotto")
        # Else the whole package's target would take the name of the component below.
        self.cpp_info.set_property("cmake_target_name", "sotto::all")

        base = self.cpp_info.components["base"]
        base.set_property("cmake_target_name", "sotto::sotto")
        base.set_property("pkg_config_name", "sotto")
        base.bindirs = base.libdirs = []
        base.requires = ["xtensor::xtensor", "xsimd::xsimd", "boost::headers", "xxhash::xxhash"]
        if self.settings.os in ("Linux", "FreeBSD"):
            base.system_libs = ["pthread"]

        needs = {
            "models": ["openblas::openblas", "zlib::zlib"],
            "tls": ["openssl::ssl"],
            "mpi": ["openmpi::openmpi"],
        }
        if self.options.compiled:
            self._add_compiled("compiled", "sotto", ["base", "nlohmann_json::nlohmann_json"])
        for name, libraries in needs.items():
            if self.options.get_safe(name):
                part = self.cpp_info.components[name]
                part.set_property("cmake_target_name", f"sotto::{name}")
                part.set_property("pkg_config_name", f"sotto-{name}")
                part.bindirs = part.libdirs = []
                part.requires = ["base", *libraries]
                if self.options.compiled:
                    self._add_compiled(f"compiled_{name}", f"sotto_{name}", ["compiled", name])
        if self.options.get_safe("mpi"):  # its C interface is enough; that for C++ wants a library more
            self.cpp_info.components["mpi"].defines = self._mpi_defines

        if self.options.launcher:
            launcher = self.cpp_info.components["launcher"]
            launcher.includedirs = launcher.libdirs = []
            launcher.bindirs = ["bin"]

    def _add_compiled(self, name, library, requires):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"sotto::{name}")
        component.set_property("pkg_config_name", f"sotto-{name}".replace("_", "-"))
        component.libs = [library]
        component.bindirs = []
        component.defines = ["SOTTO_SEPARATE_COMPILATION"]
        component.requires = requires
