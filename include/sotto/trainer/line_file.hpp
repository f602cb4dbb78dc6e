#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sotto::detail {

/// Makes the folder that a file is to be in, and those around it, where they are not there.
inline std::error_code make_folder_of(const std::filesystem::path& file) {
    std::error_code reason;
    const std::filesystem::path folder = file.parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, reason);
    return reason;
}

/// A file that grows by lines, and holds whole ones alone: what a crash or a full disk left of a
/// line is cut off before the next one is written.
///   errors  answers the system's reason, nothing where it worked; the file is then closed, and the
///           next write opens it again
class line_file {
public:
    explicit line_file(std::filesystem::path path) : path_(std::move(path)) {}

    const std::filesystem::path& path() const noexcept { return path_; }

    /// Whether it can be opened for writing. What is in it stays as it is; its folder is made.
    std::error_code try_out() const {
        if (const std::error_code reason = make_folder_of(path_)) return reason;
        return file(std::fopen(path_.c_str(), "ab")) ? std::error_code{} : system_reason();
    }

    std::error_code open_empty() { return open("wb"); }
    std::error_code open_at_end() {
        file_.reset();
        if (const std::error_code reason = cut_to_whole_lines()) return reason;
        return open("ab");
    }

    /// `line` without its end.
    std::error_code write(std::string line) {
        if (!file_)
            if (const std::error_code reason = open_at_end()) return reason;
        line += '\n';
        if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()) return {};
        const std::error_code reason = system_reason();
        file_.reset();
        return reason;
    }

private:
    struct closer {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };
    using file = std::unique_ptr<std::FILE, closer>;

    static std::error_code system_reason() noexcept { return {errno, std::generic_category()}; }

    std::error_code open(const char* how) {
        file_.reset(std::fopen(path_.c_str(), how));
        if (!file_) return system_reason();
        // A line is one call of the system: none waits in a buffer for closing to write it later.
        std::setvbuf(file_.get(), nullptr, _IONBF, 0);
        return {};
    }

    /// A file that is not there yet, or is none (a pipe, a terminal), needs no cut; one that may be
    /// written but not read cannot have one.
    std::error_code cut_to_whole_lines() const {
        std::error_code reason;
        if (!std::filesystem::is_regular_file(path_, reason)) return {};
        const std::uintmax_t size = std::filesystem::file_size(path_, reason);
        if (reason) return reason;
        const file in(std::fopen(path_.c_str(), "rb"));
        if (!in) return {};
        std::vector<char> block(std::min<std::uintmax_t>(size, 1 << 16));
        std::uintmax_t whole = 0;
        for (std::uintmax_t end = size; end > 0 && whole == 0;) {
            const std::size_t length = std::min<std::uintmax_t>(end, block.size());
            end -= length;
            if (std::fseek(in.get(), static_cast<long>(end), SEEK_SET) != 0 ||
                std::fread(block.data(), 1, length, in.get()) != length)
                return std::make_error_code(std::errc::io_error);
            const std::size_t last = std::string_view(block.data(), length).rfind('\n');
            if (last != std::string_view::npos) whole = end + last + 1;
        }
        if (whole < size) std::filesystem::resize_file(path_, whole, reason);
        return reason;
    }

    std::filesystem::path path_;
    file file_;
};

}  // namespace sotto::detail
