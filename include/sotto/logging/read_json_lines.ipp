#pragma once

#include "sotto/logging/read_json_lines.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/logging/detail/json_lines_reader.hpp"

namespace sotto::detail {

SOTTO_DECL std::optional<run_log> read_lines(const std::string& path, std::FILE* file) {
    json_lines_reader reader(path);
    std::string line;
    std::vector<char> block(1 << 16);
    while (true) {
        const std::size_t got = std::fread(block.data(), 1, block.size(), file);
        if (got == 0) break;
        std::string_view rest(block.data(), got);
        for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
            line.append(rest.substr(0, end));
            reader.line(line);
            line.clear();
        }
        line.append(rest);
        if (line.size() > json_lines_reader::line_bytes_max) reader.line(line);  // throws
    }
    if (std::ferror(file) != 0)
        throw io_failure("read_json_lines: '" + path +
                         "' cannot be read: " + std::generic_category().message(errno));
    if (reader.log().fits == 0) return std::nullopt;
    if (!line.empty()) reader.cut_line(line.size());
    run_log log = reader.take();
    log.name = std::filesystem::path(path).stem().string();
    return log;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::optional<run_log> read_json_lines_if_there(const std::string& path) {
    using detail::file_fault;
    std::error_code why;
    const detail::input_stream file = detail::open_regular_stream(path.c_str(), why);
    if (why == std::errc::no_such_file_or_directory || why == file_fault::dangling_link ||
        why == file_fault::is_fifo || why == file_fault::is_device)
        return std::nullopt;
    if (why) throw io_failure("read_json_lines: '" + path + "' cannot be opened: " + why.message());
    return detail::read_lines(path, file.get());
}

SOTTO_DECL run_log read_json_lines(const std::string& path) {
    const detail::input_stream file = detail::open_input(path.c_str());
    if (!file)
        throw io_failure("read_json_lines: '" + path +
                         "' cannot be opened: " + std::generic_category().message(errno));
    std::optional<run_log> log = detail::read_lines(path, file.get());
    if (log) return *std::move(log);
    std::error_code reason;
    throw detail::malformed_log(
        path, 1, "an event \"run\"",
        std::filesystem::file_size(path, reason) == 0 ? "nothing" : "a part of a line");
}

SOTTO_DECL std::vector<run_log> read_json_lines(std::span<const std::string> paths) {
    std::vector<run_log> runs;
    for (const auto& path : paths) runs.push_back(read_json_lines(path));
    const auto named = [&](std::size_t i, std::size_t folders) {
        std::error_code ignored;
        std::filesystem::path folder =
            std::filesystem::absolute(paths[i], ignored).lexically_normal().parent_path();
        std::filesystem::path name = std::filesystem::path(paths[i]).stem();
        for (; folders > 0 && folder.has_filename(); --folders, folder = folder.parent_path())
            name = folder.filename() / name;
        return name.string();
    };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto is_shared = [&](std::size_t folders) {
            for (std::size_t j = 0; j < runs.size(); ++j)
                if (j != i && named(j, folders) == named(i, folders)) return true;
            return false;
        };
        std::size_t folders = 0;  // all folders, if the same file occurs twice
        while (is_shared(folders) && named(i, folders + 1) != named(i, folders)) ++folders;
        runs[i].name = named(i, folders);
    }
    return runs;
}

}  // namespace sotto
