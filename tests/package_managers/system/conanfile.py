import glob

from conan import ConanFile

# What this machine has in place of Conan Center's packages, with their names and targets: headers
# and libraries where compilers look for them anyway.
LIBRARIES = {"openblas": ["openblas"], "zlib": ["z"], "openssl": ["ssl", "crypto"], "openmpi": ["mpi"]}
CMAKE = {
    "xtl": ("xtl", "xtl"),
    "xsimd": ("xsimd", "xsimd"),
    "xtensor": ("xtensor", "xtensor"),
    "xxhash": ("xxHash", "xxHash::xxhash"),
    "openblas": ("OpenBLAS", "OpenBLAS::OpenBLAS"),
    "zlib": ("ZLIB", "ZLIB::ZLIB"),
    "doctest": ("doctest", "doctest::doctest"),
    "nlohmann_json": ("nlohmann_json", "nlohmann_json::nlohmann_json"),
    "openmpi": ("openmpi", "openmpi::openmpi"),
}


class System(ConanFile):
    description = "A library that is installed on this machine"
    package_type = "unknown"
    options = {"header_only": [True, False]}
    default_options = {"header_only": True}

    def requirements(self):
        if self.name == "xtensor":
            self.requires("xtl/[>=0.7]")

    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        if self.name == "boost":
            self.cpp_info.set_property("cmake_file_name", "Boost")
            self.cpp_info.components["headers"].set_property("cmake_target_name", "Boost::headers")
            self.cpp_info.components["headers"].includedirs = []
        elif self.name == "openssl":
            self.cpp_info.set_property("cmake_file_name", "OpenSSL")
            self.cpp_info.set_property("cmake_find_mode", "both")
            for part, target, needs in (("crypto", "Crypto", []), ("ssl", "SSL", ["crypto"])):
                component = self.cpp_info.components[part]
                component.set_property("cmake_target_name", f"OpenSSL::{target}")
                component.includedirs = component.libdirs = []
                component.system_libs, component.requires = [part], needs
        else:
            file, target = CMAKE[self.name]
            self.cpp_info.set_property("cmake_file_name", file)
            self.cpp_info.set_property("cmake_target_name", target)
            if self.name == "zlib":
                self.cpp_info.set_property("cmake_find_mode", "both")
            self.cpp_info.system_libs = LIBRARIES.get(self.name, [])
            if self.name == "openmpi":  # of these headers compilers are told
                self.cpp_info.includedirs = glob.glob("/usr/lib/*/openmpi/include")
            if self.name == "openblas":
                self.cpp_info.includedirs = glob.glob("/usr/include/*/openblas*/")
            if self.name == "xtensor":
                self.cpp_info.requires = ["xtl::xtl"]
