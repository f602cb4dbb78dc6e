#pragma once

#include "sotto/data/detail/read_file.hpp"

#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::data {

SOTTO_DECL bytes read_file(const std::filesystem::path& path) {
    std::error_code why;
    bytes content = sotto::detail::read_regular(path, why);
    if (why) throw io_failure("cannot read '" + path.string() + "': " + why.message());
    return content;
}

}  // namespace sotto::detail::data
