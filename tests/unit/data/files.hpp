#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace data_test {

/// A folder of its own for one test, gone afterwards.
class folder {
public:
    folder()
        : path_(std::filesystem::temp_directory_path() /
                ("sotto-data-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    std::filesystem::path write(const std::string& name, sotto::byte_view content) const {
        std::ofstream file(path_ / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(content.data()),
                   static_cast<std::streamsize>(content.size()));
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

/// What `read` was refused with as malformed; empty if it was not.
std::string refusal(const auto& read) {
    try {
        read();
    } catch (const sotto::malformed& why) {
        return why.what();
    }
    return "";
}

}  // namespace data_test
