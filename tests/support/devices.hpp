#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include <filesystem>

namespace sotto::testing {

/// A device like /dev/null of a test's own, so that a fault cannot replace the system's; a link to
/// that where this process may not make devices, and so may not replace one either.
inline void make_null_device(const std::filesystem::path& path) {
    if (::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0)
        std::filesystem::create_symlink("/dev/null", path);
}

}  // namespace sotto::testing
