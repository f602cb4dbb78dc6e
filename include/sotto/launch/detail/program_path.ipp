#pragma once

#include "sotto/launch/detail/program_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::launch {

SOTTO_DECL std::string program_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* const given = std::getenv("PATH");
    std::string_view left = given == nullptr ? "/usr/local/bin:/usr/bin:/bin" : given;
    while (true) {
        const std::string_view folder = left.substr(0, left.find(':'));
        const std::string path = folder.empty() ? name : std::string(folder) + "/" + name;
        struct stat about {};
        if (::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
            ::access(path.c_str(), X_OK) == 0)
            return folder.empty() ? "./" + name : path;
        if (folder.size() == left.size()) break;
        left.remove_prefix(folder.size() + 1);
    }
    throw invalid_option(
        "launch: there is no program '" + name + "' in the folders of PATH" +
        (::access(name.c_str(), X_OK) == 0 ? "; did you mean './" + name + "'?" : std::string()));
}

}  // namespace sotto::detail::launch
