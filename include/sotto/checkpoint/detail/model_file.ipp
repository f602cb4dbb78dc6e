#pragma once

#include "sotto/checkpoint/detail/model_file.hpp"

#include <filesystem>
#include <iterator>
#include <system_error>

#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/parse_header.hpp"
#include "sotto/checkpoint/detail/whole_file.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/version.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL digest digest_of_model(const architecture& kind, std::span<const float> parameters,
                                  std::span<const float> buffers) {
    const digest names = kind.identity();
    digester all;
    all.update(names).update(std::as_bytes(parameters)).update(std::as_bytes(buffers));
    return all.value();
}

SOTTO_DECL std::string shown_shape(std::span<const std::int64_t> shape) {
    std::string text;
    for (const std::int64_t extent : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "[" + text + "]";
}

SOTTO_DECL void require_alike(const std::string& file, const std::string& what, const layout& found,
                              std::span<const float> values, const layout& expected) {
    const auto place_of = [](const tensor* t) {
        if (!t) return std::string("none");
        return "number " + std::to_string(t->index + 1) + " of shape " + shown_shape(t->shape);
    };
    const auto require = [&](const std::string& name) {
        const tensor *const is = found.find(name), *const wanted = expected.find(name);
        if (is && wanted && is->shape == wanted->shape && is->index == wanted->index) return;
        throw mismatch("'" + file + "' is of another model: " + what + " '" + name +
                       "': expected " + place_of(wanted) + ", found " + place_of(is));
    };
    for (const tensor& t : expected) require(t.name);
    for (const tensor& t : found) require(t.name);
    if (std::ssize(values) != found.size())
        throw mismatch("'" + file + "': expected " + std::to_string(found.size()) + " values of " +
                       what + "s, found " + std::to_string(values.size()));
}

SOTTO_DECL std::string write_model_file(const disk& files, const std::string& path,
                                        const architecture& kind, std::int64_t step,
                                        std::span<const float> parameters,
                                        std::span<const float> buffers) {
    layout all = kind.parameters;
    for (const tensor& t : kind.buffers) all.add(t.name, t.shape);
    file_header header;
    header.metadata = {
        {"format", "sotto.model_file"},
        {"format.version", "1"},
        {"sotto.version", std::to_string(SOTTO_VERSION_MAJOR) + "." +
                              std::to_string(SOTTO_VERSION_MINOR) + "." +
                              std::to_string(SOTTO_VERSION_PATCH)},
        {"step", std::to_string(step)},
        {"buffers", std::to_string(kind.buffers.tensors().size())},
        {"digest", hex(digest_of_model({kind.parameters, kind.buffers}, parameters, buffers))}};
    constexpr std::int64_t each = sizeof(float);
    for (const tensor& t : all)
        header.tensors.push_back(
            {t.name, dtype::f32, t.shape, each * t.offset, each * (t.offset + t.size), 0});
    const bytes start = format_header(header);
    if (const auto read = parse_header(start); !read)
        throw invalid_option("'" + path + "' could not be read again: " + read.why().text());
    std::error_code why;
    files.make_folder(std::filesystem::path(path).parent_path(), why);
    if (why) return "cannot make the folder of '" + path + "': " + why.message();
    whole_file file(files, path);
    file.write(start);
    file.write(std::as_bytes(parameters));
    file.write(std::as_bytes(buffers));
    file.finish();
    return file.problem();
}

}  // namespace sotto::detail::checkpoint
