#pragma once

#include "sotto/checkpoint/detail/published_model.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail::checkpoint {

/// Returns the result of use(file) for the newest whole file of a folder, or nothing if there is
/// none or its step is `after`. `refused` receives newer files that are damaged or unreadable.
template <class Use>
auto use_newest(const disk& files, const std::string& folder, std::int64_t after,
                std::vector<refused_file>& refused, Use use)
    -> std::optional<std::invoke_result_t<Use&, file_reader&>> {
    std::optional<std::invoke_result_t<Use&, file_reader&>> found;
    for_newest(files, folder, refused, [&](std::int64_t step) {
        if (step == after) return true;
        file_reader file(files, join_path(folder, file_name(step)));
        found.emplace(use(file));
        return true;
    });
    return found;
}

SOTTO_DECL std::optional<std::vector<judgement>> read_judgements(std::string_view text) {
    std::vector<judgement> all;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(' '));
        text.remove_prefix((std::min)(one.size() + 1, text.size()));
        const std::string_view group = one.substr(0, one.find(':'));
        const std::string_view loss = one.substr((std::min)(group.size() + 1, one.size()));
        judgement read;
        if (!read_number(group, read.group) || !read_number(loss, read.label_loss))
            return std::nullopt;
        all.push_back(read);
    }
    return all;
}

SOTTO_DECL std::string publish_model(const disk& files, const std::string& folder,
                                     const architecture& kind, const published_facts& facts,
                                     std::span<const float> parameters,
                                     std::span<const float> buffers, std::int64_t keep) {
    // Fields can also be written to; here they are only read.
    const auto fields_of = [](const layout& tensors, std::span<const float> values) {
        std::vector<sotto::detail::saved_field> fields;
        const std::span<float> memory(const_cast<float*>(values.data()), values.size());
        for (const tensor& t : tensors)
            fields.push_back({t.name, t.shape, dtype::f32, std::as_writable_bytes(t.of(memory))});
        return fields;
    };
    const auto of_parameters = fields_of(kind.parameters, parameters);
    const auto of_buffers = fields_of(kind.buffers, buffers);
    const auto written = [](double value) { return sotto::detail::general_text(value, 17); };
    std::string judged;
    for (const judgement& one : facts.judged)
        judged +=
            (judged.empty() ? "" : " ") + std::to_string(one.group) + ":" + written(one.label_loss);
    sotto::detail::file_plan plan;
    plan.note("format", "sotto.model");
    plan.note("format.version", "1");
    plan.note("step", std::to_string(facts.step));
    plan.note("label_loss", written(facts.label_loss));
    plan.note("group", facts.group);
    plan.note("architecture", hex(facts.architecture));
    if (!judged.empty()) plan.note("judged", judged);
    if (!facts.deal.empty()) plan.note("deal", facts.deal);
    plan.add("parameters", of_parameters, sotto::detail::digest_of(of_parameters));
    plan.add(buffers_section(0), of_buffers, sotto::detail::digest_of(of_buffers));
    file_writer file(files, folder, facts.step, keep);
    file.write_header(format_header(plan.finish()));
    for (const auto* part : {&of_parameters, &of_buffers})
        for (const auto& field : *part) file.write(field.memory);
    file.finish();
    return file.problem();
}

/// Returns the facts in the metadata of a whole file.
///   errors  mismatch: not a published model, or of an unknown version
SOTTO_DECL published_facts facts_of(const file_reader& file) {
    const file_header& header = file.header();
    const auto refuse = [&](const char* name, const char* expected) {
        const std::string* found = header.metadata_named(name);
        throw mismatch("'" + file.path().string() + "' is no published model: " + name + " is " +
                       (found ? "'" + *found + "'" : "missing") + "; expected " + expected);
    };
    const auto is = [&](const char* name, const char* expected) {
        const std::string* found = header.metadata_named(name);
        if (!found || *found != expected) refuse(name, (std::string("'") + expected + "'").c_str());
    };
    is("format", "sotto.model");
    is("format.version", "1");
    published_facts facts;
    if (!header.read_number("step", facts.step)) refuse("step", "a number");
    if (!header.read_number("label_loss", facts.label_loss)) refuse("label_loss", "a number");
    if (const std::string* group = header.metadata_named("group")) facts.group = *group;
    if (const std::string* deal = header.metadata_named("deal")) facts.deal = *deal;
    if (const std::string* text = header.metadata_named("judged")) {
        const auto judged = read_judgements(*text);
        if (!judged) refuse("judged", "groups and losses as 0:1.5 2:1.25");
        facts.judged = *judged;
    }
    const std::string* identity = header.metadata_named("architecture");
    const auto read = identity ? digest_of_hex(*identity) : std::nullopt;
    if (!read) refuse("architecture", "32 hexadecimal digits");
    facts.architecture = *read;
    return facts;
}

/// True if all floats of a file are finite.
SOTTO_DECL bool is_finite(file_reader& file) {
    std::vector<float> values;
    const auto& tensors = file.header().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].type != dtype::f32) continue;
        values.resize(static_cast<std::size_t>(tensors[i].size_bytes()) / sizeof(float));
        file.read(i, std::as_writable_bytes(std::span(values)));
        if (kernels::first_non_finite(values) >= 0) return false;
    }
    return true;
}

SOTTO_DECL std::optional<published_model> read_published(const disk& files,
                                                         const std::string& folder,
                                                         const architecture& kind,
                                                         std::int64_t after) {
    std::vector<refused_file> refused;
    auto newest = use_newest(files, folder, after, refused, [&](file_reader& file) {
        published_model found;
        found.facts = facts_of(file);
        if (const digest own = kind.identity(); found.facts.architecture != own)
            throw mismatch("'" + file.path().string() + "' is a model of architecture " +
                           hex(found.facts.architecture) + "; expected " + hex(own));
        found.parameters.resize(static_cast<std::size_t>(kind.parameters.size()));
        found.buffers.resize(static_cast<std::size_t>(kind.buffers.size()));
        const auto take = [&](const std::string& section, const layout& tensors,
                              std::span<float> values) {
            for (const tensor& t : tensors) {
                const auto which = file.find(section + "/" + t.name);
                if (!which)
                    throw mismatch("'" + file.path().string() + "' lacks " + section + "/" +
                                   t.name);
                file.read(*which, std::as_writable_bytes(t.of(values)));
            }
        };
        take("parameters", kind.parameters, found.parameters);
        take(buffers_section(0), kind.buffers, found.buffers);
        return found;
    });
    if (!newest && !refused.empty())
        throw io_failure("of the models in '" + folder + "' none is whole: " + refused.front().why);
    return newest;
}

SOTTO_DECL published_survey survey_published(const disk& files, const std::string& folder) {
    std::vector<refused_file> torn;
    const auto newest = use_newest(files, folder, -1, torn, [](file_reader& file) {
        return published_survey{.newest = facts_of(file),
                                .is_finite = checkpoint::is_finite(file),
                                .bytes = file.bytes_read()};
    });
    published_survey found = newest.value_or(published_survey{});
    found.torn = std::move(torn);
    std::error_code why;
    found.kept = std::ssize(generations(files, folder, why));
    return found;
}

}  // namespace sotto::detail::checkpoint
