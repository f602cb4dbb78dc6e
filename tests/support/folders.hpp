#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace sotto::testing {

/// An empty folder of one test's own, gone with everything in it at the end.
class scratch_folder {
public:
    explicit scratch_folder(const std::string& name)
        : path_(std::filesystem::temp_directory_path() /
                ("sotto_" + name + "_" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace sotto::testing
